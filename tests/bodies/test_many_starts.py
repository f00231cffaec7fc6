"""Quaternion bodies from many random starts: none stops, norms obey their law, and what is kept is kept to order 4."""

import numpy as np

import holdfast as hf

MANY, LONG = 1000, 20.0
MOMENTS = np.array([1.0, 2.0, 3.0])


def random_turns(count, fastest=3.0, seed=0):
    random = np.random.default_rng(seed)
    p = random.normal(size=(count, 4))
    p /= np.linalg.norm(p, axis=1)[:, None]
    cases = {f"b_e{k}": p[:, k] for k in range(4)}
    return cases | {f"b_turn_{c}_dot": random.uniform(-fastest, fastest, count) for c in "xyz"}


def along(runs, names):
    return np.stack([np.asarray(runs[name]) for name in names], axis=-1)


def momentum(p, spin):
    """R(p/|p|) I ω, in the axes of the ground: v + 2 (w t + q × t)/|p|², t = q × v."""
    v = MOMENTS * spin
    t = np.cross(p[..., 1:], v)
    return v + 2 * (p[..., :1] * t + np.cross(p[..., 1:], t)) / (p**2).sum(axis=-1)[..., None]


def test_free_bodies_turn_from_any_start():
    """Of RK4, ln|p| changes by (|ω|h/2)⁵/120 a step at most, as the angle does; what is kept, by the order 4."""
    equations = hf.derive(hf.Problem(hf.System(bodies={"b": hf.Body(mass=2, inertia=tuple(MOMENTS))})))
    spreads = []
    for step in (0.04, 0.02):
        runs = hf.ensemble(
            equations, hf.RK4, step=step, duration=LONG, cases=random_turns(MANY), every=round(0.2 / step)
        )
        assert all(outcome.name == "completed" for outcome in runs.outcomes)
        p, spin = along(runs, [f"b_e{k}" for k in range(4)]), along(runs, [f"b_turn_{c}_dot" for c in "xyz"])
        drift = np.abs(np.log(np.linalg.norm(p, axis=-1))).max(axis=1)
        fastest = np.linalg.norm(spin, axis=-1).max(axis=1)
        assert (drift <= LONG / step * (fastest * step / 2) ** 5 / 120 + 1e-13).all()
        L = momentum(p, spin)
        turned = np.abs(L - L[:, :1]).max(axis=(1, 2)) / np.linalg.norm(L[:, 0], axis=1)
        energy = np.asarray(runs["energy"])
        spreads.append((drift.max(), turned.max(), (np.ptp(energy, axis=1) / energy[:, 0]).max()))
    assert spreads[1][1] < 1e-4
    assert all(fine < coarse / 12 for coarse, fine in zip(*spreads, strict=True))  # order 4 gives 16


def test_tops_and_jointed_bodies_turn_from_any_start():
    """A top under its weight with a second body hung from it by another ball: energy to the order of the scheme."""
    top = hf.Body(mass=1, center=(0, 0, 0.5), inertia=(0.05, 0.06, 0.1), points={"tip": (0, 0, 1)})
    hung = hf.Body(mass=0.5, center=(0.1, 0, -0.4), inertia=(0.02, 0.03, 0.02))
    system = hf.System(
        bodies={"top": top, "hung": hung},
        joints={"b": hf.Spherical("ground", "top"), "link": hf.Spherical("tip", "hung")},
        gravity=(0, 0, -9.81),
    )
    equations, spreads = hf.derive(hf.Problem(system)), []
    for step in (0.004, 0.002):
        runs = hf.ensemble(
            equations, hf.RK4, step=step, duration=10, cases=random_turns(200, 5.0), every=round(0.1 / step)
        )
        assert all(outcome.name == "completed" for outcome in runs.outcomes)
        energy = np.asarray(runs["energy"])
        spreads.append(np.ptp(energy, axis=1))
    assert np.median(spreads[1] / spreads[0]) < 1 / 12
    assert spreads[1].max() < 0.05


def test_the_length_of_a_quaternion_returns_by_its_own_law():
    """y' = −κ y (1 + 2y) of y = (|p|² − 1)/2, whatever the spin: y/(1 + 2y) falls as exp(−κt)."""
    system = hf.System(bodies={"b": hf.Body(mass=2, inertia=tuple(MOMENTS))}, norm_rate=2)
    cases = random_turns(20)
    lengths = np.linspace(0.7, 1.5, 20)
    cases |= {f"b_e{k}": lengths * cases[f"b_e{k}"] for k in range(4)}
    runs = hf.ensemble(hf.derive(hf.Problem(system)), hf.RK4, step=0.005, duration=2, cases=cases, every=40)
    p = along(runs, [f"b_e{k}" for k in range(4)])
    y = ((p**2).sum(axis=-1) - 1) / 2
    law = y / (1 + 2 * y)
    times = runs.all_times
    assert np.abs(law - law[:, :1] * np.exp(-2 * times)).max() < 1e-8
