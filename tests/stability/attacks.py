"""Attacks on proved bounds with dynamics of an independent derivation.

A mechanism is stated once, in SymPy, and derived here by Lagrange's equations of the second kind with multipliers, in
80-bit arithmetic and by plain Gaussian elimination: nothing of the product's graph, solvers or balls is used. A proved
block is attacked at random states of its region and tube: one native step must not move the deviations by more than
the certificate says, and must be the step of the independent equations up to rounding.
"""

from dataclasses import dataclass

import numpy as np
import sympy as sp

import holdfast as hf
from holdfast.engine.ensemble import run_ensemble
from holdfast.engine.kernel import compiled
from holdfast.equations.values import parameter_vector

Long = np.longdouble
t = hf.time


@dataclass(frozen=True)
class Mechanism:
    """A statement with everything an independent derivation needs."""

    name: str
    coordinates: tuple
    kinetic: sp.Expr
    potential: sp.Expr
    parameters: dict
    holonomic: dict
    controls: dict
    stiffness: dict
    damping: dict
    start: dict
    nonholonomic: dict = None
    forces: dict = None

    def problem(self):
        law = hf.SpringDamper(stiffness=self.stiffness, damping=self.damping)
        program = hf.Program(
            holonomic=self.holonomic, nonholonomic=self.nonholonomic or {}, controls=self.controls, law=law
        )
        system = hf.System(
            coordinates=self.coordinates, kinetic=self.kinetic, potential=self.potential, forces=self.forces or {},
            parameters=self.parameters,
        )  # fmt: skip
        return hf.Problem(system, program, start=self.start, title=self.name)


class Independent:
    """The equations of a mechanism, derived and evaluated without the product."""

    def __init__(self, mechanism):
        q = list(mechanism.coordinates)
        v = [c.rate for c in q]
        self.n, self.m = len(q), len(mechanism.holonomic)
        free = mechanism.nonholonomic or {}
        rate = lambda f: f.diff(t) + sum(f.diff(a) * b for a, b in zip(q, v, strict=True))  # noqa: E731
        y = [sp.sympify(f) for f in mechanism.holonomic.values()]
        w = [rate(f) for f in y] + [sp.sympify(f) for f in free.values()]
        names = [*mechanism.holonomic, *free]
        momenta = [mechanism.kinetic.diff(b) for b in v]
        mass = [[p.diff(b) for b in v] for p in momenta]
        forces = mechanism.forces or {}
        bias = [
            mechanism.kinetic.diff(a) - sp.sympify(mechanism.potential).diff(a) - rate(p) + forces.get(a, 0)
            for a, p in zip(q, momenta, strict=True)
        ]
        slopes = [[f.diff(b) for b in v] for f in w]
        drift = [rate(f) for f in w]
        if mechanism.controls:
            holders = [[sp.sympify(d.get(a, 0)) for d in mechanism.controls.values()] for a in q]
        else:
            holders = [list(column) for column in zip(*slopes, strict=True)]
        self.r = len(w)
        self.stiffness = [mechanism.stiffness.get(name, 0) for name in names]
        self.damping = [mechanism.damping.get(name, 0) for name in names]
        given = [*q, *v, t, *mechanism.parameters]
        self.constants = [Long(x) for x in mechanism.parameters.values()]
        flat = [*y, *w, *bias, *drift, *(e for row in (*mass, *slopes, *holders) for e in row)]
        self._values = sp.lambdify(given, [sp.sympify(e) for e in flat], modules="numpy")

    def parts(self, moment, states):
        n, m, r = self.n, self.m, self.r
        columns = [states[:, k] for k in range(2 * n)]
        raw = self._values(*columns, moment, *self.constants)
        table = np.stack([np.broadcast_to(np.asarray(e, dtype=Long), len(states)) for e in raw], axis=1)
        cuts = np.cumsum([m, r, n, r, n * n, r * n])
        y, w, bias, drift, mass, slopes, holders = np.split(table, cuts, axis=1)
        return y, w, bias, drift, mass.reshape(-1, n, n), slopes.reshape(-1, r, n), holders.reshape(-1, n, r)

    def deviations(self, moment, states):
        y, w = self.parts(moment, states)[:2]
        return np.concatenate([y, w], axis=1)

    def rates(self, moment, states):
        """(v, a): M a − E μ = h, J a = −k y − b w − γ."""
        n, r = self.n, self.r
        y, w, bias, drift, mass, slopes, holders = self.parts(moment, states)
        deviating = np.zeros_like(w)
        deviating[:, : self.m] = y
        wanted = -np.array(self.stiffness, Long) * deviating - np.array(self.damping, Long) * w - drift
        matrix = np.zeros((len(states), n + r, n + r), Long)
        matrix[:, :n, :n], matrix[:, :n, n:], matrix[:, n:, :n] = mass, -holders, slopes
        return np.concatenate([states[:, n:], solved(matrix, np.concatenate([bias, wanted], axis=1))[:, :n]], axis=1)

    def step(self, scheme, moment, states, step):
        stages, h = [], Long(step)
        for row in scheme.stages:
            place = states + h * sum((fraction(a) * k for a, k in zip(row, stages, strict=False)), 0 * states)
            stages.append(self.rates(moment + h * sum((fraction(a) for a in row), Long(0)), place))
        return states + h * sum(fraction(b) * k for b, k in zip(scheme.weights, stages, strict=True))

    def law(self):
        """H of (y, w)."""
        m, r = self.m, self.r
        matrix = np.zeros((m + r, m + r), Long)
        matrix[:m, m : 2 * m] = np.eye(m)
        for i in range(r):
            if i < m:
                matrix[m + i, i] = -self.stiffness[i]
            matrix[m + i, m + i] = -self.damping[i]
        return matrix


def fraction(number):
    return Long(number.numerator) / Long(number.denominator)


def solved(matrix, right):
    """Gaussian elimination with row pivots, many systems at once, in 80 bits."""
    a, b = matrix.copy(), right.copy()
    count, size = b.shape
    scale = np.abs(a).max(axis=2)
    a, b = a / scale[:, :, None], b / scale
    each = np.arange(count)
    for k in range(size):
        pivot = k + np.abs(a[:, k:, k]).argmax(axis=1)
        a[each, k], a[each, pivot] = a[each, pivot].copy(), a[each, k].copy()
        b[each, k], b[each, pivot] = b[each, pivot].copy(), b[each, k].copy()
        for i in range(k + 1, size):
            factor = a[:, i, k] / a[:, k, k]
            a[:, i] -= factor[:, None] * a[:, k]
            b[:, i] -= factor * b[:, k]
    x = np.zeros_like(b)
    for k in reversed(range(size)):
        x[:, k] = (b[:, k] - (a[:, k, k + 1 :] * x[:, k + 1 :]).sum(axis=1)) / a[:, k, k]
    return x


def propagated(scheme, law, step, psi):
    """R(step·H) ψ in 80 bits."""
    total, power = np.zeros_like(psi), psi
    for factor in scheme.stability.numerator:
        total = total + fraction(factor) * power
        power = Long(step) * (power @ law.T)
    return total


@dataclass(frozen=True)
class Attack:
    """What was tried on one certificate, and the worst that was found."""

    proved: int
    tries: int
    worst: float  # measured defect as a part of the proved one
    apart: float  # native step from the independent one, as a part of the largest state


def attacked(mechanism, scheme, step, duration, *, count, effort, shake):
    """Certify a mechanism and attack every proved block with `count` native steps."""
    equations = hf.derive(mechanism.problem())
    certificate = hf.certify(equations, scheme, step=step, duration=duration, effort=effort)
    independent, found = Independent(mechanism), []
    names = [f"y_{c}" for c in mechanism.holonomic] + [f"w_{c}" for c in equations.constraints]
    for block in certificate.blocks:
        if block.label is hf.Label.proved and block.proof is not None:
            found.append(_attack(equations, independent, certificate, block, names, scheme, step, count, shake))
    return certificate, found


def _attack(equations, independent, certificate, block, names, scheme, step, count, shake):
    n, proof = independent.n, block.proof
    places = [names.index(name) for name in block.names]
    factor = np.array(proof.factor, Long)
    region = {name: (low, high) for name, low, high in proof.region}
    moments, states = _states(equations, independent, certificate, region, proof, names, places, count, shake)
    if not len(states):
        return Attack(1, 0, 0.0, 0.0)
    kernel = compiled(equations.field, scheme)
    constants = np.array(parameter_vector(equations, {}))
    after = np.empty_like(states)
    for moment in np.unique(moments):
        some = moments == moment
        rows = run_ensemble(kernel, states[some], constants, t0=float(moment), step=step, steps=1, observe=False)
        after[some] = rows.states[:, -1]
    before = independent.deviations(moments.astype(Long), states.astype(Long))
    later = independent.deviations(moments.astype(Long) + Long(step), after.astype(Long))
    defect = later - propagated(scheme, independent.law(), step, before)
    sizes = np.sqrt(((defect[:, places] @ factor) ** 2).sum(axis=1))
    exact = independent.step(scheme, moments.astype(Long), states.astype(Long), step)
    scale = np.abs(states).max(axis=0) + np.abs(after - states).max(axis=0)
    apart = np.abs(after - exact)[:, : 2 * n].max(axis=0) / np.where(scale[: 2 * n] > 0, scale[: 2 * n], 1)
    return Attack(1, len(states), float((sizes / Long(block.defect)).max()), float(apart.max()))


def _states(equations, independent, certificate, region, proof, names, places, count, shake):
    """Random states of the region and tube: rows of the run, shaken, with random deviations within the limits."""
    run, n, factor = certificate.trajectory, independent.n, np.array(proof.factor, Long)
    table = run.y.T
    low = np.array([region[name][0] for name in run.state_names])
    high = np.array([region[name][1] for name in run.state_names])
    rows = shake.integers(0, len(run.times), count)
    moments = run.times[rows]
    chosen = np.unique(moments)[shake.permutation(len(np.unique(moments)))[:40]]  # few times: one ensemble each
    moments = shake.choice(chosen, count)
    nearest = np.searchsorted(run.times, moments)
    share = 10.0 ** shake.uniform(-6, 0, (count, 1))
    states = table[nearest] * (1 - share) + share * shake.uniform(low, high, (count, len(low)))
    widths = np.linalg.inv(factor.astype(float).T)
    wanted = shake.normal(size=(count, len(places)))
    wanted *= proof.tube * shake.uniform(0, 1, (count, 1)) / np.linalg.norm(wanted, axis=1, keepdims=True)
    limits = {name: (least, most) for name, least, most in proof.limits}
    target = np.zeros((count, len(names)))
    target[:, places] = wanted @ widths.T
    for k, name in enumerate(names):
        if name in limits:
            target[:, k] = shake.uniform(*limits[name], count)
    for _ in range(12):  # Newton towards the wanted deviations
        psi = independent.deviations(moments.astype(Long), states.astype(Long)).astype(float)
        miss = target - psi
        if not np.abs(miss).max() > 0:
            break
        slopes = _slopes(independent, moments, states)
        states[:, : 2 * n] += np.einsum("kij,kj->ki", np.linalg.pinv(slopes), miss)
    psi = independent.deviations(moments.astype(Long), states.astype(Long))
    good = np.sqrt(((psi[:, places] @ factor) ** 2).sum(axis=1)) <= proof.tube
    good &= ((states >= low) & (states <= high)).all(axis=1)
    good &= (moments >= region["t"][0]) & (moments <= region["t"][1] - certificate.step)
    kernel = compiled(equations.field, hf.Euler)
    constants = parameter_vector(equations, {})
    observed = kernel.observe(moments, np.ascontiguousarray(states), constants)
    for name, least, most in proof.limits:
        values = observed[:, list(equations.observables).index(name)]
        good &= (values >= least) & (values <= most)
    return moments[good], np.ascontiguousarray(states[good])


def _slopes(independent, moments, states):
    """∂ψ/∂(q, v) by central differences: only a way to states, nothing is judged by it."""
    count, width = states.shape
    result = np.zeros((count, independent.m + independent.r, 2 * independent.n))
    for k in range(2 * independent.n):
        shift = np.zeros(width)
        shift[k] = 1e-6 * max(np.abs(states[:, k]).max(), 1e-300)
        up = independent.deviations(moments.astype(Long), (states + shift).astype(Long))
        down = independent.deviations(moments.astype(Long), (states - shift).astype(Long))
        result[:, :, k] = ((up - down) / (2 * Long(shift[k]))).astype(float)
    return result


# ── mechanisms of any size ────────────────────────────────────────────────────────────────────────

x, y, z, th = hf.coordinates("x y z th")
m, L, g, u, c = hf.parameters("m L g u c")


def size(shake, decades):
    return float(f"{10.0 ** shake.uniform(-decades, decades):.5g}")


def pendulum(shake, decades):
    length = size(shake, decades)
    return Mechanism(
        "pendulum", (x, y), m * (x.rate**2 + y.rate**2) / 2, m * g * y,
        {m: size(shake, decades), L: length, g: 9.81 * length}, {"rod": (x**2 + y**2 - L**2) / 2}, {},
        {"rod": 25}, {"rod": 10}, {x: length, y.rate: 0},
    )  # fmt: skip


def prescribed(shake, decades):
    """Two prescribed combinations, held by controls of any unit."""
    return Mechanism(
        "prescribed", (x, y, z), m * (x.rate**2 + y.rate**2 + z.rate**2) / 2, 0,
        {m: size(shake, decades), u: size(shake, 12), c: size(shake, decades)},
        {"a": x + y - c * sp.sin(t), "b": x + 2 * y}, {"F": {x: 1}, "G": {y: u}},
        {"a": 25, "b": 16}, {"a": 10, "b": 8}, {},
    )  # fmt: skip


def circle_by_force(shake, decades):
    """A circle kept by a force along the radius, of any unit."""
    length = size(shake, decades)
    return Mechanism(
        "circle by force", (x, y), m * (x.rate**2 + y.rate**2) / 2, 0,
        {m: size(shake, decades), L: length, u: size(shake, 9)}, {"circle": (x**2 + y**2) / L**2 - 1},
        {"F": {x: u * x, y: u * y}}, {"circle": 20}, {"circle": 9}, {x: length, y.rate: length},
    )  # fmt: skip


def massless_joint(shake, decades):
    return Mechanism(
        "massless joint", (x, y), m * x.rate**2 / 2, c * y**2 / 2, dict.fromkeys((m, c), size(shake, decades)),
        {"joint": y - x}, {}, {"joint": 25}, {"joint": 10}, {x: 1, y: 1},
    )  # fmt: skip


def skate(shake, decades):
    speed = size(shake, decades)
    return Mechanism(
        "skate", (x, y, th), m * (x.rate**2 + y.rate**2 + c * th.rate**2) / 2, 0,
        {m: size(shake, decades), c: speed**2}, {}, {}, {}, {"edge": 10}, {x.rate: speed, th.rate: 1},
        nonholonomic={"edge": x.rate * sp.sin(th) - y.rate * sp.cos(th)},
    )  # fmt: skip


def lever(shake, decades):
    """An angle held on a path by a motor against a weight."""
    return Mechanism(
        "lever", (th,), m * L**2 * th.rate**2 / 2, m * g * L * sp.sin(th),
        {m: size(shake, decades), L: size(shake, decades), g: 9.81, u: size(shake, 9)},
        {"path": sp.sin(th) - sp.Rational(1, 4) * sp.cos(t)}, {"M": {th: u}},
        {"path": 30}, {"path": 11}, {th: 0.25268},
    )  # fmt: skip


ALL = (pendulum, prescribed, circle_by_force, massless_joint, skate, lever)
