"""Pages of one session behind `mpm view`, without a browser: who gets which frame, and what may come from a page."""

import json
import struct

import numpy as np

from mpm.viewer.hub import Hub, Page
from mpm.viewer.session import Session
from viewers import make


class Sent:
    """A page that keeps what it gets, unpacked as the script does."""

    def __init__(self, hub):
        self.hub, self.got = hub, []
        self.page = Page(self.take)
        hub.join(self.page)
        self.ask(type="ready")

    def take(self, data, binary):
        length = struct.unpack("<I", data[:4])[0] if binary else len(data)
        first = 4 if binary else 0
        self.got.append((json.loads(data[first : first + length]), data[first + length :]))

    def ask(self, **message):
        self.hub.receive(self.page, json.dumps(message))

    def draw(self):
        self.ask(type="drawn", frame=self.frames[-1])

    def last(self, kind):
        return next(got for got in reversed(self.got) if got[0]["type"] == kind)

    @property
    def frames(self):
        return [message["frame"] for message, _ in self.got if message["type"] == "frame"]


def begun():
    hub = Hub()
    hub.session = Session(make(), hub.deliver)
    return hub


def test_a_page_that_does_not_draw_holds_nobody_up_and_then_gets_the_newest():
    hub = begun()
    seen, hidden = Sent(hub), Sent(hub)
    assert [page.last("pages")[0]["count"] for page in (seen, hidden)] == [2, 2]
    seen.draw()
    before = len(hidden.frames)
    seen.ask(type="play")
    for _ in range(5):
        seen.draw()
    assert len(hidden.frames) == before and seen.frames[-1] == hub.session._frame > 5
    seen.ask(type="pause")
    hidden.draw()
    assert hidden.frames[before:] == [seen.frames[-1]]
    (first, _), (second, _) = seen.last("frame"), hidden.last("frame")
    assert first == second and seen.last("frame")[1] == hidden.last("frame")[1]
    vertices = np.frombuffer(hidden.last("frame")[1], dtype=np.uint16)
    assert len(vertices) == 4 * len(hub.session.simulation.particles)


def test_the_page_that_is_left_goes_on():
    """Whichever page has drawn the frame under way may have gone."""
    hub = begun()
    gone, left = Sent(hub), Sent(hub)
    gone.draw()
    gone.ask(type="play")
    for _ in range(3):
        gone.draw()
    hub.leave(gone.page)
    steps = hub.session.simulation.steps
    for _ in range(3):
        left.draw()
    assert hub.session.simulation.steps > steps and left.last("pages")[0]["count"] == 1
    for _ in range(3):  # a reload
        page = Sent(hub)
        page.draw()
        assert page.last("state")[0]["playing"]
        hub.leave(page.page)


def test_what_comes_from_a_page_may_be_anything():
    hub = begun()
    page = Sent(hub)
    for text in (
        "",
        "{",
        "[]",
        "null",
        '{"type": 7}',
        '{"type": ["drawn"]}',
        b"\xff",
        "[" * 100_000,
        '"' * 9,
    ):
        page.got.clear()
        hub.receive(page.page, text)
        assert page.got[0][0]["type"] == "error"
