"""Random expressions and random held mechanisms, small enough that a hundred of them take a second or two."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp
from hypothesis import assume
from hypothesis import strategies as st

import holdfast as hf

# ---------------------------------------------------------------- expressions

SYMBOLS = sp.symbols("a b c", real=True)
numbers = st.fractions(min_value=-3, max_value=3, max_denominator=8).map(
    lambda f: sp.Rational(f.numerator, f.denominator)
)
points = st.lists(
    st.fractions(min_value=Fraction(-2), max_value=Fraction(2), max_denominator=64), min_size=3, max_size=3
)

SMOOTH = {
    "sin": sp.sin,
    "cos": sp.cos,
    "exp": lambda u: sp.exp(u / 4),
    "log": lambda u: sp.log(1 + u**2),
    "sqrt": lambda u: sp.sqrt(sp.Rational(1, 2) + u**2),
    "tan": lambda u: sp.tan(u / (1 + u**2)),
    "asin": lambda u: sp.asin(u / (2 + u**2)),
    "acos": lambda u: sp.acos(u / (2 + u**2)),
    "atan": sp.atan,
    "sinh": lambda u: sp.sinh(u / 4),
    "cosh": lambda u: sp.cosh(u / 4),
    "tanh": sp.tanh,
    "square": lambda u: u**2,
    "cube": lambda u: u**3,
    "inverse": lambda u: 1 / (1 + u**2),
    "third": lambda u: (1 + u**2) ** sp.Rational(1, 3),
    "half": lambda u: (1 + u**2) ** sp.Rational(-3, 2),
    "sec": lambda u: sp.sec(u / (2 + u**2)),
}
SMOOTH_PAIRS = {
    "add": lambda u, v: u + v,
    "sub": lambda u, v: u - v,
    "mul": lambda u, v: u * v,
    "div": lambda u, v: u / (1 + v**2),
    "atan2": lambda u, v: sp.atan2(u, 1 + v**2),
    "pow": lambda u, v: (1 + u**2) ** (v / 4),
}
CORNERS = {"abs": sp.Abs, "sign": sp.sign}
CORNER_PAIRS = {
    "min": sp.Min,
    "max": sp.Max,
    "atan2_all": sp.atan2,
    "piecewise": lambda u, v: sp.Piecewise((u, u > v), (v**2, u <= v - 1), (sp.S.Half, True)),
}


def expressions(*, corners: bool = True, most: int = 8) -> st.SearchStrategy[sp.Expr]:
    """Expressions in a, b, c with every function the problem file knows, real and finite nearly everywhere."""
    unary = list((SMOOTH | (CORNERS if corners else {})).values())
    binary = list((SMOOTH_PAIRS | (CORNER_PAIRS if corners else {})).values())
    leaves = st.one_of(st.sampled_from(SYMBOLS), numbers, st.just(sp.pi))

    def grown(inner: st.SearchStrategy[sp.Expr]) -> st.SearchStrategy[sp.Expr]:
        one = st.builds(lambda f, u: f(u), st.sampled_from(unary), inner)
        two = st.builds(lambda f, u, v: f(u, v), st.sampled_from(binary), inner, inner)
        return st.one_of(one, two)

    finite = st.recursive(leaves, grown, max_leaves=most)
    return finite.filter(lambda e: not e.has(sp.nan, sp.zoo, sp.oo, -sp.oo, sp.I))


# ---------------------------------------------------------------- mechanisms

Q = hf.coordinates("q0 q1 q2")
t = hf.time
k0, k1 = hf.parameters("k0 k1")
small = st.integers(-4, 4).map(lambda k: sp.Rational(k, 4))
positive = st.integers(1, 8).map(lambda k: sp.Rational(k, 2))


@dataclass(frozen=True)
class Mechanism:
    """A problem in pieces, so that a test may put them together in another order, and a state to look at."""

    coordinates: tuple[Any, ...]
    energies: dict[str, Any]
    forces: dict[Any, Any]
    holonomic: dict[str, Any]
    nonholonomic: dict[str, Any]
    controls: dict[str, dict[Any, Any]]
    reactions: tuple[str, ...]
    law: Any
    state: dict[Any, float]
    time: float

    @property
    def problem(self) -> hf.Problem:
        system = hf.System(
            coordinates=self.coordinates, **self.energies, forces=self.forces, parameters={k0: 1.25, k1: 0.5}
        )
        program = hf.Program(
            holonomic=self.holonomic,
            nonholonomic=self.nonholonomic,
            controls=self.controls,
            reactions=self.reactions,
            law=self.law,
        )
        return hf.Problem(system, program, start=self.state, run=hf.Run(begin=self.time))

    def reordered(self, coordinates: Any, constraints: Any, controls: Any) -> "Mechanism":
        """The same mechanism with its parts stated in another order."""

        def sort(given: dict[Any, Any], order: Any) -> dict[Any, Any]:
            return {name: given[name] for name in order if name in given}

        return replace(
            self,
            coordinates=tuple(coordinates),
            holonomic=sort(self.holonomic, constraints),
            nonholonomic=sort(self.nonholonomic, constraints),
            reactions=tuple(name for name in constraints if name in self.reactions),
            controls=sort(self.controls, controls),
        )

    @property
    def constraints(self) -> tuple[str, ...]:
        return (*self.holonomic, *self.nonholonomic)


@st.composite
def energies(draw: Any, q: tuple[Any, ...]) -> dict[str, Any]:
    """T with a definite, state-dependent mass matrix and a part linear in the rates; P and D with time in them."""
    v = [c.rate for c in q]
    functions = [sp.S.Zero, sp.S.One, sp.cos(q[0]), q[-1], sp.sin(q[-1] - q[0]), t / 2]
    forms = [sum(draw(small) * draw(st.sampled_from(functions)) * u for u in v) for _ in range(2)]
    kinetic = sum(draw(positive) * u**2 for u in v) / 2 + sum(form**2 for form in forms) / 2
    kinetic += draw(small) * q[-1] * t * v[0]
    potential = k0 * q[0] ** 2 + draw(small) * sp.cos(q[-1]) + draw(small) * t * q[0] * q[-1]
    dissipation = k1 * sum(u**2 for u in v) / 2 + draw(small) * (1 + q[0] ** 2) * v[0] ** 2
    return {"kinetic": kinetic, "potential": potential, "dissipation": dissipation}


def holonomic_functions(q: tuple[Any, ...]) -> list[Any]:
    return [
        q[0] ** 2 + q[-1] ** 2 - 1 - sp.sin(t) / 4,
        q[0] - 2 * q[1] + t / 3,
        sp.sin(q[0]) + sp.cos(q[-1]) - sp.Rational(1, 2),
        q[0] * q[1] - sp.exp(-t) * q[-1],
        sp.sqrt(1 + q[0] ** 2) - k0 * q[1],
    ]


def nonholonomic_functions(q: tuple[Any, ...]) -> list[Any]:
    v = [c.rate for c in q]
    return [
        v[0] * sp.sin(q[-1]) - v[1] * sp.cos(q[-1]),
        v[0] ** 2 + v[1] ** 2 - v[-1] ** 2 / 2 + t * q[0] / 5 - 1,
        v[0] * v[-1] + q[1] ** 3,
        sp.sqrt(1 + sum(u**2 for u in v)) - k0 - t / 7,
        v[-1] - k1 * q[0],
    ]


def laws(holonomic: list[str], nonholonomic: list[str]) -> st.SearchStrategy[Any]:
    """Linear laws in several dialects, and a law that is not linear."""
    names = [*holonomic, *nonholonomic]
    linear = st.builds(
        lambda k, b: hf.SpringDamper(
            stiffness=dict(zip(holonomic, k, strict=False)), damping=dict(zip(names, b, strict=False))
        ),
        st.lists(positive, min_size=len(holonomic), max_size=len(holonomic)),
        st.lists(positive, min_size=len(names), max_size=len(names)),
    )
    varying = hf.SpringDamper(stiffness=1 + Q[0] ** 2, damping=2 + sp.cos(t) + k1)
    energies = hf.ExcessEnergies(inertia=1 + Q[0] ** 2, damping=2 + Q[-2].rate ** 2, stiffness=3)
    others = [varying, energies, hf.Quadratic(a0=2, a1=3, a2=sp.Rational(1, 2)), hf.Unstabilised()]
    return st.one_of(linear, st.sampled_from(others))


@st.composite
def mechanisms(draw: Any, *, held_by: str = "any") -> Mechanism:
    """A held mechanism in two or three coordinates; `held_by` is "reactions", "controls" or "any" (mixtures too)."""
    n = draw(st.integers(2, 3))
    q = tuple(Q[-n:]) if n == 3 else (Q[0], Q[1])
    kinds = draw(st.lists(st.sampled_from("hn"), min_size=1, max_size=n))
    hol, non = holonomic_functions(q), nonholonomic_functions(q)
    chosen = [draw(st.sampled_from(range(5))) for _ in kinds]
    assume(len(set(zip(kinds, chosen, strict=True))) == len(kinds))
    holonomic = {f"h{k}": hol[k] for kind, k in zip(kinds, chosen, strict=True) if kind == "h"}
    nonholonomic = {f"n{k}": non[k] for kind, k in zip(kinds, chosen, strict=True) if kind == "n"}
    names = [*holonomic, *nonholonomic]
    most = 0 if held_by == "reactions" else len(names)
    least = len(names) if held_by == "controls" else 0
    number = draw(st.integers(least, most))
    kept = tuple(names[number:]) if number else ()
    directions = {f"F{k}": {q[k]: 1 + q[0] ** 2 / 4, q[(k + 1) % n]: draw(small) + t / 8} for k in range(number)}
    values = st.integers(-24, 24).map(lambda k: (2 * k + 1) / 32)
    state = {c: draw(values) for c in q} | {c.rate: draw(values) for c in q}
    mechanism = Mechanism(
        coordinates=q,
        energies=draw(energies(q)),
        forces={q[0]: draw(small) * sp.sin(t) - q[1].rate * draw(small)},
        holonomic=holonomic,
        nonholonomic=nonholonomic,
        controls=directions,
        reactions=kept,
        law=draw(laws(list(holonomic), list(nonholonomic))),
        state=state,
        time=draw(st.sampled_from([0.0, 0.375, 1.5])),
    )
    return mechanism


def derived(mechanism: Mechanism) -> tuple[hf.Equations, Any]:
    """The equations and their values at the mechanism's state; examples that are nearly singular are passed over."""
    try:
        equations = hf.derive(mechanism.problem)
    except (hf.ConstraintsDependent, hf.NoAuthority, hf.SingularSystem):
        assume(False)
    values = equations.evaluate(mechanism.state, mechanism.time)
    assume(np.isfinite(values.mu).all() and values.condition < 1e4 and np.abs(values.mu).max() < 1e4)
    return equations, values
