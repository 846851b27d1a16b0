"""The pages that show one session: all see the same, and each may ask, whenever it was opened.

The session has one frame under way and goes on with whoever has drawn it first. A page that is slower, or hidden, gets
no further frame until it has drawn its last one, and then the newest.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from typing import Any, Protocol

Message = dict[str, Any]
Packet = tuple[bytes, bool]
"""What is sent, and whether it is binary."""


class Receiver(Protocol):
    """A session: see `mpm.viewer.session.Session.receive`."""

    def receive(self, message: object) -> None:
        """Answer a message."""


class Page:
    """A page, as the hub knows it; `send` takes what it is to get."""

    def __init__(self, send: Callable[[bytes, bool], object]) -> None:
        self.send = send
        self.draws = False  # a frame that it has not yet drawn
        self.missed = False  # a newer one


class Hub:
    """Between a session, which is set after it was made, and the pages."""

    session: Receiver

    def __init__(self) -> None:
        self.pages: list[Page] = []
        self._frame: Packet | None = None  # the newest, unless the state is of another place
        self._place: object = None

    def deliver(self, message: Message, buffers: Sequence[memoryview]) -> None:
        """Send a message of the session to all pages."""
        packet = packed(message, buffers)
        if message["type"] == "state" and (place := (message["box"], message["comparison"])) != self._place:
            self._frame, self._place = None, place
        if message["type"] == "frame":
            self._frame = packet
            for page in self.pages:
                self._offer(page)
        else:
            for page in self.pages:
                page.send(*packet)

    def _offer(self, page: Page) -> None:
        page.missed = page.draws
        if not page.draws and self._frame is not None:
            page.draws = True
            page.send(*self._frame)

    def join(self, page: Page) -> None:
        """A page has been opened, or has come back."""
        self.pages.append(page)
        self._count()

    def leave(self, page: Page) -> None:
        """A page has been closed or reloaded, or cannot be reached."""
        self.pages.remove(page)
        self._count()

    def _count(self) -> None:
        packet = packed({"type": "pages", "count": len(self.pages)}, ())
        for page in self.pages:
            page.send(*packet)

    def receive(self, page: Page, text: str | bytes) -> None:
        """A message of a page, which may be anything."""
        try:
            message = json.loads(text)
        except (ValueError, RecursionError):
            message = None  # the session says what is wrong
        kind = message.get("type") if isinstance(message, dict) else None
        if kind in ("drawn", "ready"):
            page.draws = False
            if kind == "drawn" and page.missed:
                self._offer(page)
        self.session.receive(message)


def packed(message: Message, buffers: Sequence[memoryview]) -> Packet:
    """JSON; with a buffer: its length (32 bits, little-endian), itself, and the buffer."""
    text = json.dumps(message, allow_nan=False).encode()
    if not buffers:
        return text, False
    (buffer,) = buffers
    return struct.pack("<I", len(text)) + text + buffer, True
