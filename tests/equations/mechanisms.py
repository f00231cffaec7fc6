"""A few mechanisms that several tests look at."""

from functools import cache
from pathlib import Path

import sympy as sp

import holdfast as hf

EXAMPLES = Path(hf.__file__).parent / "examples"


@cache
def example(name: str) -> hf.Equations:
    """The equations of a shipped problem."""
    return hf.derive(hf.load(EXAMPLES / f"{name}.toml"))


@cache
def double_pendulum() -> hf.Equations:
    """Two point masses in angles from the vertical."""
    a, b = hf.coordinates("a b")
    m1, m2, l1, l2, g = hf.parameters("m1 m2 l1 l2 g")
    upper = sp.Matrix([l1 * sp.sin(a), -l1 * sp.cos(a)])
    lower = upper + sp.Matrix([l2 * sp.sin(b), -l2 * sp.cos(b)])
    one, two = hf.rate(upper), hf.rate(lower)
    system = hf.System(
        coordinates=(a, b),
        kinetic=m1 * one.dot(one) / 2 + m2 * two.dot(two) / 2,
        potential=m1 * g * upper[1] + m2 * g * lower[1],
        parameters={m1: 1, m2: 2, l1: 1, l2: 0.5, g: 9.81},
    )
    return hf.derive(hf.Problem(system, start={a: 1, b: 0.5}, title="Double pendulum"))
