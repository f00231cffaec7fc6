"""Wide parameters: a region that bounds them is proved, and verified, for every value of the range."""

import json
from dataclasses import replace

import mpmath
import numpy as np
import pytest

import holdfast as hf
from holdfast.common.frozen import Frozen
from holdfast.stability.verifier.reading.file import digest

x, y = hf.coordinates("x y")
m, g, L = hf.parameters("m g L")
ASK = {"step": 0.01, "duration": 0.3, "effort": 1}


def pendulum(mass=1.5, **more):
    kinetic = m * (x.rate**2 + y.rate**2) / 2
    system = hf.System(coordinates=(x, y), kinetic=kinetic, potential=m * g * y, parameters={m: mass, g: 9.81, L: 1})
    law = more.pop("law", hf.SpringDamper(stiffness=25, damping=10))
    program = hf.Program(holonomic={"rod": (x**2 + y**2 - L**2) / 2}, law=law)
    return hf.Problem(system, program, start={x: float(np.sin(0.2)), y: -float(np.cos(0.2))}, **more)


@pytest.fixture(scope="module")
def made():
    return hf.certify(hf.derive(pendulum()), hf.RK4, region={"g": (9.5, 10.1)}, **ASK)


def test_a_range_of_a_parameter_is_proved_and_verified(made):
    block = made["rod"]
    assert block.label is hf.Label.proved, block.reason
    assert made.widened == ("g",)
    assert "g in [9.5, 10.1]" in made.summary()
    assert hf.verify(made), hf.verify(made).findings


def test_it_is_about_the_problem_with_any_value_of_the_range(made):
    assert hf.verify(made, pendulum())
    outside = hf.verify(made, replace_g(pendulum(), 12))
    assert not outside
    assert "g = 12 is not in the range" in outside.findings[0]


def replace_g(problem, value):
    values = Frozen({**problem.system.parameters, "g": value})
    return replace(problem, system=replace(problem.system, parameters=values))


def test_a_file_states_it(tmp_path):
    problem = replace(pendulum(), certificate=Frozen({"region": {"g": [9.8, 9.82]}, "effort": 1}))
    again = hf.loads(hf.dumps(problem))
    certificate = hf.certify(hf.derive(again), hf.RK4, step=0.01, duration=0.3)
    assert certificate.label is hf.Label.proved
    certificate.save(tmp_path / "c.json")
    assert hf.Certificate.load(tmp_path / "c.json").widened == ("g",)
    assert hf.verify(tmp_path / "c.json", again)


def test_no_run_with_another_value_breaks_the_bounds(made):
    block = made["rod"]
    region = {name: (low, high) for name, low, high in block.proof.region}
    for value in (9.5, 9.77, 10.1):
        run = hf.simulate(hf.derive(pendulum()), hf.RK4, step=0.01, duration=0.3, parameters={g: value})
        inside = np.ones(len(run.times), dtype=bool)
        for k, name in enumerate(run.state_names):
            inside &= (run.y[k] >= region[name][0]) & (run.y[k] <= region[name][1])
        last = int(np.argmin(inside)) if not inside.all() else len(inside)
        for name, bound in zip(block.names, block.bounds, strict=True):
            assert np.abs(run[name][:last]).max() <= bound


def test_random_steps_with_random_values_add_no_more_than_is_proved(made):
    """RK4 by hand in 40 digits; ψ⁺ − Rψ in the norm of the proof."""
    block, shake = made["rod"], np.random.default_rng(8)
    proof, region = block.proof, {name: (low, high) for name, low, high in block.proof.region}
    law, factor = np.array(block.matrix), np.array(proof.factor)
    worst = 0.0
    with mpmath.workdps(40):
        h = mpmath.mpf(0.01)
        H = mpmath.matrix(law.tolist()) * h
        R = sum((H**k / mpmath.factorial(k) for k in range(1, 5)), mpmath.eye(2))
        for _ in range(200):
            a, u, gravity = (shake.uniform(*region[name]) for name in ("x", "x_dot", "g"))
            z = [mpmath.mpf(v) for v in (a, -np.sqrt(1 - a * a), u, a * u / np.sqrt(1 - a * a))]
            ends = [region[k] for k in ("x", "y", "x_dot", "y_dot")]
            if not all(low <= v <= high for v, (low, high) in zip(z, ends, strict=True)):
                continue
            before, after = deviations(z), deviations(stepped(z, h, mpmath.mpf(gravity)))
            rest = mpmath.matrix(after) - R * mpmath.matrix(before)
            worst = max(worst, float(mpmath.norm(mpmath.matrix(factor.T.tolist()) * rest)) / block.defect)
    assert 0.05 < worst <= 1


def deviations(z):
    return [(z[0] ** 2 + z[1] ** 2 - 1) / 2, z[0] * z[2] + z[1] * z[3]]


def stepped(z, h, gravity):
    def rates(z):
        deviation, rate = deviations(z)
        push = (-25 * deviation - 10 * rate - z[2] ** 2 - z[3] ** 2 + gravity * z[1]) / (z[0] ** 2 + z[1] ** 2)
        return [z[2], z[3], push * z[0], push * z[1] - gravity]

    def moved(k, share):
        return [a + share * b for a, b in zip(z, k, strict=True)]

    k1 = rates(z)
    k2 = rates(moved(k1, h / 2))
    k3 = rates(moved(k2, h / 2))
    k4 = rates(moved(k3, h))
    return [a + h * (p + 2 * q + 2 * r + s) / 6 for a, p, q, r, s in zip(z, k1, k2, k3, k4, strict=True)]


def test_a_gain_with_a_range_makes_the_law_vary():
    """k of the law in [20, 30]: H is not one matrix any more."""
    k = hf.parameters("k")
    kinetic = (x.rate**2 + y.rate**2) / 2
    system = hf.System(coordinates=(x, y), kinetic=kinetic, potential=9.81 * y, parameters={k: 25})
    program = hf.Program(holonomic={"rod": (x**2 + y**2 - 1) / 2}, law=hf.SpringDamper(stiffness=k, damping=10))
    start = {x: float(np.sin(0.2)), y: -float(np.cos(0.2))}
    certificate = hf.certify(hf.derive(hf.Problem(system, program, start=start)), hf.RK4, region={"k": (20, 30)}, **ASK)
    assert certificate["rod"].label is hf.Label.proved, certificate["rod"].reason
    assert hf.verify(certificate), hf.verify(certificate).findings


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.update(widened=["x"]), "'x' is said to be a parameter"),
        (lambda d: d.update(widened=["nothing"]), "'nothing' is said to be a parameter"),
        (lambda d: d.update(widened="g"), "widened is no list"),
    ],
)
def test_what_moves_is_not_called_a_parameter(made, tmp_path, change, words):
    data = made.to_dict()
    change(data)
    data["digest"] = digest(data)
    (tmp_path / "c.json").write_text(json.dumps(data))
    found = hf.verify(tmp_path / "c.json")
    assert not found
    assert words in found.findings[0]


def test_a_range_that_no_parameter_can_have_is_refused():
    with pytest.raises(hf.BadRequest, match="empty"):
        hf.certify(hf.derive(pendulum()), hf.RK4, region={"g": (10, 9)}, **ASK)
    with pytest.raises(hf.BadRequest, match="unknown quantity"):
        hf.certify(hf.derive(pendulum()), hf.RK4, region={"nothing": (10, 9)}, **ASK)
