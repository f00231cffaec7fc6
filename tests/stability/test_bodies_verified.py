"""Certificates of mechanisms by bodies: proved, and derived anew by somebody else."""

import pytest

import holdfast as hf
from tests.bodies.mechanisms import chain
from tests.stability.tube_truth import most_attained

LAW = hf.critically_damped(10)


def rod():
    body = hf.Body(mass=2, inertia=1, position=(1.2, -1.6))
    system = hf.System(
        bodies={"b": body},
        joints={"rod": hf.Distance("ground", "b", length="l")},
        gravity=(0, -9.81),
        parameters={"l": 2},
    )
    return hf.Problem(system, hf.Program(law=LAW))


def slider():
    """A crank drives a slider, all cut at the slider's guide; in the plane."""
    bodies = {
        "crank": hf.Body(mass=1, center=(0.5, 0), inertia=0.1, points={"pin": (1, 0)}),
        "rod": hf.Body(mass=1, center=(1, 0), inertia=0.3, points={"end": (2, 0)}),
    }
    joints = {
        "a": hf.Revolute("ground", "crank"),
        "b": hf.Revolute("pin", "rod"),
        "guide": hf.Distance("far", "end", length=3),
    }
    system = hf.System(bodies=bodies, joints=joints, points={"far": (2.5, -3)}, gravity=(0, -9.81))
    return hf.assemble_start(hf.Problem(system, hf.Program(law=LAW), start={"a": 0.4, "b": -0.5}), keep=("a",)).problem


def spatial():
    """Two hinges in space, the tip of the second held at its height by a reaction."""
    plain = chain(2)
    start = {name: value for name, value in plain.start.items() if not name.endswith("_dot")}
    system = plain.system
    height = hf.derive(hf.Problem(system, start=start))
    first = float(hf.simulate(height, hf.RK4, step=1e-6, duration=1e-6)["end1_z"][0])
    program = hf.Program(holonomic={"level": f"end1.z - ({first!r})"}, law=LAW)
    return hf.Problem(system, program, start=start)


@pytest.mark.parametrize("made", [rod, slider, spatial])
def test_a_promise_about_bodies_is_proved_and_confirmed(made, tmp_path):
    problem = made()
    certificate = hf.certify(hf.derive(problem), hf.RK4, step=1e-3, duration=0.2)
    assert all(block.label.name == "proved" for block in certificate.blocks), certificate.summary()
    file = tmp_path / "certificate.json"
    certificate.save(file)
    verdict = hf.verify(file, problem=problem)
    assert verdict, str(verdict)


def test_a_certificate_of_another_mechanism_is_not_confirmed(tmp_path):
    certificate = hf.certify(hf.derive(rod()), hf.RK4, step=1e-3, duration=0.2)
    file = tmp_path / "certificate.json"
    certificate.save(file)
    text = hf.dumps(rod())
    assert hf.verify(file, problem=hf.loads(text))
    for old, new in (("mass = 2", "mass = 3"), ("gravity = [0, -9.81]", "gravity = [0, -9.8]"), ("l = 2", "l = 2.1")):
        assert old in text
        assert not hf.verify(file, problem=hf.loads(text.replace(old, new)))


def top():
    body = hf.Body(mass=1, center=(0, 0, 0.5), inertia=(1, 1.3, 0.6), points={"tip": (0, 0, 1)})
    system = hf.System(bodies={"b": body}, joints={"foot": hf.Spherical("ground", "b")}, gravity=(0, 0, -9.81))
    program = hf.Program(holonomic={"high": "tip.z - cos(0.3)"}, law=LAW)
    problem = hf.Problem(system, program, start={"foot": hf.turned("x", 0.3), "foot_turn_z_dot": 6})
    equations = hf.derive(problem)
    return equations, hf.certify(equations, hf.RK4, step=5e-3, duration=0.5, effort=1)


def test_what_turns_by_quaternions_is_proved_in_a_tube():
    equations, certificate = top()
    assert {block.label.name for block in certificate.blocks} == {"tube"}
    assert "Not re-checked" not in certificate.summary()
    assert most_attained(equations, certificate, 5) > 0.2


@pytest.mark.prove
def test_what_turns_by_quaternions_is_confirmed():
    found = hf.verify(top()[1])
    assert found.holds, found.findings
