"""The server behind `mpm view`: Voila in this process, for those who know the token, and for its own pages alone.

Other users of this machine reach every port, and so do pages of the web: a name may be made to lead here (DNS
rebinding). The token keeps out the first. Host and Origin, which no page can choose, keep out the second.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mpm import _check

NEED = "mpm view needs voila"
voila: Any = _check.extra("voila.app", NEED, "app", "voila")
routing: Any = _check.extra("tornado.routing", NEED, "app", "voila")
web: Any = _check.extra("tornado.web", NEED, "app", "voila")
Config: Any = _check.extra("traitlets.config", NEED, "app", "voila").Config

ADDRESS = "127.0.0.1"
SHORT = 30  # characters: names of sockets have at most 103, of which Voila and the kernel need 70
NAMES = (ADDRESS, "localhost")  # with any port: a tunnel may begin at another one


class Stranger(routing.Matcher):  # type: ignore[misc]
    """Matches what no page of this server asks for, whatever the path: requests and websockets alike.

    Voila checks neither for its static files, and lets websockets without a name pass.
    """

    def match(self, request: Any) -> dict[str, Any] | None:
        """See `tornado.routing.Matcher`."""
        host = request.headers.get("Host", "").lower()
        name, _, port = host.partition(":")
        ours = name in NAMES and (not port or (port.isascii() and port.isdigit()))
        origins = (*request.headers.get_list("Origin"), *request.headers.get_list("Sec-Websocket-Origin"))
        return None if ours and all(origin.lower() == f"http://{host}" for origin in origins) else {}


class Server(voila.Voila):  # type: ignore[misc]
    """Voila that refuses strangers, says when it listens, and ends by any signal as by Ctrl-C."""

    opened: Callable[[], object]

    def init_handlers(self) -> list[Any]:
        """Refuse strangers before any handler sees their request."""
        return [(Stranger(), web.ErrorHandler, {"status_code": 403}), *super().init_handlers()]

    def launch_browser(self) -> None:
        """Voila calls this once it listens."""
        self.opened()

    def _handle_signal_stop(self, number: int, frame: object) -> None:
        raise KeyboardInterrupt  # also before there is a loop that could be stopped


def run(notebook: Path, *, port: int, token: str, opened: Callable[[], object]) -> None:
    """Serve a notebook until interrupted; SystemExit if the port is taken.

    Parameters
    ----------
    notebook : Path
        In a folder for the user alone, where the server keeps its files.
    port : int
    token : str
        A browser must know it to come in. It is not in the command line, which other users can read.
    opened : callable
        Called once the server listens.
    """
    config = Config()
    config.Voila.ip, config.Voila.port, config.Voila.port_retries = ADDRESS, port, 0
    config.Voila.token = token
    config.Voila.notebook_path = str(notebook)
    config.Voila.connection_dir_root = str(notebook.parent)
    config.Voila.config_file_paths = []  # one may lie in the current folder, is a program, or takes the token away
    config.Voila.log_level = logging.WARNING
    config.Voila.open_browser = True
    # The second is for pages that report errors, which Voila forgot.
    config.Voila.tornado_settings = {"allow_remote_access": False, "static_path": voila.STATIC_ROOT}
    config.VoilaConfiguration.file_allowlist = []
    if (
        len(str(notebook.parent)) < SHORT
    ):  # whoever finds the port of a kernel may listen to what it publishes
        config.KernelManager.transport = "ipc"
    config.PasswordIdentityProvider.allow_password_change = False
    config.IdentityProvider.cookie_options = {"samesite": "Strict"}
    server = Server.instance(config=config)
    server.opened = opened
    try:
        server.initialize([])
        server.start()
    finally:
        Server.clear_instance()
