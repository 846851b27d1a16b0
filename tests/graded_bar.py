"""A bar whose modulus grows along it, held at 0 and free at 1: its first mode, and how fast a run of it vibrates."""

import numpy as np
import pytest

BETA, C0 = 3.0, 10.0  # E = C0² (1 + BETA x) [Pa], density 1


def modulus(x):
    """E [Pa] at positions x (n, d) [m]."""
    return C0**2 * (1 + BETA * x[:, 0])


def first_mode():
    """The angular frequency ω [rad/s] of the first mode, and the mode as a function of x [m]; skips without SciPy.

    u = A J₀(z) + B Y₀(z), z = (2 ω/β c₀) √(1 + β x), u(0) = 0, u'(1) = 0.
    """
    special, optimize = pytest.importorskip("scipy.special"), pytest.importorskip("scipy.optimize")

    def end(w):
        z = 2 * w / (BETA * C0)
        s = z * np.sqrt(1 + BETA)
        return special.j0(z) * special.y1(s) - special.y0(z) * special.j1(s)

    w = optimize.brentq(end, 15, 25)  # 20.41; with the mean of E, 24.8

    def mode(x):
        z, z0 = 2 * w / (BETA * C0) * np.sqrt(1 + BETA * x), 2 * w / (BETA * C0)
        return special.y0(z0) * special.j0(z) - special.j0(z0) * special.y0(z)

    return w, mode


def velocity_of(mode):
    """The velocity (n, d) [m/s] of the mode at positions (n, d), 0.01 m/s at the end."""
    return lambda x: np.stack([1e-2 * mode(x[:, 0]) / mode(1.0), *(0 * x[:, 0],) * (x.shape[1] - 1)], axis=1)


def frequency(sim, w, near):
    """That of a bar that is let go in its first mode [rad/s], from the time when its elastic energy is largest.

    `near` chooses the records that a parabola is fitted to, from all times and the index of the largest.
    """
    sim.run(0.65 * np.pi / w)
    t, elastic = sim.history["time"], sim.history["elastic"]
    top = int(np.argmax(elastic))  # after a quarter of the period
    chosen = near(t, top)
    a, b, _ = np.polyfit(t[chosen] - t[top], elastic[chosen], 2)
    return np.pi / 2 / (t[top] - b / (2 * a))
