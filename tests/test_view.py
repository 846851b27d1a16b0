"""`python -m mpm view`, a server on a machine that others use, too: who comes in, what it may touch, how it ends.

Without a browser; needs Voila, and so runs with `make browser`.
"""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

import mpm

pytestmark = [pytest.mark.browser, pytest.mark.source]

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


def children(pid):
    """Of a process, and theirs."""
    found = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True
    ).stdout.split()
    return [int(child) for child in found] + [inner for child in found for inner in children(child)]


def lives(pid):
    """Zombies do not."""
    with contextlib.suppress(FileNotFoundError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


class Served:
    """The server, its port and its token."""

    def __init__(self, folder, *options):
        self.port, self.folder = free_port(), folder
        self.temporary = folder / "temporary"
        self.temporary.mkdir(exist_ok=True)
        environment = {**os.environ, "PYTHONPATH": str(Path(mpm.__file__).parents[1])}
        environment |= {"MPM_NUM_THREADS": "1", "TMPDIR": str(self.temporary)}
        environment.pop("JUPYTER_TOKEN", None)
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
            return answer.status, answer.headers, answer.read()

    def open(self):
        """What a browser keeps of the page: the kernel and the cookie."""
        status, headers, body = self.ask(f"/?token={self.token}")
        assert status == 200
        return re.search(rb'kernelId": "([0-9a-f-]+)"', body)[1].decode(), headers["Set-Cookie"]

    def socket(self, kernel, *, host=None, **headers):
        """The status of the handshake of a websocket: 101 if it opens."""
        path = f"/api/kernels/{kernel}/channels?session_id={uuid.uuid4().hex}"
        upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
        upgrade |= {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Host": host or f"127.0.0.1:{self.port}"}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request("GET", path, headers=upgrade | headers)
            return connection.getresponse().status

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
def page(server):
    kernel, cookie = server.open()
    return kernel, cookie.split(";")[0]


def test_the_token_is_new_and_known_to_nobody_else(server, tmp_path):
    with served(tmp_path) as other:
        assert len(server.token) == len(other.token) == 48 and server.token != other.token
    line = Path(f"/proc/{server.process.pid}/cmdline").read_bytes()
    assert server.token.encode() not in line  # which every user can read


def test_without_the_token_there_is_no_page_and_no_kernel(server):
    before = children(server.process.pid)
    for path in ("/", "/?token=", "/?token=" + "0" * 48, "/voila/render/mpm.ipynb", "/voila/tree/"):
        status, headers, body = server.ask(path)
        assert status in (302, 403, 404) and b"kernelId" not in body, path
        assert status != 302 or headers["Location"].startswith("/login")
    assert children(server.process.pid) == before


def test_without_the_token_there_is_no_socket(server, page):
    kernel, cookie = page
    assert server.socket(kernel) == 403
    assert server.socket(kernel, Cookie=cookie.partition("=")[0] + "=2|1:0|forged") == 403
    assert server.socket(kernel, Cookie=cookie) == 101
    assert server.socket(kernel, Authorization=f"token {server.token}") == 101  # of a script


def test_no_page_of_others_reaches_the_kernel(server, page):
    """Not with the cookie, which a browser sends, nor with the token."""
    kernel, cookie = page
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
            if "Cookie" in known and host != ours:
                continue  # a browser has one cookie for each name
            assert server.socket(kernel, host=host, Origin=origin, **known) == 101, (host, origin)
        for host, origin in refused:
            assert server.socket(kernel, host=host, Origin=origin, **known) == 403, (host, origin)
        assert server.socket(kernel, host=STRANGE, **known) == 403
        assert server.socket(kernel, **{"Sec-WebSocket-Origin": f"http://{STRANGE}"}, **known) == 403


def test_no_path_answers_another_name(server, page):
    kernel, cookie = page
    paths = [
        "/",
        f"/?token={server.token}",
        "/login",
        "/voila/static/voila.js",
        "/voila/templates/lab/static/x.js",
    ]
    paths += [f"/api/kernels/{kernel}", "/voila/api/themes/x", "/voila/files/mpm.ipynb", "/nowhere"]
    before = children(server.process.pid)
    for path in paths:
        for method in ("GET", "POST", "DELETE"):
            status, headers, _ = server.ask(path, method=method, host=STRANGE, Cookie=cookie)
            assert status == 403 and "Access-Control-Allow-Origin" not in headers, (method, path)
    assert children(server.process.pid) == before and before


def test_the_cookie_is_for_this_page_alone(server):
    _, cookie = server.open()
    assert {"HttpOnly", "SameSite=Strict"} <= {part.strip() for part in cookie.split(";")}


def test_kernels_publish_to_nobody_else(server, page):
    """Their sockets are files in a folder of the user."""
    if len(str(server.temporary)) < 15:
        assert not re.search(r"without encryption", server.said())
    places = [place for place in server.temporary.iterdir() if place.is_dir()]
    assert places and all(place.stat().st_mode & 0o077 == 0 for place in places)


def test_settings_of_a_folder_are_not_the_servers(tmp_path):
    """Voila would let one in the current folder take the token away."""
    settings = {"token": "", "identity_provider_class": "jupyter_server.auth.identity.IdentityProvider"}
    (tmp_path / "voila.json").write_text(json.dumps({"Voila": {**settings, "base_url": "/elsewhere/"}}))
    with served(tmp_path) as server:
        assert server.token and server.ask("/")[0] == 302


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"])
def test_a_signal_ends_the_server_and_its_kernels(tmp_path, name):
    with served(tmp_path) as server:
        if server.token:
            server.open()
        else:
            server.ask()
        others = children(server.process.pid)
        assert others
        left = server.end(signal.Signals[name])
        eventually(lambda: not listens(server.port), "the port is closed")
        eventually(lambda: not any(map(lives, others)), "the kernels have ended")
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
            assert server.ask("/")[0] == 302
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_port_that_is_taken_is_said_and_no_token_with_it(tmp_path, server):
    command = [sys.executable, "-m", "mpm", "view", "--no-browser", f"--port={server.port}"]
    environment = {**os.environ, "PYTHONPATH": str(Path(mpm.__file__).parents[1])}
    run = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=PATIENCE
    )
    assert run.returncode == 1 and "token" not in run.stdout and "port" in run.stderr
