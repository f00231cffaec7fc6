"""What no body has and no run may start from is refused by name, by every verb."""

import numpy as np
import pytest

import holdfast as hf


def one(**body):
    return hf.System(bodies={"b": hf.Body(mass=1, **body)})


@pytest.mark.parametrize("scale", [1e-9, 1, 1e9])
def test_an_inertia_that_no_body_has_is_refused(scale):
    """A principal moment is at most the two others together: (1, 1, 2) is a plate, (1, 1, 5) is nothing."""
    for good in ((1, 1, 2), (0.333, 0.333, 0.667), (0, 1, 1), (0, 0, 0)):
        one(inertia=tuple(scale * part for part in good))
    turned = ((3, 2, 0), (2, 3, 0), (0, 0, 1))  # principal moments 1, 1, 5
    for bad in ((1, 1, 5), (0, 0, 1), turned):
        stated = tuple(tuple(scale * x for x in part) if isinstance(part, tuple) else scale * part for part in bad)
        with pytest.raises(hf.BadStatement, match="larger than the others together"):
            one(inertia=stated)
    assert one(inertia=scale * np.diag([1, 2, 3])) == one(inertia=(scale, 2 * scale, 3 * scale))
    A, C = hf.parameters("A C")
    with pytest.raises(hf.BadStatement, match=r"bodies\.b\.inertia"):
        hf.System(bodies={"b": hf.Body(mass=1, inertia=(A, A, C))}, parameters={A: scale, C: 5 * scale})
    hf.System(bodies={"b": hf.Body(mass=1, inertia=(A, A, C))}, parameters={A: scale, C: 2 * scale})


def test_a_quaternion_that_is_none_starts_no_run():
    """Parts that leave its length far from 1 are a slip, in the file, in a call and in a case; whole ones may drift."""
    equations = hf.derive(hf.Problem(one(inertia=(1, 2, 3))))
    run = lambda **more: hf.simulate(equations, hf.RK4, step=0.01, duration=0.02, **more)  # noqa: E731
    for slip in ({"b_e1": 0.5}, {f"b_e{k}": 0.0 for k in range(4)}, {f"b_e{k}": 3.0 for k in range(4)}):
        with pytest.raises(hf.BadRequest, match="quaternion of 'b' has length"):
            run(start=slip)
        cases = {name: [value, value] for name, value in slip.items()}
        with pytest.raises(hf.BadRequest, match="quaternion of 'b' has length"):
            hf.ensemble(equations, hf.RK4, step=0.01, duration=0.02, cases=cases)
    assert run(start={"b_e0": 0.6, "b_e1": 0.8}).success
    drifted = run(start={"b_e0": 1.02, "b_e1": 0, "b_e2": 0, "b_e3": 0})
    assert run(start=dict(zip(drifted.state_names, drifted.y[:, -1], strict=True))).success
    assert run(start=list(drifted.y[:, -1])).success


def test_cases_that_lose_their_turn_are_told_as_runs_are():
    equations = hf.derive(hf.Problem(one(inertia=(1, 2, 3))))
    cases = {"b_turn_z_dot": [1.0, 400.0]}
    runs = hf.ensemble(equations, hf.RK4, step=0.01, duration=2, cases=cases)
    alone = hf.simulate(equations, hf.RK4, step=0.01, duration=2, start={"b_turn_z_dot": 400.0})
    assert [outcome.name for outcome in runs.outcomes] == ["completed", alone.outcome.name]
    assert alone.outcome.name != "completed"


def door(height):
    body = hf.Body(mass=1, center=(0.5, 0, 0), inertia=(1, 1, 1), points={"low": (0, 0, -1), "top": (0, 0, "h")})
    joints = {"a": hf.Revolute("l", "low", axis="z"), "b": hf.Revolute("u", "top", axis="z")}
    points = {"l": (0, 0, -1), "u": (0, 0, 1)}
    system = hf.System(
        bodies={"door": body}, joints=joints, points=points, gravity=(0, -1, 0), parameters={"h": height}
    )
    return hf.derive(hf.Problem(system, start={"a": 0.3}))


def test_no_verb_opens_a_joint_that_was_closed_by_itself():
    """A door on two hinges, whose upper one another parameter takes away: every way in refuses it."""
    equations, opened = door(1), {"h": 1.2}
    ways = [
        lambda: hf.simulate(equations, hf.RK4, step=0.01, duration=0.02, parameters=opened),
        lambda: hf.ensemble(equations, hf.RK4, step=0.01, duration=0.02, cases={"h": [1.0, 1.1, 1.2]}),
        lambda: hf.ensemble(equations, hf.RK4, step=0.01, duration=0.02, cases={"a": [0.1]}, parameters=opened),
        lambda: equations.evaluate(parameters=opened),
        lambda: hf.linearise(equations, parameters=opened),
        lambda: hf.equilibria(equations, parameters=opened, places=2),
        lambda: hf.step_function(equations, hf.RK4, step=0.01, parameters=opened),
    ]
    for way in ways:
        with pytest.raises(hf.BadStatement, match="'b' cannot close"):
            way()


def test_names_that_make_others_too_long_are_refused_by_their_own():
    long = "b" * 36
    with pytest.raises(hf.BadStatement, match=f"the name '{long}' is too long: it makes '{long}_turn_x'") as told:
        hf.System(bodies={long: hf.Body(mass=1, inertia=(1, 1, 1))})
    assert told.value.fix == "at most 34 letters"
    hf.System(bodies={long[:34]: hf.Body(mass=1, inertia=(1, 1, 1))})
    with pytest.raises(hf.BadStatement, match=r"too long: it makes 'p{40}_x'"):
        hf.System(bodies={"b": hf.Body(mass=1, inertia=(1, 1, 1), points={"p" * 40: (1, 0, 0)})})


def test_a_body_on_a_ball_rests_in_two_ways():
    """Hanging and standing, each turned anyhow about the vertical."""
    hung = hf.Body(mass=1, center=(0, 0, -0.5), inertia=(0.1, 0.12, 0.05))
    system = hf.System(bodies={"b": hung}, joints={"foot": hf.Spherical("ground", "b")}, gravity=(0, 0, -9.81))
    rests = hf.equilibria(hf.Problem(system), places=12)
    assert sorted(rest["foot_e0"] ** 2 + rest["foot_e3"] ** 2 for rest in rests) == pytest.approx([0, 1], abs=1e-9)
    assert rests[-1].word == "unstable"
    assert max(np.abs(rests[-1].roots)) == pytest.approx(np.sqrt(0.5 * 9.81 / (0.1 + 0.25)), rel=1e-6)


@pytest.mark.prove
def test_a_body_on_springs_to_three_axes_rests_in_four_ways():
    """With its weight four turns; without, no turn, and half a turn about any axis of many."""
    ends = {"a1": (1, 0, 0), "a2": (0, 1, 0), "a3": (0, 0, 1)}
    sprung = hf.Body(mass=1, inertia=(0.1, 0.12, 0.05), points=ends)
    terms = [f"({p}_{c} - {1 if 'xyz'[int(p[1]) - 1] == c else 0})**2" for p in ends for c in "xyz"]
    springs = "50*(" + " + ".join(terms) + ")"
    rests = hf.equilibria(hf.Problem(hf.System(bodies={"b": sprung}, potential=springs, gravity=(1, 2, -9))), places=40)
    assert len(rests) == 4
    assert [rest.word for rest in rests] == ["stable", *["unstable"] * 3]  # the least energy of all
    assert abs(rests[0]["b_e0"]) == pytest.approx(1, abs=1e-3)
    rests = hf.equilibria(hf.Problem(hf.System(bodies={"b": sprung}, potential=springs)), places=8)
    assert [rest.energy for rest in rests] == pytest.approx(
        [0, 200]
    )  # of no turn, and of half a turn about any of many
    assert rests[1].family == ("b_e1", "b_e2", "b_e3")


def test_energy_is_judged_where_bodies_turn_by_quaternions_and_not_where_they_lose_mass():
    """Quaternions are states that do no work: steps that change the energy by a third are told."""
    top = hf.Body(mass=1, center=(0, 0, 0.5), inertia=(0.05, 0.06, 0.1))
    system = hf.System(bodies={"b": top}, joints={"foot": hf.Spherical("ground", "b")}, gravity=(0, 0, -9.81))
    equations = hf.derive(hf.Problem(system, start={"foot": (0.9, 0.4, 0, 0), "foot_spin": (1, 0, 20)}))
    outcomes = [hf.simulate(equations, hf.RK4, step=h, duration=4).outcome.name for h in (0.1, 0.01)]
    assert outcomes == ["energy_changed", "completed"]
    runs = hf.ensemble(equations, hf.RK4, step=0.1, duration=4, cases={"foot_turn_z_dot": [20.0]})
    assert runs.outcomes[0].name == "energy_changed"
    burning = hf.Body(mass="2 - t", center=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    system = hf.System(bodies={"b": burning}, joints={"j": hf.Revolute("ground", "b", axis="z")}, gravity=(0, -9.81, 0))
    run = hf.simulate(hf.derive(hf.Problem(system, start={"j": 0.3})), hf.RK4, step=1e-3, duration=1)
    assert np.ptp(run["energy"]) > 1
    assert run.outcome.name == "completed"
