"""Scripts in processes that are forked from one whose imports are done: hundreds of processes cost one import."""

import json
import os
import select
import signal
import subprocess
import sys
import textwrap
import time

SERVER = """
import json, os, signal, sys, traceback
import h5py, mpm, mpm.io.trajectory

signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
for line in sys.stdin:
    code, arguments, folder, out = json.loads(line)
    child = os.fork()
    if child:
        print(child, flush=True)
        continue
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.chdir(folder)
    os.dup2(os.open(out, os.O_WRONLY), 1)
    sys.argv = ["-c", *arguments]
    try:
        exec(compile(code, "<script>", "exec"), {"__name__": "__main__"})
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(0)
"""


class Forked:
    """A running script; its output ends when it has ended."""

    def __init__(self, pid, path):
        self.pid = pid
        self._out = open(path)

    def readline(self):
        return self._out.readline()

    def send_signal(self, number):
        os.kill(self.pid, number)

    def read(self, timeout=20):
        """The rest of the output; "" if the script, which is killed then, has not ended after `timeout` [s]."""
        text, end = "", time.monotonic() + timeout
        while select.select([self._out], [], [], max(0, end - time.monotonic()))[0]:
            piece = os.read(self._out.fileno(), 4096).decode()
            text += piece
            if not piece:
                self._out.close()
                return text
        self.send_signal(signal.SIGKILL)
        self._out.close()
        return ""


class Forks:
    """The process that forks others; a context manager."""

    def __init__(self, folder):
        self._pipe = f"{folder}/out"
        os.mkfifo(self._pipe)
        self._server = subprocess.Popen(
            [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._server.stdin.close()
        self._server.stdout.close()
        self._server.wait()

    def start(self, folder, code, *arguments):
        """Run a script in a folder, with `sys.argv` after the first."""
        request = textwrap.dedent(code), [str(one) for one in arguments], str(folder), self._pipe
        print(json.dumps(request), file=self._server.stdin, flush=True)
        return Forked(int(self._server.stdout.readline()), self._pipe)
