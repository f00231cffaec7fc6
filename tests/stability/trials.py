"""Random starts inside the hypotheses of a certificate, simulated: how many break what it says."""

import numpy as np

import holdfast as hf
from holdfast.engine.ensemble import run_ensemble
from holdfast.engine.kernel import compiled
from holdfast.equations.values import parameter_vector
from holdfast.schemes.by_name import scheme_named
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


def pendulum_rates(state, gravity=9.81, stiffness=25.0, damping=10.0):
    """(v, a) of a bob on a unit rod under the law y'' = −k y − b y', set up by hand: a = λ (x, z) − (0, g)."""
    place, speed = state[:2], state[2:]
    y, w = (place @ place - 1) / 2, place @ speed
    pull = (gravity * place[1] - speed @ speed - stiffness * y - damping * w) / (place @ place)
    return np.concatenate([speed, pull * place - np.array([0.0, gravity])])


def pendulum_deviations(scheme, state, step, steps):
    """|y| and |w| of the same pendulum at every row, stepped here: nothing of the product but the tableau."""
    rows = [np.array(state, dtype=float)]
    for _ in range(steps):
        now = rows[-1]
        if scheme.name == "symplectic-euler":
            speed = now[2:] + step * pendulum_rates(now)[2:]
            rows.append(np.concatenate([now[:2] + step * speed, speed]))
            continue
        stages = []
        for row in scheme.stages:
            stages.append(pendulum_rates(now + step * sum(float(a) * k for a, k in zip(row, stages, strict=False))))
        rows.append(now + step * sum(float(b) * k for b, k in zip(scheme.weights, stages, strict=True)))
    x, z, u, v = np.array(rows).T
    return np.abs([(x**2 + z**2 - 1) / 2, x * u + z * v]).T


def violations_of_checked(equations, scheme, step, *, steps, count, seed=0, share=1.0):
    """Runs of a unit pendulum from random starts on and off its rod: (checked, beyond `share` of their bounds).

    Each is certified by itself and run again here; the certificate is judged by what it did not see.
    """
    random, checked, broken = np.random.default_rng(seed), 0, 0
    for number in range(count):
        angle, off = random.uniform(-2, 2), 10 ** random.uniform(-8, -2) * (number % 3 != 0)
        place = (1 + off) * np.array([np.sin(angle), -np.cos(angle)])
        start = dict(zip(equations.state_names, [*place.tolist(), 0.0, 0.0], strict=True))
        run = hf.simulate(equations, scheme, step=step, duration=step * steps, start=start, start_policy="keep")
        (block,) = hf.certify(equations, scheme, trajectory=run, effort=1e-9).blocks
        if block.label is not hf.Label.checked:  # refused: it promises nothing
            continue
        checked += 1
        seen = pendulum_deviations(scheme, [start[name] for name in equations.state_names], step, steps)
        broken += bool((seen > share * np.array(block.bounds) * (1 + 1e-4) + 1e-15).any())
    return checked, broken
