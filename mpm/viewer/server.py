"""The server behind `mpm view`: one page, for those who know the token, and one websocket to each that is open.

Other users of this machine reach every port, and so do pages of the web: a name may be made to lead here (DNS
rebinding). The token keeps out the first. Host and Origin, which no page can choose, keep out the second.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import secrets
import signal
import sys
from collections.abc import Callable
from typing import Any

from mpm.base import _check
from mpm.viewer.hub import Hub, Page
from mpm.viewer.scripts import SCRIPTS, text

NEED = "mpm view needs tornado"
httpserver: Any = _check.extra("tornado.httpserver", NEED, "app", "tornado")
netutil: Any = _check.extra("tornado.netutil", NEED, "app", "tornado")
routing: Any = _check.extra("tornado.routing", NEED, "app", "tornado")
web: Any = _check.extra("tornado.web", NEED, "app", "tornado")
websocket: Any = _check.extra("tornado.websocket", NEED, "app", "tornado")

ADDRESS = "127.0.0.1"
NAMES = (ADDRESS, "localhost")  # with any port: a tunnel may begin at another one
LARGEST = 1 << 20  # bytes of a request
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>mpm</title><link rel="icon" href="data:,">
<style>:root {{ color-scheme: light dark; }} body {{ margin: 8px; }} {style}</style><div id="viewer"></div>
<script type="module" nonce="{nonce}">{script}</script></html>"""
REFUSED = """<!doctype html><meta charset="utf-8"><title>mpm</title><p>This address is not valid, or no longer.
Open the one that <code>python -m mpm view</code> printed when it was started.</p>"""


class ForeignRequest(routing.Matcher):  # type: ignore[misc]
    """Matches requests that no page of this server makes, whatever the path: requests and websockets alike."""

    def match(self, request: Any) -> dict[str, Any] | None:
        """See `tornado.routing.Matcher`."""
        host = request.headers.get("Host", "").lower()
        name, _, port = host.partition(":")
        ours = name in NAMES and (not port or (port.isascii() and port.isdigit()))
        origins = (*request.headers.get_list("Origin"), *request.headers.get_list("Sec-Websocket-Origin"))
        return None if ours and all(origin.lower() == f"http://{host}" for origin in origins) else {}


class TokenAuth:
    """Admits requests that have the token: in the address, the cookie that the page sets, or a header of a script."""

    def __init__(self, token: str, port: int) -> None:
        self.token = token
        self.name = f"mpm-view-{port}"  # cookies do not know ports
        self.cookie = hashlib.sha256(f"cookie of {token}".encode()).hexdigest()

    def by_address(self, handler: Any) -> bool:
        """Of a request for the page."""
        return _same(handler.get_query_argument("token", ""), self.token)

    def admits(self, handler: Any) -> bool:
        """Of any request."""
        scheme, _, told = handler.request.headers.get("Authorization", "").partition(" ")
        return _same(handler.get_cookie(self.name, ""), self.cookie) or (
            scheme.lower() == "token" and _same(told, self.token)
        )


def _same(told: str, secret: str) -> bool:
    return hmac.compare_digest(told.encode(), secret.encode())


class Guarded(web.RequestHandler):  # type: ignore[misc]
    """A request for the page; answers 403 to those who do not know the token."""

    auth: TokenAuth

    def initialize(self, auth: TokenAuth) -> None:
        """See `tornado.web.RequestHandler`."""
        self.auth = auth

    def prepare(self) -> None:
        """Refuse before anything is read or said."""
        self.set_header("Cache-Control", "no-store")
        self.set_header("Referrer-Policy", "no-referrer")
        self.set_header("X-Content-Type-Options", "nosniff")
        by_address = self.auth.by_address(self)
        if not by_address and not self.auth.admits(self):
            self.set_status(403)
            self.finish(REFUSED)
        elif by_address:
            self.set_cookie(self.auth.name, self.auth.cookie, httponly=True, samesite="Strict")


class Shown(Guarded):
    """The page."""

    def get(self) -> None:
        """All of it: scripts and style are inside, and nothing else may be loaded or framed."""
        nonce = secrets.token_urlsafe(16)
        self.set_header(
            "Content-Security-Policy",
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; connect-src 'self'; "
            "img-src 'self' data: blob:; media-src blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
        )
        script = text(*SCRIPTS, "line.js")
        self.finish(PAGE.format(style=text("style.css"), nonce=nonce, script=script))


class Alive(Guarded):
    """Whether the server is there, and still knows the page."""

    def get(self) -> None:
        """204, or 403."""
        self.set_status(204)


class PageSocket(websocket.WebSocketHandler):  # type: ignore[misc]
    """The websocket of a page."""

    def initialize(self, auth: TokenAuth, hub: Hub) -> None:
        """See `tornado.web.RequestHandler`."""
        self.auth, self.hub, self.page = auth, hub, Page(self.send)

    def prepare(self) -> None:
        """Refuse those who do not know the token."""
        if not self.auth.admits(self):
            raise web.HTTPError(403)

    def open(self, *args: str) -> None:
        """The page asks for what it needs."""
        self.hub.join(self.page)

    def on_message(self, message: str | bytes) -> None:
        """Of the page."""
        self.hub.receive(self.page, message)

    def on_close(self) -> None:
        """The page has gone."""
        self.hub.leave(self.page)

    def send(self, data: bytes, binary: bool) -> None:
        """To the page, if it is still there."""
        with contextlib.suppress(websocket.WebSocketClosedError):
            self.write_message(data if binary else data.decode(), binary=binary)


def run(hub: Hub, *, port: int, token: str, opened: Callable[[], object]) -> None:
    """Serve until a signal comes; SystemExit if the port is taken.

    Parameters
    ----------
    hub : Hub
    port : int
    token : str
        A browser must know it to come in. It is not in the command line, which other users can read.
    opened : callable
        Called once the server listens.
    """
    try:
        sockets = netutil.bind_sockets(port, ADDRESS)
    except OSError as error:
        print(f"mpm: port {port} of {ADDRESS}: {error.strerror}", file=sys.stderr)
        raise SystemExit(1) from None
    asyncio.run(_serve(hub, sockets, TokenAuth(token, port), opened))


async def _serve(hub: Hub, sockets: Any, auth: TokenAuth, opened: Callable[[], object]) -> None:
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            loop.add_signal_handler(number, ended.set)
    application = web.Application(
        [
            (ForeignRequest(), web.ErrorHandler, {"status_code": 403}),
            ("/", Shown, {"auth": auth}),
            ("/alive", Alive, {"auth": auth}),
            ("/line", PageSocket, {"auth": auth, "hub": hub}),
        ],
        websocket_max_message_size=LARGEST,
        log_function=lambda handler: None,
    )
    server = httpserver.HTTPServer(application, max_buffer_size=LARGEST, max_body_size=LARGEST)
    server.add_sockets(sockets)
    opened()
    await ended.wait()
    server.stop()
    await server.close_all_connections()
