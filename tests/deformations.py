"""Deformation gradients for the tests of laws: turned, decomposed, mapped back by the core."""

from __future__ import annotations

import numpy as np

import scenes
from mpm import _core


def rotations(m, d, rng):
    """m random rotations (m, d, d)."""
    q, r = np.linalg.qr(rng.normal(size=(m, d, d)))
    q = q * np.sign(np.einsum("nii->ni", r))[:, None, :]
    q[:, :, 0] *= np.sign(np.linalg.det(q))[:, None]
    return q


def turned(stretches, d, rng):
    """Random rotations of given diagonals, after each diagonal itself."""
    S = np.einsum("nd,de->nde", np.atleast_2d(np.asarray(stretches, dtype=float))[:, :d], np.eye(d))
    m = len(S)
    return np.concatenate([S, rotations(m, d, rng) @ S @ rotations(m, d, rng)])


def signed_svd(F):
    """U, s, V^T with proper rotations; where det F < 0 the last of the values is negative."""
    u, s, vt = np.linalg.svd(F)
    flip = np.sign(np.linalg.det(u)), np.sign(np.linalg.det(vt))
    u[:, :, -1] *= flip[0][:, None]
    vt[:, -1] *= flip[1][:, None]
    s[:, -1] *= flip[0] * flip[1]
    return u, s, vt


def return_map(material, F, Jp=None, isa=scenes.ISAS[-1]):
    """That of the core, in the precision of F: F_E (m, d, d) and Jp (m,), of laws that keep it and a plastic strain."""
    m, d = F.shape[:2]
    F = np.ascontiguousarray(F)
    history = np.zeros((m, 2), F.dtype)
    history[:, 0] = 1 if Jp is None else Jp
    after = _core.return_map(material.law, material.parameters, F, history, d, isa, F.dtype.name)
    elastic, kept = (np.frombuffer(part, F.dtype) for part in after)
    return elastic.reshape(m, d, d), np.ascontiguousarray(kept.reshape(m, 2)[:, 0])


def flow(material, F, history, isa=scenes.ISAS[-1], dt=1e-3):
    """Its return map by the core, in the precision of F: F (m, d, d) and the history (m, components)."""
    m, d = F.shape[:2]
    F, history = np.ascontiguousarray(F), np.ascontiguousarray(history, F.dtype)
    after = _core.return_map(material.law, material.parameters, F, history, d, isa, F.dtype.name, dt)
    elastic, kept = (np.frombuffer(part, F.dtype) for part in after)
    return elastic.reshape(m, d, d), kept.reshape(m, -1)


def answer(material, F, history, isa=scenes.ISAS[-1]):
    """tau (m, 3, 3), that out of plane included; energy, isolated and wave modulus; by the core."""
    m, d = F.shape[:2]
    F, history = np.ascontiguousarray(F), np.ascontiguousarray(history, F.dtype)
    parts = _core.evaluate(material.law, material.parameters, F, d, isa, F.dtype.name, history)
    tau, energy, zz, isolated, wave = (np.frombuffer(part, F.dtype) for part in parts)
    full = np.zeros((m, 3, 3))
    full[:, 2, 2] = zz
    full[:, :d, :d] = tau.reshape(m, d, d)
    return full, energy, isolated, wave
