"""PySPH with equations of the same form; it computes in double precision and compiles them with Cython. One thread."""

import numpy as np
from pysph.base.kernels import CubicSpline
from pysph.base.nnps import LinkedListNNPS
from pysph.base.utils import get_particle_array
from pysph.sph.acceleration_eval import AccelerationEval
from pysph.sph.equation import Equation, Group
from pysph.sph.integrator import EulerIntegrator
from pysph.sph.integrator_step import IntegratorStep
from pysph.sph.sph_compiler import SPHCompiler

from . import problem as common


class Density(Equation):
    def initialize(self, d_idx, d_rho):
        d_rho[d_idx] = 0.0

    def loop(self, d_idx, d_rho, s_idx, s_m, WIJ):
        d_rho[d_idx] += s_m[s_idx] * WIJ


class Pressure(Equation):
    def __init__(self, dest, sources, k, rest):
        self.k = k
        self.rest = rest
        super().__init__(dest, sources)

    def initialize(self, d_idx, d_rho, d_push):
        ratio = max(d_rho[d_idx] / self.rest, 1.0)
        r3 = ratio * ratio * ratio
        d_push[d_idx] = self.k * (r3 * r3 * ratio - 1.0) / (d_rho[d_idx] * d_rho[d_idx])


class Forces(Equation):
    def initialize(self, d_idx, d_au, d_av, d_aw):
        d_au[d_idx] = 0.0
        d_av[d_idx] = 0.0
        d_aw[d_idx] = 0.0

    def loop(self, d_idx, d_push, d_au, d_av, d_aw, s_idx, s_push, s_m, DWIJ):
        factor = s_m[s_idx] * (d_push[d_idx] + s_push[s_idx])
        d_au[d_idx] -= factor * DWIJ[0]
        d_av[d_idx] -= factor * DWIJ[1]
        d_aw[d_idx] -= factor * DWIJ[2]


class SymplecticEuler(IntegratorStep):
    def stage1(self, d_idx, d_u, d_v, d_w, d_au, d_av, d_aw, d_x, d_y, d_z, dt):
        d_u[d_idx] += dt * d_au[d_idx]
        d_v[d_idx] += dt * d_av[d_idx]
        d_w[d_idx] += dt * d_aw[d_idx]
        d_x[d_idx] += dt * d_u[d_idx]
        d_y[d_idx] += dt * d_v[d_idx]
        d_z[d_idx] += dt * d_w[d_idx]


class Compiled:
    """Particles and equations of a problem."""

    def __init__(self, problem: common.Problem, n: int) -> None:
        self.problem = problem
        zeros = np.zeros(n)
        self.fluid = get_particle_array(
            name="fluid",
            x=zeros,
            additional_props=["au", "av", "aw", "push"],
            m=np.full(n, problem.mass),
            h=np.full(n, problem.h),
        )
        equations = [
            Group([Density("fluid", ["fluid"])]),
            Group([Pressure("fluid", None, problem.stiffness, common.REST)]),
            Group([Forces("fluid", ["fluid"])]),
        ]
        kernel = CubicSpline(dim=3)
        evaluation = AccelerationEval([self.fluid], equations, kernel)
        self.integrator = EulerIntegrator(fluid=SymplecticEuler())
        SPHCompiler(evaluation, self.integrator).compile()
        self.neighbours = LinkedListNNPS(dim=3, particles=[self.fluid], radius_scale=kernel.radius_scale)
        evaluation.set_nnps(self.neighbours)
        self.integrator.set_nnps(self.neighbours)

    def begin(self, x, v):
        for names, array in (("xyz", x), ("uvw", v)):
            for axis, name in enumerate(names):
                self.fluid.get(name)[:] = array[:, axis]
        self.neighbours.update()

    def step(self, n):
        dt = self.problem.dt
        for k in range(n):
            self.neighbours.update()
            self.integrator.step(k * dt, dt)

    def state(self):
        return tuple(np.stack([self.fluid.get(name) for name in names], axis=1) for names in ("xyz", "uvw"))


if __name__ == "__main__":
    common.run(Compiled, "PySPH")
