"""`python -m mpm view`, a server on a machine that others use, too: who comes in, what it may touch, how it ends.

Without a browser; needs tornado.
"""

import contextlib
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import mpm

pytest.importorskip("tornado")

pytestmark = pytest.mark.source

PATIENCE = 60.0  # s, for what a slow machine may need
STRANGE = "evil.example.com"


def eventually(condition, what):
    """The first true answer."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if answer := condition():
            return answer
        time.sleep(0.05)
    raise AssertionError(f"not within {PATIENCE:g} s: {what}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Served:
    """The server, its port and its token."""

    def __init__(self, folder, *options):
        self.port, self.folder = free_port(), folder
        self.temporary = folder / "temporary"
        self.temporary.mkdir(exist_ok=True)
        environment = {**os.environ, "PYTHONPATH": str(Path(mpm.__file__).parents[1])}
        environment |= {"MPM_NUM_THREADS": "1", "TMPDIR": str(self.temporary)}
        command = [
            sys.executable,
            "-m",
            "mpm",
            "view",
            "disks",
            "--no-browser",
            f"--port={self.port}",
            *options,
        ]
        self.log = folder / "view.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, cwd=folder, env=environment
            )
        eventually(lambda: listens(self.port) and "Ctrl-C" in self.said(), "the server listens")
        found = re.search(r"\?token=(\w+)", self.said())
        self.token = found[1] if found else ""

    def said(self):
        return self.log.read_text(errors="replace")

    def ask(self, path="/", *, method="GET", host=None, **headers):
        """Status, headers and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request(method, path, headers={"Host": host or f"127.0.0.1:{self.port}", **headers})
            answer = connection.getresponse()
            return answer.status, answer.headers, b"" if answer.status == 101 else answer.read()

    def open(self):
        """The cookie that a browser keeps of the page."""
        status, headers, body = self.ask(f"/?token={self.token}")
        assert status == 200 and b"mpm-viewer" in body
        return headers["Set-Cookie"]

    def socket(self, *, host=None, **headers):
        """The status of the handshake of a websocket: 101 if it opens."""
        upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
        upgrade |= {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Host": host or f"127.0.0.1:{self.port}"}
        return self.ask("/line", host=host, **(upgrade | headers))[0]

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(timeout=PATIENCE)


@contextlib.contextmanager
def served(folder, *options):
    server = Served(folder, *options)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.end()
        print(server.said())


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory.mktemp("served")) as server:
        yield server


@pytest.fixture(scope="module")
def cookie(server):
    return server.open().split(";")[0]


def test_the_token_is_new_and_known_to_nobody_else(server, tmp_path):
    with served(tmp_path) as other:
        assert len(server.token) == len(other.token) == 48 and server.token != other.token
    line = Path(f"/proc/{server.process.pid}/cmdline").read_bytes()
    assert server.token.encode() not in line  # which every user can read


def test_without_the_token_there_is_nothing(server):
    paths = ("/", "/?token=", "/?token=" + "0" * 48, "/?token=%C3%A9", "/alive", f"/alive?tok={server.token}")
    for path in paths:
        status, headers, body = server.ask(path)
        assert status == 403 and b"mpm-viewer" not in body and "Set-Cookie" not in headers, path
    assert server.ask("/nowhere")[0] == 404


def test_without_the_token_there_is_no_socket(server, cookie):
    assert server.socket() == 403
    name, _, value = cookie.partition("=")
    for forged in (f"{name}=2|1:0|forged", f"{name}={value[:-1]}", f"{name}={server.token}", f"{name}=é"):
        assert server.socket(Cookie=forged.encode()) == 403
    assert server.socket(Cookie=cookie) == 101
    assert server.socket(Authorization=f"token {server.token}") == 101  # of a script
    assert server.socket(Authorization=f"token {value}") == 403


def test_no_page_of_others_reaches_the_session(server, cookie):
    """Not with the cookie, which a browser sends, nor with the token."""
    ours = f"127.0.0.1:{server.port}"
    allowed = [(ours, f"http://{ours}"), (f"localhost:{server.port}", f"http://localhost:{server.port}")]
    allowed += [("localhost:9999", "http://localhost:9999")]  # through a tunnel
    refused = [
        (ours, f"http://{STRANGE}"),
        (ours, "null"),
        (ours, "http://127.0.0.1:9999"),
        (ours, f"http://localhost:{server.port}"),
        (ours, f"https://{ours}"),
        (ours, f"http://{ours}.{STRANGE}"),
        (STRANGE, f"http://{STRANGE}"),
        (f"{STRANGE}:{server.port}", f"http://{STRANGE}:{server.port}"),
        (f"127.0.0.1.{STRANGE}", f"http://127.0.0.1.{STRANGE}"),
    ]
    for known in ({"Cookie": cookie}, {"Authorization": f"token {server.token}"}):
        for host, origin in allowed:
            assert server.socket(host=host, Origin=origin, **known) == 101, (host, origin)
        for host, origin in refused:
            assert server.socket(host=host, Origin=origin, **known) == 403, (host, origin)
        assert server.socket(host=STRANGE, **known) == 403
        assert server.socket(**{"Sec-WebSocket-Origin": f"http://{STRANGE}"}, **known) == 403


def test_no_path_answers_another_name(server, cookie):
    for path in ("/", f"/?token={server.token}", "/alive", "/line", "/nowhere"):
        for method in ("GET", "POST", "DELETE"):
            status, headers, _ = server.ask(path, method=method, host=STRANGE, Cookie=cookie)
            assert status == 403 and "Access-Control-Allow-Origin" not in headers, (method, path)


def test_the_page_loads_and_frames_nothing(server):
    _, headers, body = server.ask(f"/?token={server.token}")
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    (nonce,) = re.findall(r"'nonce-(\S+)'", policy)
    assert body.count(b"<script") == body.count(b"</script") == 1 and nonce.encode() in body
    assert headers["Referrer-Policy"] == "no-referrer"  # the address holds the token
    assert nonce not in server.ask(f"/?token={server.token}")[1]["Content-Security-Policy"]


def test_the_cookie_is_for_this_page_alone(server):
    parts = {part.strip() for part in server.open().split(";")}
    assert {"HttpOnly", "SameSite=Strict"} <= parts
    assert server.token not in "".join(parts)


@pytest.mark.usefixtures("hangups_end")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"])
def test_a_signal_ends_the_server(tmp_path, name):
    with served(tmp_path) as server:
        server.open()
        left = server.end(signal.Signals[name])
        eventually(lambda: not listens(server.port), "the port is closed")
    if name != "SIGKILL":
        assert left == 0 and not list(server.temporary.iterdir())
        assert "Traceback" not in server.said()


def test_what_ignores_hangups_goes_on(tmp_path):
    """As `nohup` has it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with served(tmp_path) as server:
            server.process.send_signal(signal.SIGHUP)
            time.sleep(0.5)
            assert server.ask("/")[0] == 403
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_port_that_is_taken_is_said_and_no_token_with_it(tmp_path, server):
    command = [sys.executable, "-m", "mpm", "view", "--no-browser", f"--port={server.port}"]
    environment = {**os.environ, "PYTHONPATH": str(Path(mpm.__file__).parents[1])}
    run = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=PATIENCE
    )
    assert run.returncode == 1 and "token" not in run.stdout and "port" in run.stderr
