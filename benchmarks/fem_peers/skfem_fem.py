"""scikit-fem: the residual assembled by a form in NumPy, in double precision."""

import numpy as np
import skfem

from . import problem


@skfem.LinearForm
def residual(v, w):
    """P : grad v."""
    F = np.moveaxis(w["u"].grad, (0, 1), (2, 3)) + np.eye(3)
    U, s, Vt = np.linalg.svd(F)
    R = U @ Vt
    P = 2 * problem.MU * (F - R) + (problem.LAM * (s.sum(axis=-1) - 3))[..., None, None] * R
    return np.einsum("ij...,ij...", np.moveaxis(P, (2, 3), (0, 1)), v.grad)


def prepare(mesh):
    """See `problem.run`."""
    rest, cells = mesh["x"].astype(np.float64), mesh["cells"]
    made = skfem.MeshTet(rest.T, cells.T.astype(np.int64), sort_t=False)
    basis = skfem.Basis(made, skfem.ElementVector(skfem.ElementTetP1()), intorder=0)
    rows = basis.nodal_dofs.T  # (n, 3)
    mass = mesh["mass"].astype(np.float64)[:, None]

    def advance(steps):
        x, v = rest.copy(), mesh["v"].astype(np.float64)
        for _ in range(steps):
            u = np.zeros(basis.N)
            u[rows] = x - rest
            v = v - problem.DT * residual.assemble(basis, u=basis.interpolate(u))[rows] / mass
            x = x + problem.DT * v
        return v

    return advance


if __name__ == "__main__":
    problem.run("scikit-fem, float64", skfem.__version__, prepare)
