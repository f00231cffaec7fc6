"""Events on anything, phases, impacts between them, and runs carried on."""

import math

import numpy as np
import pytest
import sympy as sp
from click.testing import CliRunner

import holdfast as hf
from holdfast.cli.main import main

x, y = hf.coordinates("x y")
m, g, l = hf.parameters("m g l")
BOB = hf.System(
    coordinates=(x, y),
    kinetic=m * (x.rate**2 + y.rate**2) / 2,
    potential=m * g * y,
    parameters={m: 1, g: 9.81, l: 1},
)
ROPE = hf.Program(holonomic={"rope": (x**2 + y**2 - l**2) / 2}, law=hf.critically_damped(10))
RUN = hf.Run(scheme="rk4", step=0.001, duration=3)
SWING = {
    "swing": hf.Phase(until="lambda_rope", then="fly"),
    "fly": hf.Phase(program=hf.Program(), until=hf.Event(x**2 + y**2 - l**2, "rising"), then="swing"),
}


def slack_rope(speed: float = 6.0, **more) -> hf.Problem:
    return hf.Problem(BOB, ROPE, start={x: 0, y: -1, x.rate: speed}, run=RUN, **{"phases": SWING, **more})


def flight(speed: float) -> tuple[float, float, float, float]:
    """Where the rope gets slack, how long it is so, and the energy and impulse of its jerk, in closed form."""
    height = (speed**2 - 2 * 9.81) / (3 * 9.81)  # of y/l: tension 0 at v² = g y
    angle, v = math.asin(height), math.sqrt(9.81 * height)
    px, py, vx, vy = math.cos(angle), height, -v * height, v * math.cos(angle)
    # |p + v t − g t²/2|² = 1 has t = 0 three times, and one root more: t = 4 (v × up) / g
    quartic = [9.81**2 / 4, -9.81 * vy, vx**2 + vy**2 - 9.81 * py, 2 * (px * vx + py * vy), 0]
    root = max(r.real for r in np.roots(quartic) if abs(r.imag) < 1e-6)
    qx, qy = px + vx * root, py + vy * root - 9.81 * root**2 / 2
    radial = qx * vx + qy * (vy - 9.81 * root)
    return height, root, radial**2 / 2, -radial


@pytest.mark.parametrize("speed", [5.0, 6.0, 6.9])
@pytest.mark.parametrize("how", [{}, {"scheme": "dop853", "tolerance": 1e-10}], ids=["rk4", "dop853"])
def test_a_rope_gets_slack_and_catches_the_bob(speed, how):
    run = hf.simulate(hf.derive(slack_rope(speed)), **how)
    height, lasts, lost, impulse = flight(speed)
    assert run.phases[:3] == ("swing", "fly", "swing")
    assert run.parts[0]["y"][-1] == pytest.approx(height, abs=1e-8)
    assert run.parts[1].times[-1] - run.parts[1].times[0] == pytest.approx(lasts, abs=1e-7)
    assert run.impacts[0].energy_lost == pytest.approx(lost, rel=1e-7)
    assert run.impacts[0].impulses["rope"] == pytest.approx(impulse, rel=1e-7)
    assert run.success


def test_rows_and_quantities_are_joined():
    run = hf.simulate(hf.derive(slack_rope()))
    flying = (run.times > run.parts[1].times[0]) & (run.times < run.parts[1].times[-1])
    assert np.isnan(run["lambda_rope"][flying]).all()
    assert not np.isnan(run["lambda_rope"][~flying]).all()
    assert np.allclose(run["x**2 + y**2"], run["x"] ** 2 + run["y"] ** 2)
    assert run.reduce("max(y)") == run["y"].max()
    assert (np.diff(run.times) >= 0).all()
    assert (np.diff(run.times) == 0).sum() == len(run.parts) - 1
    balance = run.energy_balance
    assert balance.held[-1] == pytest.approx(-run.energy_lost, rel=1e-6)
    assert np.abs(balance.residual).max() < 1e-6
    with pytest.raises(hf.HoldfastError, match="no quantity"):
        run["lambda_rod"]


def test_its_error_is_estimated_by_a_finer_run_in_the_same_phases():
    coarse = hf.simulate(hf.derive(slack_rope()), step=0.01)
    fine = hf.simulate(hf.derive(slack_rope()), scheme="dop853", tolerance=1e-12)
    true = abs(coarse["x"][-1] - fine["x"][-1])
    assert true / 10 < coarse.state_error.by_name["x"] < 100 * true


def test_the_whole_is_as_bad_as_its_worst_part():
    run = hf.simulate(hf.derive(slack_rope()), scheme="euler", step=0.1)
    assert not run.success


def test_a_phase_that_cannot_begin_ends_the_run_and_says_why():
    phases = {"fall": hf.Phase(program=hf.Program(), lasts=0.1), "hang": hf.Phase()}
    problem = hf.Problem(BOB, ROPE, start={x: 0.1, y: 0}, run=RUN, phases=phases)
    run = hf.simulate(hf.derive(problem))
    assert run.outcome is hf.Outcome.no_phase
    assert "'rope' is off by" in run.message
    assert run.times[-1] == pytest.approx(0.1)


def test_an_event_of_the_user_that_ends_ends_the_whole():
    run = hf.simulate(hf.derive(slack_rope()), events={"top": hf.Event(y.rate, "falling", terminal=True)})
    assert run.phases == ("swing", "fly")
    assert abs(run["y_dot"][-1]) < 1e-9
    assert len(run.events["top"]) == 1


def test_phases_last_as_long_as_they_say_and_are_over_after_the_last():
    phases = {"hang": hf.Phase(lasts=0.5), "fall": hf.Phase(program=hf.Program(), lasts=0.25)}
    run = hf.simulate(hf.derive(slack_rope(1.0, phases=phases)))
    assert [float(part.times[-1]) for part in run.parts] == pytest.approx([0.5, 0.75])
    assert run.success


def test_phases_that_never_end_are_given_up():
    """A ball that is caught and let go at once, for ever."""
    phases = {"a": hf.Phase(lasts=1e-7, then="b"), "b": hf.Phase(program=hf.Program(), lasts=1e-7, then="a")}
    run = hf.simulate(hf.derive(slack_rope(0.0, phases=phases)), step=1e-7, duration=1)
    assert len(run.parts) == 1000
    assert not run.success


def test_parameters_and_gains_go_to_the_phases_that_know_them():
    run = hf.simulate(hf.derive(slack_rope()), parameters={"g": 1.62, "law.stiffness.rope": 400})
    assert run.parts[0].parameters["law.stiffness.rope"] == 400
    assert run.parts[0].parameters["g"] == run.parts[-1].parameters["g"] == 1.62
    with pytest.raises(hf.HoldfastError, match="gg"):
        hf.simulate(hf.derive(slack_rope()), parameters={"gg": 1})


@pytest.mark.parametrize(
    ("event", "seen"),
    [("lambda_rope + 30", True), ("energy - 100", False), ("y_ddot", True), (x.rate - y.rate, True), ("t - 1/4", True)],
)
def test_events_may_be_anything_that_a_run_shows(event, seen):
    equations = hf.derive(hf.Problem(BOB, ROPE, start={x: 0, y: -1, x.rate: 5}, run=RUN))
    run = hf.simulate(equations, events={"here": event}, duration=0.4)
    assert (len(run.events["here"]) > 0) is seen
    for when in run.events["here"]:
        row = np.abs(run.times - when).argmin()
        value = run[event]
        assert abs(value[row]) <= 1.1 * np.abs(np.diff(value)).max()


def test_events_of_the_problem_are_watched():
    problem = hf.Problem(BOB, ROPE, start={x: 0, y: -1, x.rate: 3}, run=RUN, events={"low": hf.Event(x, "rising")})
    run = hf.simulate(hf.derive(problem))
    assert len(run.events["low"]) >= 1
    assert hf.loads(hf.dumps(problem)) == hf.loads(hf.dumps(hf.loads(hf.dumps(problem))))


def test_a_run_carried_on_is_the_longer_run():
    equations = hf.derive(hf.Problem(BOB, ROPE, start={x: 0, y: -1, x.rate: 3}, run=RUN))
    short = hf.simulate(equations, duration=1)
    carried, whole = short.continued(2), hf.simulate(equations)
    assert np.abs(carried["x"][-1] - whole["x"][-1]) < 1e-12
    assert carried.times[-1] == pytest.approx(3)
    assert short.continued().times[-1] == pytest.approx(2)
    again = carried.continued(0.5)
    assert len(again.parts) == 3
    free = hf.derive(hf.Problem(BOB, run=RUN))
    flown = short.continued(0.5, equations=free)
    t = flown.parts[1].times - 1
    assert np.abs(flown.parts[1]["y"] - (short["y"][-1] + short["y_dot"][-1] * t - 9.81 * t**2 / 2)).max() < 1e-9
    with pytest.raises(hf.HoldfastError, match="takes no start"):
        short.continued(1, start={x: 0})


def test_what_cannot_go_on_is_not_carried_on():
    equations = hf.derive(hf.Problem(BOB, ROPE, start={x: 0, y: -1, x.rate: 3}, run=RUN))
    failed = hf.simulate(equations, scheme="euler", step=0.5, duration=10)
    with pytest.raises(hf.HoldfastError, match="cannot be carried on"):
        failed.continued(1)


def test_parts_are_saved_one_by_one(tmp_path):
    run = hf.simulate(hf.derive(slack_rope()))
    run.save(tmp_path / "run.npz")
    run.save(tmp_path / "run.csv")
    back = hf.Trajectory.load(tmp_path / "run-2.npz")
    assert np.array_equal(back["x"], run.parts[1]["x"])
    assert back.success
    assert len((tmp_path / "run.csv").read_text().splitlines()) == len(run.times) + 1


def test_impulses_are_those_of_an_inelastic_impact():
    """Two carts couple: momentum stays, and the energy lost is that of the reduced mass."""
    a, b = hf.coordinates("a b")
    carts = hf.System(coordinates=(a, b), kinetic=3 * a.rate**2 / 2 + 5 * b.rate**2 / 2)
    phases = {
        "apart": hf.Phase(until=hf.Event(a - b, "rising")),
        "coupled": hf.Phase(program=hf.Program(holonomic={"hook": a - b}, law=hf.critically_damped(5))),
    }
    problem = hf.Problem(
        carts, start={a: 0, b: 1, a.rate: 2}, phases=phases, run=hf.Run(scheme="rk4", step=0.01, duration=2)
    )
    run = hf.simulate(hf.derive(problem))
    (impact,) = run.impacts
    assert impact.time == pytest.approx(0.5)
    assert run["a_dot"][-1] == pytest.approx(6 / 8)
    assert impact.energy_lost == pytest.approx(0.5 * 15 / 8 * 4)
    assert abs(impact.impulses["hook"]) == pytest.approx(15 / 8 * 2)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_do_not_matter(scale):
    """The same rope in other units of length has the same phases, times and share of energy lost."""
    system = hf.System(
        coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=9.81 * scale * y, parameters={l: scale}
    )
    rope = hf.Program(holonomic={"rope": (x**2 + y**2 - l**2) / 2}, law=hf.critically_damped(10))
    problem = hf.Problem(system, rope, start={x: 0, y: -scale, x.rate: 6 * scale}, run=RUN, phases=SWING)
    run = hf.simulate(hf.derive(problem))
    assert run.phases == ("swing", "fly", "swing")
    assert run.energy_lost / scale**2 == pytest.approx(flight(6.0)[2], rel=1e-6)


def test_programs_of_higher_degree_take_their_place_in_a_phase():
    """A motor by voltage that coasts, and is then led along its path."""
    text = """
schema = 1
[system]
coordinates = ["th"]
kinetic = "th_dot**2/2"
[system.forces]
th = "2*i"
[system.states]
i = "-i"
[phases.coast]
lasts = 0.5
[phases.led]
holonomic = { path = "th - sin(t)" }
controls = { u = { i = "1" } }
law = { kind = "critically-damped", rate = 20 }
[start]
i = 1
[run]
scheme = "rk4"
step = 0.001
duration = 3
"""
    run = hf.simulate(hf.derive(hf.loads(text)))
    assert run.success
    assert run.parts[0]["i"][-1] == pytest.approx(math.exp(-0.5))
    assert abs(run["th"][-1] - math.sin(3)) < 1e-6
    assert hf.loads(hf.dumps(hf.loads(text))) == hf.loads(text)


def test_a_time_is_no_event():
    with pytest.raises(hf.HoldfastError, match="never passes"):
        hf.Problem(BOB, ROPE, phases={"a": hf.Phase(until=3)})


@pytest.mark.parametrize(
    ("phase", "said"),
    [
        (hf.Phase(lasts=-1), "not a duration"),
        (hf.Phase(then="nowhere"), "no phase 'nowhere'"),
        (hf.Phase(until=hf.Event("y", "up")), "direction 'up'"),
        (hf.Phase(program=hf.Program(holonomic={"bar": sp.Symbol("z")})), "'z'"),
    ],
)
def test_what_is_wrong_with_a_phase_is_said(phase, said):
    with pytest.raises(hf.HoldfastError, match=said):
        hf.Problem(BOB, ROPE, phases={"a": phase})


def test_ensembles_refuse_phases():
    with pytest.raises(hf.HoldfastError, match="phases"):
        hf.ensemble(hf.derive(slack_rope()), cases={"g": [1.0, 2.0]})


def test_progress_never_falls_back():
    seen: list[float] = []
    hf.simulate(hf.derive(slack_rope()), progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1.0)


def test_terminals_tell_the_phases_and_check_looks_at_what_they_watch(tmp_path):
    file = tmp_path / "rope.toml"
    hf.dump(slack_rope(), file)
    told = CliRunner().invoke(main, ["check", str(file)])
    assert "swing: keeps rope until lambda_rope passes zero, then fly" in told.output
    assert "fly: keeps nothing until" in hf.derive(slack_rope()).summary()
    ran = CliRunner().invoke(main, ["simulate", str(file)])
    assert "swing begins with an impact" in ran.output
    file.write_text(file.read_text().replace('"lambda_rope"', '"lambda_rop"'))
    refused = CliRunner().invoke(main, ["check", str(file)])
    assert refused.exit_code == 2
    assert "lambda_rop" in refused.output


def test_a_text_that_was_not_read_yet_is_shown_in_a_line():
    hostile = hf.Phase(until="y\x1b[2J\n" + "+x" * 200)
    (line,) = [text for text in hf.derive(slack_rope(phases={"a": hostile})).summary().splitlines() if "keeps" in text]
    assert "\x1b" not in line
    assert len(line) < 160
