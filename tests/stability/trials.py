"""Random starts inside the hypotheses of a certificate, simulated: how many break what it says."""

import numpy as np

from holdfast.engine.ensemble import run_ensemble
from holdfast.engine.kernel import compiled
from holdfast.equations.values import parameter_vector
from holdfast.schemes.by_name import scheme_named
from holdfast.stability.promise.norm_search import search_norm
from holdfast.stability.proof.block import blocks_of
from holdfast.stability.sampling import Deviator, box_samples

STEPS = 5
MOMENTS = 8


def simulated(equations, scheme, states, begin, step, steps, constants):
    """States (cases, rows, n) and deviations (cases, rows, all of y and w)."""
    kernel = compiled(equations.field, scheme)
    rows = run_ensemble(kernel, states, np.array([constants]), t0=begin, step=step, steps=steps)
    names = list(equations.observables)
    places = [names.index(name) for name in equations.deviation_names]
    return rows.times, rows.states, rows.observables, rows.observables[:, :, places]


def violations_of_proved(certificate, block, equations, *, count, seed=0):
    """Starts in Omega, and those after which ‖ψ⁺‖ exceeded γ‖ψ‖ + δ at a step that began in Omega."""
    proof, step = block.proof, certificate.step
    region = {name: (low, high) for name, low, high in proof.region}
    limits = {name: (low, high) for name, low, high in proof.limits}
    constants = parameter_vector(equations, certificate.parameters)
    own = next(b for b in blocks_of(equations, certificate.parameters) if b.names == block.names)
    factor, mover = np.array(proof.factor), Deviator(equations, certificate.parameters)
    random = np.random.default_rng(seed)
    states_only = {name: bounds for name, bounds in region.items() if name != "t"}
    inside, broken = 0, 0
    for moment in range(MOMENTS):
        begin = random.uniform(*region["t"])
        size = count // MOMENTS // 2
        times, states = box_samples(equations, states_only, size, seed + moment, certificate.parameters)
        times[:] = begin
        wanted = mover.deviations(times, states) * 0
        seen = {n: v for other in certificate.blocks for n, v in zip(other.names, other.observed, strict=True)}
        for i, name in enumerate(equations.deviation_names):
            if name in limits:
                low, high = limits[name]
                reach = min(high, -low, seen.get(name, high))  # further off, few states would lie in the region
                wanted[:, i] = random.uniform(-reach, reach, size)
        unit = random.normal(size=(size, len(own.places)))
        unit *= (random.uniform(0, 1, size) ** 0.3 / np.linalg.norm(unit, axis=1))[:, None]
        wanted[:, own.places] = 0.999 * proof.tube * np.linalg.solve(factor.T, unit.T).T
        moved, _ = mover.moved(times, states, wanted)
        states = np.vstack([moved, states])  # for a program that leaves no freedom, the region itself says where
        states = states[np.isfinite(states).all(axis=1)]
        moments, rows, seen, psi = simulated(
            equations, scheme_named(certificate.scheme), states, begin, step, STEPS, constants
        )
        norms = np.linalg.norm(psi[:, :, own.places] @ factor, axis=2)
        omega = norms <= proof.tube
        for k, name in enumerate(equations.state_names):
            omega &= (rows[:, :, k] >= region[name][0]) & (rows[:, :, k] <= region[name][1])
        observables = list(equations.observables)
        for name, (low, high) in limits.items():
            values = seen[:, :, observables.index(name)]
            omega &= (values >= low) & (values <= high)
        omega &= (moments >= region["t"][0]) & (moments <= region["t"][1])
        inside += int(omega[:, 0].sum())
        over = norms[:, 1:] > block.gamma * norms[:, :-1] + block.defect
        broken += int((over & omega[:, :-1]).any(axis=1).sum())
    return inside, broken


def violations_of_checked(equations, scheme, step, *, steps, count, seed=0):
    """Starts near the stated one, and runs whose deviation exceeded the epsilon that their own check gives."""
    random = np.random.default_rng(seed)
    constants = parameter_vector(equations, {})
    base = np.array(equations.evaluate().state, dtype=float)
    states = base + 1e-2 * random.normal(size=(count, len(base)))
    _, _, _, psi = simulated(equations, scheme, states, 0.0, step, steps, constants)
    (block,) = blocks_of(equations, {})
    psi = psi[:, :, block.places]
    matrix = scheme.propagator(block.matrix, step)
    defects = psi[:, 1:] - psi[:, :-1] @ matrix.T
    norm = search_norm(matrix[None], defects.reshape(-1, len(matrix)))
    sizes, norms = np.linalg.norm(defects @ norm.factor, axis=2), np.linalg.norm(psi @ norm.factor, axis=2)
    epsilon = np.maximum(norms[:, 0], sizes.max(axis=1) / (1 - norm.gamma))
    return count, int((norms.max(axis=1) > epsilon * (1 + 1e-12)).sum())
