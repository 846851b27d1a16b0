"""The logic of the viewer: takes messages from a browser, sends states and frames. Needs no browser and no extra.

A browser gets five kinds of messages: ``state``, the contents of panels and lists, whenever they have changed;
``colliders``, their outlines and surfaces, before the first frame in which they have moved; ``frame``, the vertices of
a picture; ``particle``, what is known of the particle that it points at; and ``error``, a sentence. At most one frame
is under way: the next is computed when the browser reports that it has drawn the last one.
So neither falls behind, and the kernel is free between frames.

No message, whatever it contains, can do worse than cause an error sentence in the viewer.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np

from mpm import samples
from mpm.base import _check, config, paths
from mpm.base.fieldtable import LASTING
from mpm.io.trajectory import Recording
from mpm.scene.settings import Setting
from mpm.solver import derived
from mpm.solver.source import Running, Series, Source, is_source
from mpm.solver.state import State
from mpm.viewer import compared, frames, livesettings, outlines, probe, shells
from mpm.viewer.bodies import bodies_of, by_body, choices
from mpm.viewer.pace import FASTEST, FPS, clamped, natural_span
from mpm.viewer.palettes import PALETTES
from mpm.viewer.past import is_present
from mpm.viewer.sources import ENERGIES, Live, Point, Recorded, label, thin
from mpm.viz import camera, ground, jointmarks, render
from mpm.viz import color as _color
from mpm.viz.facets import Skin
from mpm.viz.solids import Skins

Message = dict[str, Any]
Send = Callable[[Message, Sequence[memoryview]], None]

OF_VIEWER = ("span", "threads")  # settings that change no simulation
LINES = ("particles", "grid")  # lines show velocities of particles or of the grid

FRAMES = 1_000_000  # the most that a page goes on or back at once
SPEEDS = (0.05, 20.0)  # slowest and fastest of a replay
PATH = "viewer.vtkhdf"
SAMPLES = samples.path(samples.names()[0]).parent
COARSE = 8  # of `mpm.viz.contours.surface`, for rigid bodies: each frame sends their triangles
CURVE_MAX = 2000  # the most points of the energy curves that a new page gets


class Session:
    """What is shown, and how.

    Parameters
    ----------
    source : Simulation or Replay
    send : callable
        Takes a message for the browser and its buffers.
    gallery : module, optional
        `mpm.gallery`, where scenes can be chosen from.
    scene : str, optional
        Name of the gallery's scene that `source` is.
    method : str, optional
        By which scenes of the gallery run that have it among their ``methods``.
    folder : str or path, optional
        Browsers record and load below it only. Default: anywhere.
    """

    def __init__(
        self,
        source: Running | Series,
        send: Send,
        *,
        gallery: ModuleType | None = None,
        scene: str | None = None,
        method: str = "mpm",
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        self._send = send
        self._folder = None if folder is None else paths.as_path("folder", folder).resolve()
        self._gallery, self._scene, self._method = gallery, scene, method
        self._replayed = source._replayed
        runs = is_source(source)
        self._live = Live(cast(Running, source)) if runs else None
        self._recorded = None if runs else Recorded(cast(Series, source))
        self._compared: compared.Compared | None = None
        self._color, self._scale = "speed", _color.Scale("speed")
        self._palette, self._curve_name = "mpm", ENERGIES
        self._curve: list[Point] = []
        self._speed, self._loops = 1.0, False
        self._span, self._base = 0.0, FPS  # time per frame [s]; frames per second, where a run is shown
        self._settings: tuple[Setting, ...] = ()
        self._names: dict[str, tuple[str, ...]] = {}  # of parameters that change in the run, by setting
        self._changes: dict[str, Any] = {}
        self._recording: Recording | None = None
        self._lines = dict.fromkeys(LINES, False)
        self._surface = False  # around particles, instead of them
        self._playing = False
        self._frame = 0  # number of the last frame sent
        self._under_way = False
        self._frame_due = self._state_due = True
        self._posed: tuple[float, ...] | None = None  # the times of the colliders that the browser has
        self._skin, self._skins = Skin(), Skins(COARSE)
        self._probe: probe.Probe | None = None  # the particle that the browser points at
        self._probe_due = False
        if gallery is None or scene is None:
            self._begin_simulation(None)
        else:
            self._begin_entry(gallery.get(scene))

    # ---- what Python may ask ---------------------------------------------------------------------------

    @property
    def simulation(self) -> Running | None:
        """The simulation as it is now: after a reset a new one. None where a replay was given."""
        return None if self._live is None else self._live.simulation

    @property
    def replay(self) -> Series | None:
        """The replay that is shown, if it is one."""
        return None if self._recorded is None else self._recorded.replay

    @property
    def playing(self) -> bool:
        """Whether frame follows frame."""
        return self._playing

    def receive(self, message: object) -> None:
        """Answer a browser. Never raises: what went wrong is told to the browser."""
        self._guarded(lambda: self._do(message))
        self._guarded(self._answer)
        if self._playing and self._frame_due and not self._under_way:
            self._playing = False  # there is no picture that a page could draw
            self._guarded(lambda: self._send(self._state(), ()))

    def close(self) -> None:
        """End a recording that is under way."""
        self._playing = False
        if self._recording is not None:
            self._recording.close()
            self._recording = None

    # ---- the browser's requests: a method for each, and its parameters ---------------------------------------

    def _on_ready(self) -> None:
        """A page shows the viewer, for the first time or again; frames sent to another page may be lost."""
        self._under_way = False
        self._posed = None
        self._state_due = self._frame_due = True

    def _on_drawn(self, frame: int) -> None:
        if not self._under_way or frame != self._frame:
            return  # from another page, or from before the page was reloaded
        self._under_way = False
        if self._playing:
            self._play_on()

    def _on_play(self) -> None:
        if self._recorded is not None and self._recorded.at_end:
            self._recorded.seek(0)
        self._playing = self._state_due = True
        if not self._under_way:
            self._play_on()

    def _on_pause(self) -> None:
        self._playing, self._state_due = False, True

    def _on_step(self) -> None:
        """Take a time step from the present; of a recording, show the next frame."""
        self._on_pause()
        self._advance(None)

    def _on_move(self, frames: object) -> None:
        """Go some frames on, or back (negative). At the present of a run, a frame is computed."""
        count = _check.integer("frames", frames, low=-FRAMES, high=FRAMES)
        self._on_pause()
        if count > 0 and self._recorded is None and self._source.at_end:
            self._advance(1)
        else:
            self._source.seek(max(0, self._source.index + count))
            self._frame_due = True

    def _on_reset(self) -> None:
        self._on_pause()
        if self._recorded is not None:
            self._recorded.seek(0)
            self._frame_due = True
            return
        if self._compared is not None:
            self._compare(self._compared.setting, self._compared.values)
            return
        self._replace(self._running._rebuilt(self._changes))
        limits = None if self._scale.grows else self._scale.limits
        self._begin_simulation(self._color)
        self._scale_to(limits)

    def _on_set(self, key: object, value: object) -> None:
        known = {setting.key: setting for setting in self._shown_settings()}
        setting = known[_check.choice("key", key, tuple(known))]
        checked = setting.check(value)
        if key == "span":
            self._span = cast(float, checked) if checked is not None else self._natural()
        elif key == "threads":
            for run in (self._running, *(self._compared.runs if self._compared is not None else ())):
                run.threads = int(cast(float, checked))
        elif key in self._names and self._compared is None:
            self._source.seek(self._source.count - 1)
            run = self._running
            livesettings.change(run, setting.key, self._names[setting.key], cast(float, checked))
            self._settings, self._names = run._settings(), livesettings.names(run)
            self._posed, self._frame_due = None, True
        elif checked == next(s.value for s in self._settings if s.key == key):
            self._changes.pop(setting.key, None)
        else:
            self._changes[setting.key] = checked
        self._state_due = True

    def _on_color(self, name: object) -> None:
        self._color = _check.choice("color", name, _color.scalars(self._source.now))
        self._scale_to(None)
        self._state_due = self._frame_due = True

    def _on_show(self, what: object, on: object) -> None:
        lines = _check.choice("what", what, LINES)
        self._lines[lines] = _check.flag("on", on)
        self._state_due = self._frame_due = True

    def _on_surface(self, on: object) -> None:
        """Show particles in space as closed surfaces."""
        wanted = _check.flag("on", on)
        if wanted and not shells.offered(self._source.now):
            raise ValueError("surfaces need a 3-D scene of particles and the extra `surface` (pysplashsurf)")
        self._surface = wanted
        self._state_due = self._frame_due = True

    def _on_limits(self, low: object, high: object) -> None:
        """Ends of the colour scale; automatic where both are None."""
        ends = None if low is None and high is None else _color.check_limits((low, high))
        self._scale_to(ends)
        self._state_due = self._frame_due = True

    def _on_palette(self, name: object) -> None:
        self._palette, self._state_due = _check.choice("palette", name, tuple(PALETTES)), True

    def _on_curve(self, name: object) -> None:
        self._curve_name = _check.choice("curve", name, self._source.curves)
        self._curve = self._source.past(self._curve_name)
        self._state_due = self._frame_due = True

    def _on_probe(self, vertex: object, pinned: object) -> None:
        """Describe a particle, now and with every frame; none where the vertex is None."""
        now, keep = self._source.now, _check.flag("pinned", pinned)
        if vertex is None:
            self._probe = None
        else:
            last = max(0, probe.vertices(now) - 1)
            self._probe = probe.at(now, _check.integer("vertex", vertex, low=0, high=last), pinned=keep)
        self._probe_due = True

    def _on_speed(self, value: object) -> None:
        """How fast frames are played: 1 is the rate of the recording, or the natural one of a run."""
        self._speed = _check.number("speed", value, low=SPEEDS[0], high=SPEEDS[1])
        self._state_due = True

    def _on_loop(self, on: object) -> None:
        self._loops, self._state_due = _check.flag("on", on), True

    def _on_record(self, path: object, fps: object) -> None:
        if self._recording is not None:
            raise ValueError(
                f"{self._named(self._recording.path)} is being recorded: stop that recording first"
            )
        if self._recorded is not None:
            raise ValueError("the viewer shows a recording: press Simulation to record the run")
        if self._compared is not None:
            raise ValueError("the viewer shows a comparison: press End to record the run")
        fields = ["v"]
        if self._color not in (*LASTING, *derived.computable(("v", *LASTING))):
            fields.append(self._color)
        self._recording = self._running.record(self._place(path), fps=fps, fields=fields)
        self._state_due = True

    def _on_stop(self) -> None:
        self.close()
        self._state_due = True

    def _on_load(self, path: object) -> None:
        self._load(self._place(path))

    def _on_sample(self, name: object) -> None:
        """Load a recording of the package, wherever the browser may read."""
        self._load(str(samples.path(_check.choice("name", name, samples.names()))))

    def _on_seek(self, index: object) -> None:
        """Show a frame of a recording, or of the past of a run; the last one is its present."""
        self._show(_check.integer("index", index, low=0, high=self._source.count - 1))

    def _on_time(self, value: object) -> None:
        """Show the frame that is nearest to a time [s]."""
        self._show(self._source.nearest(_check.number("time", value, unit="s")))

    def _on_compare(self, key: object, values: object) -> None:
        """Show a run for each of some values of a setting, side by side; the simulation waits."""
        if self._live is None:
            raise ValueError("this viewer shows a recording and has no simulation")
        setting, checked = compared.check(self._settings, key, values)
        self._on_pause()
        self._compare(setting, checked)

    def _on_simulation(self) -> None:
        """Leave the replay or the comparison."""
        if self._live is None:
            raise ValueError("this viewer shows a recording and has no simulation")
        self._on_pause()
        self._leave_replay()
        self._begin_source(self._color)

    def _on_scene(self, name: object) -> None:
        if self._gallery is None:
            raise ValueError("this viewer was opened without the gallery: it offers no scenes")
        entry = self._gallery.get(name)
        self._on_pause()
        self._replace(entry.solver(self._method if self._method in entry.methods else "mpm"))
        self._begin_entry(entry)

    # ---- inside ----------------------------------------------------------------------------------------

    def _show(self, index: int) -> None:
        self._source.seek(index)
        self._playing = False
        self._state_due = self._frame_due = True

    def _load(self, path: str) -> None:
        found = Recorded(self._replayed(path), ours=True)
        self._leave_replay()
        self._recorded, self._playing = found, False
        self._begin_source(self._color)

    def _compare(self, setting: Setting, values: Sequence[Any]) -> None:
        running = self._running
        found = compared.Compared(
            setting, values, lambda change: cast(Running, running._rebuilt({**self._changes, **change}))
        )
        limits = None if self._scale.grows else self._scale.limits
        self._leave_replay()
        self._compared = found
        self._begin_source(self._color)
        self._scale_to(limits)

    def _scale_to(self, limits: tuple[float, float] | None) -> None:
        """Colour between the limits; None: of a recording between those of all its frames, else of what was shown."""
        least = _color.noise(self._source.now, self._color)
        self._scale = _color.Scale(self._color, limits, least)
        if limits is None and self._recorded is not None:
            for state in self._recorded.sampled(self._color):
                self._scale.take(_color.values(state, self._color))

    def _place(self, path: object) -> str:
        """A file that a browser names."""
        named = _check.text("path", path)
        return named if self._folder is None else str(paths.below("path", named, self._folder))

    def _named(self, path: Path) -> str:
        """The file as a browser may name it."""
        if self._folder is None or not path.is_relative_to(self._folder):
            return str(path)
        return str(path.relative_to(self._folder))

    def _name_of(self, path: Path) -> str:
        """The same of a recording; a sample has a name."""
        return path.stem if path.parent == SAMPLES else self._named(path)

    @property
    def _source(self) -> Live | Recorded | compared.Compared:
        source = self._recorded or self._compared or self._live
        assert source is not None
        return source

    @property
    def _running(self) -> Running:
        if self._live is None:
            raise ValueError("this viewer shows a recording and has no simulation")
        return self._live.simulation

    def _guarded(self, action: Callable[[], None]) -> None:
        """Do something; what goes wrong is reported to the browser. A wrong request does not pause."""
        try:
            action()
        except KeyboardInterrupt:
            self._playing = False
            self._fail("The run was interrupted.")
        except (ValueError, TypeError) as error:  # of what was asked for: the sentence is enough
            self._fail(str(error))
        except Exception as error:  # of any kind: only the browser can report it
            self._fail(f"{type(error).__name__}: {error}")

    def _do(self, message: object) -> None:
        name, values = parse(message)
        getattr(self, f"_on_{name}")(**values)

    def _fail(self, text: str) -> None:
        self._state_due = True
        self._send({"type": "error", "text": text}, ())

    def _replace(self, simulation: Running) -> None:
        self.close()
        self._leave_replay()
        self._live = Live(simulation)

    def _begin_entry(self, entry: Any) -> None:
        """Begin a scene of the gallery, with the colours that suit it."""
        self._scene = entry.name
        self._begin_simulation(entry.color)
        self._span, self._base = 1 / entry.fps, clamped(entry.fps)
        self._scale_to(entry.limits)

    def _leave_replay(self) -> None:
        if self._recorded is not None and self._recorded.ours:
            self._recorded.replay.close()
        self._recorded = self._compared = None

    def _begin_simulation(self, color: str | None) -> None:
        """Begin a new simulation: find its settings."""
        self._settings = () if self._live is None else self._live.simulation._settings()
        self._names = {} if self._live is None else livesettings.names(self._live.simulation)
        self._changes = {}
        self._base = FPS
        if self._live is not None:
            self._span = self._natural()
        self._begin_source(color)

    def _begin_source(self, color: str | None) -> None:
        """Begin a new source: find its domain, what it can show, and its energies."""
        source, now = self._source, self._source.now
        lower, upper = now.scene.lower, now.scene.upper
        self._box = frames.Box.around(lower, upper)
        known = _color.scalars(now)
        self._color = next(name for name in (color, "speed", "material", *known) if name in known)
        self._scale_to(None)
        self._fastest = 0.0
        if self._curve_name not in source.curves:
            self._curve_name = source.curves[0]
        self._curve = source.past(self._curve_name)
        volumes = [one._state(("volume",)).fields["volume"] for one in source.shown]
        self._spacings = [float(np.mean(v)) ** (1 / len(lower)) if len(v) else 0.0 for v in volumes]
        if not isinstance(source, Recorded):
            source.keep(self._color)
        self._posed = None
        self._probe_due, self._probe = self._probe is not None, None
        self._state_due = self._frame_due = True

    def _natural(self) -> float:
        """The time of a frame of the run [s]: that of the gallery's scene, or one that suits its motion."""
        if self._gallery is not None and self._scene is not None:
            return 1 / float(self._gallery.get(self._scene).fps)
        return natural_span(self._running)

    def _play_on(self) -> None:
        source, frames = self._source, self._pace()[0]
        if not source.at_end:
            source.forward(frames)
            self._frame_due = True
        elif self._loops and source.count > 1:
            source.seek(0)
            self._frame_due = True
        elif self._recorded is not None:
            self._on_pause()
        else:
            self._advance(frames)

    def _pace(self) -> tuple[int, float]:
        """Frames per picture, and milliseconds between pictures, of which a screen shows 60 a second."""
        rate = self._speed * (self._base if self._recorded is None else clamped(self._recorded.replay.fps))
        stride = max(1, math.ceil(rate / FASTEST - 1e-9))
        return stride, 1000 * stride / rate

    def _advance(self, frames: int | None) -> None:
        """Advance a run by frames, or by a time step, and a recording by a frame; after an error, show the state that
        remains."""
        source = self._source
        try:
            if isinstance(source, Recorded):
                source.forward(frames or 1)
            elif frames is None:
                source.step()
            else:
                source.advance(self._span, frames)
        except BaseException:
            self._playing = False
            raise
        finally:
            self._moved()

    def _moved(self) -> None:
        """The time of the source has changed."""
        self._frame_due = True
        source = self._source
        if not isinstance(source, Recorded):
            source.keep(self._color)
            now = source.point(self._curve_name)
            if len(now) > 1 and (not self._curve or cast(float, now[0]) > cast(float, self._curve[-1][0])):
                self._curve.append(now)
                thin(self._curve)
        if self._recording is not None and self._recording.closed:  # after a write error
            self._recording, self._state_due = None, True

    def _answer(self) -> None:
        if self._state_due:
            self._send(self._state(), ())
            self._state_due = False
        if self._frame_due and not self._under_way:
            self._send_colliders()
            message, vertices = self._picture()
            self._frame += 1
            self._send(message | {"frame": self._frame}, (_bytes(vertices),))
            self._frame_due, self._under_way = False, True
            self._probe_due = self._probe_due or self._probe is not None
        if self._probe_due:
            self._send_particle()

    def _send_particle(self) -> None:
        self._probe_due = False
        found = None
        if self._probe is not None:
            found = probe.described(self._source.now, self._probe, self._color)
        self._send({"type": "particle", "particle": found}, ())

    def _send_colliders(self) -> None:
        """Send the colliders, unless the browser has them already."""
        now = self._source.now
        colliders, scene = now._posed(), now.scene
        posed = tuple(now.time if one.moves else 0.0 for one in colliders)
        if posed != self._posed:
            blocks, others = ground.split(now, ()) if now.dimension == 3 else ([], colliders)
            found = outlines.of(others, scene.lower, scene.upper)
            opaque = [ground.surface(one, scene) for one in blocks]
            parts = {
                "faces": frames.faces(self._box, found.corners, found.normals),
                "lines": frames.segments(self._box, found.starts, found.ends),
                "ground": np.concatenate(
                    [np.empty((0, 4), np.uint16), *(frames.faces(self._box, *one) for one in opaque)]
                ),
            }
            message = {"type": "colliders", "parts": [[name, len(part)] for name, part in parts.items()]}
            self._send(message, (_bytes(np.concatenate(list(parts.values()))),))
            self._posed = posed

    def _picture(self) -> tuple[Message, frames.Vertices]:
        """A frame: its description for the browser, and its vertices."""
        source = self._source
        names = [self._color, *(["v"] if self._lines["particles"] and self._has_velocities() else [])]
        states = [one._state(names) for one in source.shown]
        values = [_color.values(state, self._color) for state in states]
        limits = self._scale.take(values[0] if len(values) == 1 else np.concatenate(values))
        ways = [self._ways(one, state) for one, state in zip(source.shown, states, strict=True)]
        for found in ways:
            for _, v in found.values():
                fastest = float(np.sqrt((v**2).sum(axis=1).max(initial=0)))
                self._fastest = max(self._fastest, _color.round_up(fastest))
        around = []
        for each in zip(source.shown, states, values, strict=True):
            hard = shells.rigid(*each, self._skins)
            whole = self._surface and shells.offered(each[0])
            around.append(shells.around(*each, hard) if whole else hard)
        pictures = [
            self._parts(*each, limits)
            for each in zip(source.shown, states, values, ways, around, strict=True)
        ]
        parts = [part for picture in pictures for part in picture.items()]
        now = states[0]
        bodies = [
            bodies_of(one, state, self._faces(one), None if shell is None else shell.counts)
            for one, state, shell in zip(source.shown, states, around, strict=True)
        ]
        message = {
            "type": "frame",
            "parts": [[name, len(vertices)] for name, vertices in parts],
            "runs": [
                {"parts": len(picture), "spacing": spacing, "bodies": found}
                for picture, spacing, found in zip(pictures, self._spacings, bodies, strict=True)
            ],
            "particles": sum(len(state.fields["x"]) for state in states),
            "time": now.time,
            "steps": now.step,
            "limits": limits,
            "point": self._curve[-1:] if self._recorded is None else [source.point(self._curve_name)],
            "index": source.index,
            "frames": source.count,
            "recorded": 0 if self._recording is None else self._recording.frames,
        }
        return message, np.concatenate([vertices for _, vertices in parts])

    def _ways(self, one: Source, state: State) -> dict[str, tuple[frames.Array, frames.Array]]:
        """Where velocities are shown, and the velocities, by the kind of line."""
        ways = {}
        if "v" in state.fields:
            ways["particles"] = frames.thinned(state.fields["x"], state.fields["v"])
        if self._lines["grid"] and self._has_grid() and is_present(one):
            ways["grid"] = frames.thinned(*cast(Running, one)._nodes())
        return ways

    def _parts(
        self,
        one: Source,
        state: State,
        values: frames.Array,
        ways: Mapping[str, tuple[frames.Array, frames.Array]],
        around: shells.Shells | None,
        limits: tuple[float, float],
    ) -> dict[str, frames.Vertices]:
        """The vertices of one run."""
        x = state.fields["x"]
        points, cells = frames.points(self._box, x, values, limits), one._cells()
        if cells is not None and x.shape[1] == 2:
            parts = {"triangles": points[cells.ravel()]}
        else:
            parts = {"points": points}
            if cells is not None:
                parts["surface"] = points[cast(frames.Array, self._faces(one)).ravel()]
            if around is not None and len(around.x):
                name = "surface" if around.whole else "solids"
                parts[name] = frames.points(self._box, around.x, around.values, limits)
                if len(around.normals):
                    parts["normals"] = frames.normals(around.normals)
        begins, ends = jointmarks.segments(one._solids())
        if len(begins):
            parts["joints"] = frames.segments(self._box, begins, ends)
        for name, (starts, v) in ways.items():
            parts[name] = frames.lines(self._box, starts, v, self._fastest)
        return parts

    def _faces(self, one: Source) -> frames.Array | None:
        """The triangles of the surface of a mesh in space, one body after the other."""
        cells = one._cells() if one.dimension == 3 else None
        return None if cells is None else by_body(one, self._skin.of(cells))

    def _state(self) -> Message:
        """The contents of all panels."""
        now, scene = self._source.now, self._source.now.scene
        recorded, recording = self._recorded, self._recording
        view = camera.Camera(scene.lower, scene.upper, scene.gravity, (0, 0, 1, 1))
        stride = max(1, -(-len(self._curve) // CURVE_MAX))
        return {
            "type": "state",
            "playing": self._playing,
            "settings": [self._described(setting) for setting in self._shown_settings()],
            "colors": [[name, _color.label(now, name)] for name in _color.scalars(now)],
            "color": self._color,
            "stops": PALETTES[self._palette],
            "materials": _color.legend(now, self._color),
            "palette": self._palette,
            "palettes": list(PALETTES),
            "limits": None if self._scale.grows else self._scale.limits,
            "lines": self._lines,
            "linesOffered": [
                name
                for name, there in zip(LINES, (self._has_velocities(), self._has_grid()), strict=True)
                if there
            ],
            "surface": self._surface,
            "surfaceOffered": shells.offered(now),
            "bodies": choices(now),
            "box": {"lower": self._box.lower.tolist(), "size": self._box.size.tolist()},
            "domain": {"lower": scene.lower.tolist(), "upper": scene.upper.tolist()},
            "up": view.order[-1],
            "falls_up": bool(scene.gravity[view.order[-1]] > 0),
            "cover": 2 * render.COVER[len(scene.lower)],
            "eye": [camera.AZIMUTH, camera.ELEVATION],
            "curve": self._curve[::stride],
            "curveName": self._curve_name,
            "curveLines": [name.replace("_", " ") for name in self._source.lines(self._curve_name)],
            "curves": [[name, label(name, len(scene.lower))] for name in self._source.curves],
            "speed": self._speed,
            "interval": self._pace()[1],
            "loop": self._loops,
            "simulation": self._live is not None,
            "replay": None if recorded is None else self._described_replay(recorded),
            "comparable": []
            if recorded is not None
            else [[one.key, one.group, one.name] for one in compared.comparable(self._settings)],
            "comparison": None
            if self._compared is None
            else {
                "key": self._compared.setting.key,
                "name": self._compared.setting.name,
                "labels": self._compared.labels,
            },
            "recording": None if recording is None else self._named(recording.path),
            "recordingFps": None if recording is None else recording.fps,
            "path": PATH if recording is None else self._named(recording.path),
            "fps": round(1 / self._span, 6) if self._span > 0 else FASTEST,
            "samples": [[name, name] for name in samples.names()],
            "scene": None if recorded is not None else self._scene,
            "scenes": []
            if self._gallery is None
            else [[name, self._gallery.get(name).summary] for name in self._gallery.names()],
        }

    def _has_grid(self) -> bool:
        return self._recorded is None and self._running._has_grid

    def _has_velocities(self) -> bool:
        return "v" in self._source.now.particles.fields

    def _described_replay(self, recorded: Recorded) -> Message:
        return {
            "path": self._name_of(recorded.replay.path),
            "frames": len(recorded.replay),
            "times": recorded.replay.times.tolist(),
            "summary": recorded.summary,
        }

    def _shown_settings(self) -> tuple[Setting, ...]:
        if self._live is None or self._recorded is not None:
            return ()
        most, now = config.MAX_THREADS, self._live.simulation.threads
        threads = Setting("threads", "Run", "threads", "", now, low=1, high=most, whole=True)
        meaning = "simulated time per frame; less if a frame would need more than a quarter of a second"
        span = Setting(
            "span",
            "Run",
            "time per frame",
            "s",
            float(f"{self._span:.4g}"),
            low=0,
            low_open=True,
            optional=True,
            meaning=meaning,
        )
        return (span, threads, *self._settings)

    def _described(self, setting: Setting) -> Message:
        described = dataclasses.asdict(setting)
        keep = ("key", "group", "name", "unit", "meaning", "optional", "whole", "choices")
        return {name: described[name] for name in keep} | {
            "value": self._changes.get(setting.key, setting.value),
            "allowed": setting.allowed,
            "changed": setting.key in self._changes,
            "live": setting.key in (*OF_VIEWER, *(() if self._compared is not None else self._names)),
        }


# The requests of a browser, with the names of their values.
REQUESTS = {
    name.removeprefix("_on_"): tuple(inspect.signature(method).parameters)[1:]
    for name, method in vars(Session).items()
    if name.startswith("_on_")
}


def parse(message: object) -> tuple[str, Mapping[str, Any]]:
    """The request's name and values; ValueError if it is none of `REQUESTS`."""
    kind = message.get("type") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(kind, str) or kind not in REQUESTS:
        raise ValueError(f"message = {_check.shown(message)}: must be one of {', '.join(REQUESTS)}")
    values = {name: value for name, value in message.items() if name != "type"}
    wanted = REQUESTS[kind]
    if set(values) != set(wanted):
        raise ValueError(f"message = {_check.shown(message)}: must have {', '.join(('type', *wanted))}")
    return kind, values


def _bytes(vertices: frames.Vertices) -> memoryview:
    return vertices.reshape(-1).view(np.uint8).data
