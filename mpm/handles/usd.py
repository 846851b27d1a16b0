"""Universal Scene Description: particles, surfaces and colliders as a stage of USD. Needs the extra ``usd``.

One file has all frames: a time code each, `fps` of them per second. ``/World/particles`` has positions, velocities,
ids and widths; scalars and vectors are primvars. ``/World/surface`` has the surface of the bodies, and
``/World/colliders`` one mesh per collider, within the domain. ``/World/bodies`` has one mesh per rigid body of a 3-D
scene, which its transform moves.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base import _check, paths
from mpm.handles.replay import Replay
from mpm.solver.progress import follow
from mpm.solver.source import Source
from mpm.viz import isosurface
from mpm.viz.isosurface import Surface
from mpm.viz.view import upright

SUFFIXES = (".usd", ".usda", ".usdc")
FPS = 24.0  # of a single state


def write(
    source: Source | Replay,
    path: Path,
    fields: Sequence[str],
    surface: Mapping[str, Any] | None,
    progress: bool,
) -> None:
    """Write a stage with the named fields of all frames, and surfaces if there are options for them."""
    _check.extra("pxr", "USD needs usd-core", "usd", "usd-core")
    frames = source if isinstance(source, Replay) else [source]
    fps = source.fps if isinstance(source, Replay) else FPS
    # USD writes files, and knows their kind by the suffix.
    with tempfile.TemporaryDirectory(prefix="mpm-") as folder:
        place = Path(folder) / f"stage{path.suffix.lower()}"
        _Stage(frames[0], fps, len(frames)).fill(frames, fields, surface, progress).Export(str(place))
        with paths.created(path) as stream:
            stream.write(place.read_bytes())


class _Stage:
    def __init__(self, first: Source, fps: float, count: int) -> None:
        from pxr import Gf, Sdf, Usd, UsdGeom

        self._sdf, self._geom, self._time, self._matrix = Sdf, UsdGeom, Usd.TimeCode, Gf.Matrix4d
        self._stage = Usd.Stage.CreateInMemory()
        world = UsdGeom.Xform.Define(self._stage, "/World")
        self._stage.SetDefaultPrim(world.GetPrim())
        UsdGeom.SetStageMetersPerUnit(self._stage, 1.0)
        up = upright(first.scene.gravity)[0][-1] if first.dimension == 3 else 1
        UsdGeom.SetStageUpAxis(self._stage, UsdGeom.Tokens.y if up == 1 else UsdGeom.Tokens.z)
        self._stage.SetTimeCodesPerSecond(fps)
        self._stage.SetFramesPerSecond(fps)
        self._stage.SetStartTimeCode(0)
        self._stage.SetEndTimeCode(count - 1)
        self._meshes: dict[str, Any] = {}
        self._moves: dict[str, Any] = {}  # transforms of meshes

    def fill(
        self, frames: Any, fields: Sequence[str], surface: Mapping[str, Any] | None, progress: bool
    ) -> Any:
        """Write all frames; the stage."""
        points = None
        for number, frame in enumerate(follow(frames, progress)):
            if points is None:
                points = self._geom.Points.Define(self._stage, "/World/particles")
            self._particles(points, frame, fields, number)
            if surface is not None:
                self._mesh("/World/surface", isosurface.find(frame, **surface), number)
            if frame.dimension == 3:
                self._colliders(frame, number)
                self._rigid(frame, number)
        return self._stage

    def _particles(self, points: Any, frame: Source, fields: Sequence[str], number: int) -> None:
        wanted = tuple(dict.fromkeys((*isosurface.fields_of(frame), "id", *fields)))
        state = frame._state(wanted)
        x = np.ascontiguousarray(state.spatial("x"), dtype=np.float32)
        filled = np.abs(isosurface.volumes(state, frame._kinds()))
        width = 2 * (np.sqrt(filled / np.pi) if frame.dimension == 2 else np.cbrt(3 / (4 * np.pi) * filled))
        points.GetPointsAttr().Set(_array("Vec3f", x), number)
        points.GetWidthsAttr().Set(_array("Float", width), number)
        points.GetIdsAttr().Set(_array("Int64", state.fields["id"]), number)
        points.SetWidthsInterpolation(self._geom.Tokens.vertex)
        if "v" in state.fields:
            v = np.ascontiguousarray(state.spatial("v"), dtype=np.float32)
            points.GetVelocitiesAttr().Set(_array("Vec3f", v), number)
        points.GetExtentAttr().Set(_extent(x, float(width.max()) / 2 if len(width) else 0.0), number)
        primvars = self._geom.PrimvarsAPI(points)
        for name in fields:
            values = state.spatial(name)
            if name in ("x", "v", "id") or (values.ndim == 2 and values.shape[1] != 3):
                continue
            kind = (
                self._sdf.ValueTypeNames.FloatArray
                if values.ndim == 1
                else self._sdf.ValueTypeNames.Float3Array
            )
            made = primvars.CreatePrimvar(name, kind, self._geom.Tokens.vertex)
            made.Set(_array("Float" if values.ndim == 1 else "Vec3f", values), number)

    def _mesh(self, path: str, found: Surface, number: int | None) -> None:
        time = self._time.Default() if number is None else number
        mesh = self._meshes.get(path)
        if mesh is None:
            mesh = self._meshes[path] = self._geom.Mesh.Define(self._stage, path)
            mesh.CreateSubdivisionSchemeAttr(self._geom.Tokens.none)
        mesh.GetPointsAttr().Set(_array("Vec3f", found.vertices), time)
        mesh.GetFaceVertexCountsAttr().Set(_array("Int", np.full(len(found.triangles), 3)), time)
        mesh.GetFaceVertexIndicesAttr().Set(_array("Int", found.triangles.ravel()), time)
        mesh.GetExtentAttr().Set(_extent(found.vertices, 0.0), time)
        if found.values is not None:
            primvars = self._geom.PrimvarsAPI(mesh)
            kind = self._sdf.ValueTypeNames.FloatArray
            primvars.CreatePrimvar(found.name, kind, self._geom.Tokens.vertex).Set(
                _array("Float", found.values), time
            )

    def _colliders(self, frame: Source, number: int) -> None:
        for placed in frame._posed():
            moves = placed.moves
            if number and not moves:
                continue
            name = _identifier(placed.collider.name)
            found = isosurface.of_distance(placed.distance, frame.scene.lower, frame.scene.upper)
            self._geom.Scope.Define(self._stage, "/World/colliders")
            self._mesh(f"/World/colliders/{name}", found, number if moves else None)

    def _rigid(self, frame: Source, number: int) -> None:
        names = {first: name for name, (first, _) in frame._bodies().items()}
        for solid in frame._solids():
            path = f"/World/bodies/{_identifier(names.get(solid.first, f'body{solid.first}'))}"
            if path not in self._meshes:
                self._geom.Scope.Define(self._stage, "/World/bodies")
                self._mesh(path, isosurface.of_solid(solid), None)
                self._moves[path] = self._meshes[path].AddTransformOp()
            matrix = np.eye(4)  # of rows: USD has positions on the left
            matrix[:3, :3], matrix[3, :3] = solid.rotation.T, solid.position
            self._moves[path].Set(self._matrix(matrix.tolist()), number)


def _identifier(name: str) -> str:
    """A name of USD's: letters, digits and underscores."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
    return plain if not plain[:1].isdigit() else f"_{plain}"


def _array(kind: str, values: npt.NDArray[Any]) -> Any:
    from pxr import Vt

    dtype = {"Vec3f": np.float32, "Float": np.float32, "Int": np.int32, "Int64": np.int64}[kind]
    return getattr(Vt, f"{kind}Array").FromNumpy(np.ascontiguousarray(values, dtype=dtype))


def _extent(x: npt.NDArray[Any], margin: float) -> Any:
    """The least and the largest corner."""
    box = np.zeros((2, 3)) if not len(x) else np.stack([x.min(axis=0) - margin, x.max(axis=0) + margin])
    return _array("Vec3f", box)
