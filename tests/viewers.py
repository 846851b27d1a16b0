"""A browser that is none: what the tests of the viewer talk to a session with."""

import numpy as np

import mpm
import scenes
from mpm.viewer import session


class Browser:
    """Keeps what a session sends, and acknowledges frames when told to."""

    def __init__(self, source, **options):
        self.sent = []
        options.setdefault("gallery", mpm.gallery if "scene" in options else None)
        self.session = session.Session(source, lambda *message: self.sent.append(message), **options)
        self.ask("ready")

    def ask(self, kind, **values):
        """The errors that came of it."""
        before = len(self.sent)
        self.session.receive({"type": kind, **values})
        return [message["text"] for message, _ in self.sent[before:] if message["type"] == "error"]

    def draw(self, times=1):
        for _ in range(times):
            assert not self.ask("drawn", frame=self.frame["frame"])

    def last(self, kind):
        return next((message, data) for message, data in reversed(self.sent) if message["type"] == kind)

    @property
    def state(self):
        return self.last("state")[0]

    @property
    def frame(self):
        return self.last("frame")[0]

    @property
    def frames(self):
        return sum(message["type"] == "frame" for message, _ in self.sent)

    def part(self, name):
        """Vertices (n, 4) of a part of the last frame."""
        message, (data,) = self.last("frame")
        vertices, first = np.frombuffer(data, dtype=np.uint16).reshape(-1, 4), 0
        for title, count in message["parts"]:
            if title == name:
                return vertices[first : first + count]
            first += count
        raise KeyError(name)

    def positions(self, name="points"):
        """Of the vertices, in metres."""
        return self.placed(self.part(name))

    def colliders(self, part="faces"):
        """Corners (m, 3, d) of the triangles of them (or of "ground"), or ends (m, 2, d) of the "lines", in metres."""
        message, (data,) = self.last("colliders")
        vertices = np.frombuffer(data, dtype=np.uint16).reshape(-1, 4)
        names, counts = zip(*message["parts"], strict=True)
        assert len(vertices) == sum(counts)
        ends = np.cumsum(counts)
        x = self.placed(dict(zip(names, np.split(vertices, ends[:-1]), strict=True))[part])
        return x.reshape(-1, 2 if part == "lines" else 3, x.shape[1])

    def placed(self, vertices):
        lower, size = (np.array(self.state["box"][k]) for k in ("lower", "size"))
        return lower + vertices[:, : len(lower)] / 65535 * size

    def setting(self, key):
        return next(setting for setting in self.state["settings"] if setting["key"] == key)


def make(dim=2, **options):
    return scenes.three_materials(dim, 16, **options)


def stepped(n, dim=2, **options):
    sim = make(dim, **options)
    sim.step(n)
    return sim
