"""The command line: ``python -m mpm``."""

from __future__ import annotations

import argparse
import ast
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from mpm import gallery
from mpm.base import config
from mpm.bench.measure import METHODS as MEASURED
from mpm.bench.measure import STANDARD, STUDIES
from mpm.errors import SimulationError
from mpm.gallery.entry import METHODS

T = TypeVar("T")
FORMATS = ("bgeo", "csv", "geo", "npz", "ply", "vtp")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    arguments : sequence of str, optional
        Default: those of the process.

    Returns
    -------
    int
        0 if everything was done, 1 if something failed, 130 if it was interrupted; a usage error exits with 2.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # for terminals that lack some characters
    parser = _parser()
    options = vars(parser.parse_args(arguments))
    command = options.pop("command")
    try:
        return int(command(**options))
    except KeyboardInterrupt:
        print("mpm: interrupted", file=sys.stderr)
        return 130  # the convention of shells: 128 plus the number of the signal
    except BrokenPipeError:  # the reader has closed the pipe, as in ``mpm replay FILE | head -2``
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (SimulationError, ImportError, OSError, ValueError, MemoryError) as error:
        print(f"mpm: {type(error).__name__}: {error}", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mpm",
        description="The Material Point Method for research. Scenes of `demo` run with --method sph or fem, too.",
    )
    parser.add_argument("--version", action="version", version=f"mpm {config.version()}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    scenes: dict[str, Any] = {
        "formatter_class": argparse.RawDescriptionHelpFormatter,
        "epilog": "\n".join(["scenes:", *(f"  {n:<17} {gallery.get(n).summary}" for n in gallery.names())]),
    }
    demo = commands.add_parser(
        "demo", help="run a scene of the gallery; write a movie, pictures and its history", **scenes
    )
    demo.add_argument(
        "name", nargs="?", default="sand-column", type=_scene, metavar="NAME", help="default: sand-column"
    )
    demo.add_argument("--out", type=Path, default=Path("out"), metavar="DIR", help="directory, default: out")
    demo.add_argument(
        "--threads", type=_threads, metavar="N", help="default: what MPM_NUM_THREADS or the machine allow"
    )
    demo.add_argument(
        "--method",
        choices=METHODS,
        default="mpm",
        help="default: mpm; sph: some scenes of one fluid; fem: some of elastic bodies",
    )
    demo.add_argument("--dtype", choices=("float64", "float32"), default="float64")
    demo.add_argument("--frames", type=_positive, metavar="N", help="how many, default: the scene's")
    demo.add_argument(
        "--format",
        dest="formats",
        choices=FORMATS,
        action="append",
        default=[],
        metavar="F",
        help=f"write every frame as a file, too: {', '.join(FORMATS)}; may be repeated",
    )
    demo.add_argument(
        "--set",
        dest="settings",
        type=_setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the scene or of the simulation, such as dx=0.01, E=1e6 or sampling=poisson; or a setting of "
        "a body by its name, or of all as 'body': body.velocity=0,-5, body.position=0.5,0.7, body.size=0.2, "
        "body.shape=box, body.E=1e6; may be repeated",
    )
    _add_cut(demo)
    demo.set_defaults(command=_demo)

    info = commands.add_parser("info", help="versions, compiler, kernel sets, threads")
    info.set_defaults(command=_info)

    bench = commands.add_parser(
        "bench", help="measure the speed of this machine: laws, dimensions, precisions and kernel sets"
    )
    bench.add_argument(
        "studies",
        nargs="*",
        default=[],
        type=_study,
        metavar="STUDY",
        help=f"measure instead what it depends on: {', '.join(STUDIES)}; or published scenes beside the limits of "
        f"this machine: {', '.join(STANDARD)}; or other methods: {', '.join(MEASURED)}; or all of them",
    )
    bench.add_argument(
        "--json", dest="json_path", type=Path, metavar="FILE", help="write the results there as well"
    )
    bench.add_argument(
        "--csv",
        dest="csv_path",
        type=Path,
        metavar="FILE",
        help="the same as a table, with machine and build",
    )
    bench.add_argument("--repeats", type=_positive, metavar="N", help="rounds, default: 5, or 1 if --quick")
    bench.add_argument(
        "--quick",
        action="store_true",
        help="small bodies, whatever the labels state: a check that it runs, not figures to quote",
    )
    bench.set_defaults(command=_bench)

    replay = commands.add_parser("replay", help="list what a recorded series contains; draw it, export it")
    replay.add_argument("path", type=Path, metavar="FILE")
    replay.add_argument("--plot", type=Path, metavar="PNG", help="draw a frame")
    replay.add_argument(
        "--frame", type=int, metavar="N", help="which one --plot draws, default: the last, -1"
    )
    replay.add_argument(
        "--movie", type=Path, metavar="FILE", help="write a .mp4, a .gif or a directory of png"
    )
    replay.add_argument("--color", metavar="NAME", help="of plot and movie, default: speed or material")
    _add_cut(replay)
    replay.add_argument(
        "--export", metavar="PATTERN", help="write every frame, such as 'frames/f_{:04d}.bgeo'"
    )
    replay.add_argument("--fields", nargs="+", metavar="NAME", help="what to export, default: all")
    replay.add_argument(
        "--repair", action="store_true", help="close the file of a run that was killed, for other programs"
    )
    replay.set_defaults(command=_replay)

    view = commands.add_parser(
        "view", help="look at a scene of the gallery, a recording or a checkpoint in the browser", **scenes
    )
    view.add_argument(
        "name",
        nargs="?",
        type=_scene_or_file,
        metavar="NAME|FILE",
        help="a scene, default: jelly, or the first one that the method has; "
        "or a file: .vtkhdf, .geo, .bgeo or .series of a recording, else a checkpoint",
    )
    view.add_argument("--method", choices=METHODS, default="mpm", help="of scenes that have it; default: mpm")
    view.add_argument("--port", type=_port, default=8866, metavar="N", help="default: 8866")
    view.add_argument(
        "--no-browser",
        dest="browser",
        action="store_false",
        help="only serve; open the printed address yourself",
    )
    view.add_argument(
        "--folder",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="record and load below it, and nowhere else; default: the current folder",
    )
    view.set_defaults(command=_view)
    return parser


def _add_cut(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--cut",
        type=_plane,
        action="append",
        metavar="AXIS=PLACE",
        help="open pictures of a 3-D scene at a plane, such as y=0.5 [m]; may be repeated for a corner",
    )


def _plane(text: str) -> tuple[str, float]:
    axis, _, place = text.partition("=")
    try:
        return axis, float(place)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: must be AXIS=PLACE, such as y=0.5") from None


def _scene(text: str) -> str:
    try:
        return gallery.get(text).name
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _scene_or_file(text: str) -> str | Path:
    if text not in gallery.names() and (os.sep in text or Path(text).suffix or Path(text).exists()):
        path = Path(text).absolute()
        sequence = path.suffix.lower() in (".geo", ".bgeo")  # of which the frames have other names
        if not path.is_file() and not (sequence and path.parent.is_dir()):
            raise argparse.ArgumentTypeError(f"{text!r}: there is no such file")
        return path
    return _scene(text)


def _study(text: str) -> str:
    known = (*STUDIES, *STANDARD, *MEASURED, "all")
    if text not in known:
        raise argparse.ArgumentTypeError(f"{text!r}: must be one of {', '.join(known)}")
    return text


def _positive(text: str, most: int = 1_000_000) -> int:
    value = int(text) if text.isascii() and text.isdigit() else 0
    if not 1 <= value <= most:
        raise argparse.ArgumentTypeError(f"{text!r}: must be an integer >= 1 and <= {most}")
    return value


def _threads(text: str) -> int:
    return _positive(text, config.MAX_THREADS)


def _port(text: str) -> int:
    return _positive(text, 65_535)


# `_parser` names arguments after the parameters of the commands.


def _setting(text: str) -> tuple[str, Any]:
    """A name and a value: a Python number, tuple, True, False, None, or else a string.

    Before a dot in the name stands that of a body, which may be any text.
    """
    name, sign, value = text.partition("=")
    body, dot, option = name.rpartition(".")
    if not sign or not option.isidentifier() or bool(body) != bool(dot) or not value:
        raise argparse.ArgumentTypeError(
            f"{text!r}: must be NAME=VALUE or BODY.NAME=VALUE, such as dx=0.01 or body.velocity=0,-5"
        )
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def _by_name(option: str, pairs: Sequence[tuple[str, T]]) -> dict[str, T]:
    """The values of an option that may be repeated, but not for the same name."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{option} {twice}=: is given {names.count(twice)} times; must be given once")
    return found


def _demo(name: str, out: Path, **options: Any) -> int:
    from mpm.commands import demo

    entry = gallery.get(name)
    if not _suits(entry, options["method"]):
        return 2
    options["settings"] = _by_name("--set", options["settings"])
    options["cut"] = _by_name("--cut", options["cut"]) if options["cut"] else None
    try:
        return demo.run(entry, out, **options)
    except TypeError as error:
        if not options["settings"]:
            raise
        print(f"mpm: --set: {error}", file=sys.stderr)
        return 2


def _suits(entry: gallery.Entry, method: str) -> bool:
    """Whether a scene is for a method; if not, says which ones are."""
    if method in entry.methods:
        return True
    usable = ", ".join(name for name in gallery.names() if method in gallery.get(name).methods)
    print(f"mpm: {entry.name} is not for --method {method}; {usable} are", file=sys.stderr)
    return False


def _replay(path: Path, **options: Any) -> int:
    from mpm.commands import replay as inspection

    options["cut"] = _by_name("--cut", options["cut"]) if options["cut"] else None
    return inspection.run(path, **options)


def _info() -> int:
    config.show_config()
    return 0


def _bench(studies: list[str], **options: Any) -> int:
    from mpm.bench import measure as bench

    return bench.run([*STUDIES, *STANDARD, *MEASURED] if "all" in studies else studies, **options)


def _view(name: str | Path | None, **options: Any) -> int:
    method = options["method"]
    if name is None:
        name = next(n for n in ("jelly", *gallery.names()) if method in gallery.get(n).methods)
    if isinstance(name, Path):
        if method != "mpm":
            print(f"mpm: --method is for scenes: {name} keeps its own", file=sys.stderr)
            return 2
    elif not _suits(gallery.get(name), method):
        return 2
    from mpm.commands import view as app

    return app.serve(name, **options)
