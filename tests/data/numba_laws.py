"""A law of a user in Numba, for a test and a benchmark: neo-Hookean with its moduli, as in user_laws.c."""

import math
from collections.abc import Callable
from typing import Any

import numba

import mpm

FASTMATH = {"contract", "nsz"}  # which keep NaN


def in_dimension(d: int) -> Callable[..., None]:
    """With `d` a constant, the compiler unrolls the loops over components."""

    @numba.njit(fastmath=FASTMATH)
    def respond(count: int, parameters: Any, F: Any, tau: Any, energy: Any, moduli: Any) -> None:
        mu, lam = parameters[0], parameters[1]
        for p in range(count):
            if d == 2:
                J = F[p] * F[3 * count + p] - F[count + p] * F[2 * count + p]
            else:
                J = (
                    F[p] * (F[4 * count + p] * F[8 * count + p] - F[5 * count + p] * F[7 * count + p])
                    - F[count + p]
                    * (F[3 * count + p] * F[8 * count + p] - F[5 * count + p] * F[6 * count + p])
                    + F[2 * count + p]
                    * (F[3 * count + p] * F[7 * count + p] - F[4 * count + p] * F[6 * count + p])
                )
            energy[p] = math.log(J)
        for p in range(count):  # without a call, so that it becomes vectors
            log_J = energy[p]
            trace, square, c = 0.0, 0.0, 0
            for i in range(d * d):
                trace += F[i * count + p] * F[i * count + p]
            mean = trace / d
            for i in range(d):
                for j in range(i, d):
                    b = 0.0
                    for k in range(d):
                        b += F[(i * d + k) * count + p] * F[(j * d + k) * count + p]
                    if i == j:
                        square += (b - mean) * (b - mean)
                        tau[c * count + p] = mu * (b - 1) + lam * log_J
                    else:
                        square += 2 * b * b
                        tau[c * count + p] = mu * b
                    c += 1
            if d == 2:
                tau[3 * count + p] = lam * log_J
            energy[p] = mu * ((trace - d) / 2 - log_J) + lam / 2 * log_J * log_J
            largest = mean + math.sqrt(square * (d - 1) / d)
            wave = max(mu * (largest + 1) + lam * (1 - log_J), 0.0)
            moduli[p] = wave
            moduli[count + p] = max(wave + (d - 1) * lam, wave - lam)

    return respond


in_2d, in_3d = in_dimension(2), in_dimension(3)


@numba.cfunc(mpm.materials.UserLaw.NUMBA_EVALUATE)
def neo_hookean(count, dim, parameters, F, history, tau, energy, moduli, context):  # type: ignore[no-untyped-def]
    if dim == 2:
        in_2d(count, parameters, F, tau, energy, moduli)
    else:
        in_3d(count, parameters, F, tau, energy, moduli)
