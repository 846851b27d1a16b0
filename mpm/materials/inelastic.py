"""Bases of the inelastic materials: a return map, and the history that it keeps."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from mpm import _core
from mpm.base import _check, config
from mpm.base._check import FloatArray
from mpm.materials.laws import Material, _Elastic, _ndim


class _Flowing(Material):
    """Base of the materials with a return map and a history of several fields."""

    __slots__ = ()

    def return_map(
        self, F: npt.ArrayLike, history: Mapping[str, npt.ArrayLike] | None = None, *, dt: float = 0.0
    ) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Bring trial states back onto the yield surface, with the C code of the step.

        Parameters
        ----------
        F : array_like, shape (m, d, d)
            Trial elastic deformation gradients, d = 2 (plane strain) or 3.
        history : mapping, optional
            Fields of the law's history by name, (m,) or (m, components); those left out have their initial values.
        dt : float, optional
            Time of the step [s], >= 0, which viscosity needs; default 0: a material with viscosity does not flow.

        Returns
        -------
        F : ndarray, shape (m, d, d)
            Elastic deformation gradients. An F within the yield surface returns bit for bit.
        history : dict
            All fields of the history after the step.

        Raises
        ------
        TypeError, ValueError
            F, the history or dt has another shape or range, or is not finite.
        """
        checked = self._gradients(F)
        before = self._history(history, *checked.shape[:2])
        d, step = checked.shape[1], _check.number("dt", dt, low=0, unit="s")
        after = _core.return_map(self.law, self.parameters, checked, before, d, config.isa(), "float64", step)
        elastic, kept = (np.frombuffer(part, dtype=np.float64).copy() for part in after)
        kept, fields, at = kept.reshape(before.shape), {}, 0
        for name, width, _ in self._kept(d):
            fields[name] = kept[:, at] if width == 1 else kept[:, at : at + width]
            at += width
        return elastic.reshape(checked.shape), fields

    def stress(self, F: npt.ArrayLike, history: Mapping[str, npt.ArrayLike] | None = None) -> FloatArray:
        """First Piola–Kirchhoff stress P = τ F⁻ᵀ without flow, from the C code of the step.

        Parameters
        ----------
        F : array_like, shape (m, d, d)
            Elastic deformation gradients F_E, d = 2 (plane strain) or 3.
        history : mapping, optional
            Fields of the law's history by name, (m,) or (m, components); those left out have their initial values.

        Returns
        -------
        ndarray, shape (m, d, d)
            P = ∂Ψ/∂F_E [Pa], in float64.

        Raises
        ------
        TypeError, ValueError
            F or the history has another shape or range, or is not finite, or F is singular.
        """
        checked = self._gradients(F)
        return self._stress(checked, self._history(history, *checked.shape[:2]))

    def energy(self, F: npt.ArrayLike, history: Mapping[str, npt.ArrayLike] | None = None) -> FloatArray:
        """Elastic energy per rest volume, from the C code of the step.

        Parameters
        ----------
        F : array_like, shape (m, d, d)
            Elastic deformation gradients F_E, d = 2 (plane strain) or 3.
        history : mapping, optional
            Fields of the law's history by name, (m,) or (m, components); those left out have their initial values.

        Returns
        -------
        ndarray, shape (m,)
            Ψ [J/m³], in float64.

        Raises
        ------
        TypeError, ValueError
            F or the history has another shape or range, or is not finite.
        """
        checked = self._gradients(F)
        return self._energy(checked, self._history(history, *checked.shape[:2]))

    def _kept(self, d: int) -> list[tuple[str, int, _core.HistoryField]]:
        """Name, components and row of every field of the history."""
        widths = {"scalar": 1, "vector": d, "symmetric": d * (d + 1) // 2, "tensor": d * d}
        return [(field["name"], widths[field["rank"]], field) for field in self._row["history"]]

    def _history(self, given: Mapping[str, npt.ArrayLike] | None, m: int, d: int) -> FloatArray:
        """The history (m, components) of checked fields; initial values where none are given."""
        kept = self._kept(d)
        if given is not None and not isinstance(given, Mapping):
            raise _check.wrong_type("history", given, "a mapping of field names to arrays")
        for name in given or {}:
            _check.choice("history", name, [field for field, *_ in kept])
        columns, initial, at = [np.empty((m, 0))], self._initial_history(d), 0
        for name, width, row in kept:
            if name in (given or {}):
                title = f"history[{name!r}]"
                values = _check.array(title, (given or {})[name], (m,) if width == 1 else (m, width))
                within = (values > row["low"]) & (values < row["high"])
                if row["closed"]:
                    within |= (values == row["low"]) | (values == row["high"])
                for bad in np.flatnonzero(~within)[:1]:
                    allowed = _check.interval(row["low"], not row["closed"], row["high"], not row["closed"])
                    raise ValueError(f"{title} = {values.flat[bad]:g}: must be {allowed}")
                columns.append(values.reshape(m, width))
            else:
                columns.append(np.tile(initial[at : at + width], (m, 1)))
            at += width
        return np.ascontiguousarray(np.concatenate(columns, axis=1))


class _Plastic(_Elastic):
    """Base of the materials whose return map keeps a plastic volume ratio."""

    __slots__ = ()

    def return_map(self, F: npt.ArrayLike, Jp: npt.ArrayLike = 1.0) -> tuple[FloatArray, FloatArray]:
        """Split trial states into elastic and plastic parts, with the C code of the step.

        Parameters
        ----------
        F : array_like, shape (m, d, d)
            Trial elastic deformation gradients, d = 2 (plane strain) or 3.
        Jp : float or array_like, shape (m,), optional
            Earlier plastic volume ratios, > 0.

        Returns
        -------
        F : ndarray, shape (m, d, d)
            Elastic deformation gradients on or within the yield surface. An F within it (for sand, with a Jp of 1)
            returns bit for bit.
        Jp : ndarray, shape (m,)
            New plastic volume ratios, within the limits of the material.

        Raises
        ------
        TypeError, ValueError
            F or Jp has another shape or range, or is not finite.
        """
        checked = self._gradients(F)
        elastic, kept = self._return_map(checked, plastic(Jp, len(checked)), 0.0, np.zeros_like(checked))
        return elastic, np.ascontiguousarray(kept[:, 0])


def plastic(Jp: npt.ArrayLike, m: int) -> FloatArray:
    """The histories (m, 2) of m deformation gradients: checked plastic volume ratios, and no plastic strain yet."""
    if isinstance(Jp, (np.ndarray, list, tuple)) and _ndim(Jp) != 0:
        values = _check.array("Jp", Jp, (m,))
    else:
        values = np.full(m, _check.number("Jp", Jp, low=0, low_open=True))
    for row in np.flatnonzero(values <= 0)[:1]:
        raise ValueError(f"Jp[{row}] = {values[row]:g}: must be > 0")
    return np.stack([values, np.zeros(m)], axis=1)
