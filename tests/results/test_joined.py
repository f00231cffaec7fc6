"""Runs as one: what is added up, what is the first's, the last's or any part's, and what only some parts know."""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import holdfast as hf
from holdfast.common.frozen import Frozen
from holdfast.results.runs.accuracy.phased_error import phased_error
from holdfast.results.runs.joined import BALANCE, Impact
from holdfast.results.runs.phased import _over, ending, fitted_step, phase_equations

x, y = hf.coordinates("x y")
LOSSY = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, potential=2 * x**2, dissipation=x.rate**2 / 4)
FALL = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=9.81 * y)
WALL = hf.Program(holonomic={"wall": x}, law=hf.critically_damped(5))
RUN = hf.Run(scheme="rk4", step=0.01, duration=1)


@cache
def spring():
    return hf.derive(hf.Problem(LOSSY, start={x: 1}, run=RUN))


@cache
def carried():
    return hf.simulate(spring()).continued(0.5).continued(0.75)


@cache
def caught():
    """A mass that flies into a wall, slides along it and flies again, with a part that is never known to the others."""
    phases = {
        "fly": hf.Phase(program=hf.Program(), until=hf.Event(x, "rising")),
        "slide": hf.Phase(lasts=0.25),
        "drop": hf.Phase(program=hf.Program()),
    }
    start = {x: -1, x.rate: 2, y: 3, y.rate: 1}
    return hf.simulate(hf.derive(hf.Problem(FALL, WALL, start=start, run=RUN, phases=phases)))


def test_an_energy_balance_goes_on_where_the_part_before_ended():
    run, whole = carried(), hf.simulate(spring(), duration=2.25)
    assert [len(part.times) for part in run.parts] == [101, 51, 76]
    once = np.concatenate([[True], np.diff(run.times) > 0])
    for name in ("change", "dissipation", "forces", "held"):
        assert_allclose(getattr(run.energy_balance, name)[once], getattr(whole.energy_balance, name), atol=1e-9)
    assert run.energy_balance.dissipation[-1] < -1
    assert run.energy_balance.dissipation[-1] < run.parts[2].energy_balance.dissipation[-1] - 0.1


def test_what_an_impact_takes_is_work_of_what_holds():
    run = caught()
    balance = run.energy_balance
    first, second = run.parts[0].times[-1], run.parts[1].times[-1]
    assert run.energy_lost == pytest.approx(2)  # all of x'²/2
    assert_allclose(balance.held[run.times < first], 0, atol=1e-12)
    assert_allclose(balance.held[run.times > first], -2, atol=1e-9)
    assert_allclose(balance.change, run["energy"] - run["energy"][0], atol=1e-9)
    assert_allclose(balance.residual, 0, atol=1e-9)
    assert run.energy_change < 1e-9 < 2  # within parts
    assert second == pytest.approx(0.75)
    assert set(BALANCE) >= {"change", "held", "dissipation"}


def test_counts_are_added_up():
    run = carried()
    assert run.steps == sum(part.steps for part in run.parts) == 225
    assert run.nfev == sum(part.nfev for part in run.parts)
    assert run.rejected == 0
    assert run.every == 1
    loose = hf.simulate(spring(), scheme="dop853", tolerance=1e-3, duration=50).continued(50)
    assert loose.rejected == sum(part.rejected for part in loose.parts)


def test_the_rows_of_a_joined_run_cannot_be_written():
    run = carried()
    for array in (run.times, run["x"], run.columns["x_dot"], run["x + 1"], run.energy_balance.change):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7.0


def test_a_run_is_projected_where_any_part_was():
    rod = hf.Program(holonomic={"rod": x**2 + y**2 - 1}, law=hf.critically_damped(5))
    equations = hf.derive(hf.Problem(FALL, rod, start={x: 0, y: -1.01}, run=RUN))
    run = hf.simulate(equations, start_policy="project", project=True).continued(0.5)
    assert [part.projected for part in run.parts] == [True, False]
    assert run.projected
    assert not carried().projected


def test_states_are_those_that_all_parts_have():
    heated = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, potential=2 * x**2, states={"heat": x.rate**2})
    first = hf.simulate(hf.derive(hf.Problem(heated, start={x: 1}, run=RUN)))
    run = first.continued(0.5, equations=spring())
    assert run.state_names == ("x", "x_dot")
    assert run.y.shape == (2, len(run.times))
    assert_array_equal(np.isnan(run["heat"]), np.repeat([False, True], [len(part.times) for part in run.parts]))


def test_what_only_some_parts_know_is_nan_in_the_others():
    run = caught()
    sliding = np.repeat([False, True, False], [len(part.times) for part in run.parts])
    for name in ("lambda_wall", "deviation_norm", "y_wall", "2*lambda_wall + x"):
        assert_array_equal(np.isnan(run[name]), ~sliding)
    assert "deviation_norm" in run
    assert "nothing_of_that_name" not in run
    assert_allclose(run["x + y"], run["x"] + run["y"])
    with pytest.raises(hf.BadRequest, match="no quantity"):
        run["lambda_floor"]
    with pytest.raises(hf.BadRequest, match="lambda_floor"):
        run["lambda_floor + 1"]


def test_a_summary_tells_parts_and_impacts_in_order():
    lines = caught().summary().splitlines()
    assert [line.split(":")[0].strip() for line in lines] == ["0 to 0.5", "t = 0.5", "0.5 to 0.75", "0.75 to 1"]
    assert "slide begins with an impact (wall -2), energy lost 2" in lines[1]
    assert lines[2].startswith("  0.5 to 0.75: slide. ")
    plain = carried().summary().splitlines()
    assert plain[0].startswith("  0 to 1: rk4. ")
    assert len(plain) == 3


def test_impulses_of_nothing_are_not_told():
    impact = Impact(1.0, "b", Frozen({}), 3.0, Frozen({"rope": 2.0, "slack": 0.0}))
    assert str(impact) == "t = 1: b begins with an impact (rope 2), energy lost 3"


def test_a_first_and_a_last_part_tell_how_it_began_and_ended():
    run = caught()
    assert run.start is run.parts[0].start
    assert run.times[0] == 0
    assert run.times[-1] == pytest.approx(1)
    assert (run.scheme, run.step) == ("rk4", 0.01)
    assert run.phases == ("fly", "slide", "drop")
    assert carried().phases == ()
    assert list(run.events) == ["fly_ends"]
    assert run.events["fly_ends"].tolist() == pytest.approx([0.5])
    assert run.outcome is hf.Outcome.completed
    assert run.success


def test_what_failed_first_is_how_the_whole_ended():
    run = hf.simulate(spring(), events={"low": hf.Event(x + 0.2, "falling", terminal=True)})
    assert run.outcome is hf.Outcome.event
    assert run.continued(0.2).outcome is hf.Outcome.completed
    again = hf.simulate(spring(), duration=1).continued(1, events={"low": hf.Event(x, "rising", terminal=True)})
    assert again.outcome is hf.Outcome.completed
    assert again.success


# Phases.


def test_phases_of_one_program_are_derived_once():
    phases = {"a": hf.Phase(lasts=0.1), "b": hf.Phase(program=hf.Program(), lasts=0.1), "c": hf.Phase()}
    equations = hf.derive(hf.Problem(FALL, WALL, start={}, run=RUN, phases=phases))
    known = phase_equations(equations)
    assert known["a"] is known["c"]
    assert known["a"] is not known["b"]
    assert phase_equations(equations)["b"] is known["b"]
    with pytest.raises(hf.BadRequest, match="takes Equations"):
        phase_equations(equations.problem)


@pytest.mark.parametrize(("time", "over"), [(10, True), (10 - 1e-12, True), (9.99, False), (10 + 1e-9, True)])
def test_a_run_is_over_at_its_end(time, over):
    assert _over(time, SimpleNamespace(end=10.0)) is over


def test_the_event_that_ends_a_phase_is_named_for_it():
    assert ending("swing") == "swing_ends"


def test_progress_is_told_as_a_part_of_the_whole():
    seen = []
    hf.simulate(hf.derive(caught().problem), progress=seen.append)
    assert all(0 <= share <= 1 + 1e-9 for share in seen)
    assert seen[1] == pytest.approx(0.75)  # where the second of three phases ends
    assert seen[-1] == pytest.approx(1)


def test_without_a_finer_run_the_error_is_not_known():
    error = phased_error(carried())
    assert "several parts" in str(error)


def test_a_finer_run_has_half_the_step():
    run = caught()
    finer = run.again()
    assert finer.step == pytest.approx(run.step / 2)
    assert finer.phases == run.phases
    assert finer.every == 1
    tight = hf.simulate(hf.derive(run.problem), scheme="dop853", tolerance=1e-6)
    assert tight.again().tolerance < 1e-6
    assert run.state_error.by_name["x"] < 1e-9


def test_a_jump_that_nobody_would_see_is_no_impact():
    """The wall is met at a speed of 1e-7 of how fast the mass has been."""
    phases = {"along": hf.Phase(program=hf.Program(), lasts=0.1), "slide": hf.Phase()}
    for speed, impacts in ((1e-8, 0), (1e-4, 1)):
        start = {x: -0.1 * speed, x.rate: speed, y.rate: 1}
        problem = hf.Problem(FALL, WALL, start=start, run=RUN, phases=phases)
        assert len(hf.simulate(hf.derive(problem)).impacts) == impacts


def test_steps_fit_a_duration():
    assert fitted_step(1.0, 0.3) == pytest.approx(0.25)
    assert fitted_step(1.0, 0.1) == pytest.approx(0.1)


def test_a_mass_that_never_left_the_wall_meets_it():
    phases = {"along": hf.Phase(program=hf.Program(), lasts=0.1), "slide": hf.Phase()}
    run = hf.simulate(hf.derive(hf.Problem(FALL, WALL, start={y.rate: 1}, run=RUN, phases=phases)))
    assert run.success
    assert run.phases == ("along", "slide")
    assert run.impacts == ()


@pytest.mark.parametrize(("gap", "met"), [(1e-8, True), (1e-4, False)])
def test_a_wall_is_met_to_a_millionth_of_the_way(gap, met):
    phases = {"fly": hf.Phase(program=hf.Program(), lasts=0.5), "slide": hf.Phase()}
    start = {x: -1 + gap, x.rate: 2}
    run = hf.simulate(hf.derive(hf.Problem(FALL, WALL, start=start, run=RUN, phases=phases)))
    assert run.success is met
    assert run.phases == (("fly", "slide") if met else ("fly",))
    assert met or "'wall' is off by y = 0.0001" in run.message


# Runs carried on.


def test_a_run_goes_on_as_it_was_run():
    fixed = hf.simulate(spring(), step=0.02).continued(0.5)
    assert [(part.scheme, part.step) for part in fixed.parts] == [("rk4", 0.02)] * 2
    loose = hf.simulate(spring(), scheme="dop853", tolerance=1e-7).continued(0.5)
    assert [(part.scheme, part.tolerance, part.step) for part in loose.parts] == [("dop853", 1e-7, None)] * 2
    odd = hf.simulate(spring(), step=0.02).continued(0.35)
    assert odd.parts[1].step == pytest.approx(0.35 / 18)
    assert odd.times[-1] == pytest.approx(1.35)


def test_a_run_may_go_on_another_way():
    first = hf.simulate(spring(), step=0.02)
    other = first.continued(0.5, scheme="dop853", tolerance=1e-9).parts[1]
    assert (other.scheme, other.tolerance, other.step) == ("dop853", 1e-9, None)
    finer = first.continued(0.5, step=0.005).parts[1]
    assert (finer.scheme, finer.step) == ("rk4", 0.005)
    stiffer = first.continued(0.5, events={"low": hf.Event(x, "rising")})
    assert "low" in stiffer.events


def test_a_run_goes_on_from_its_last_row_in_time_and_state():
    run = carried()
    for before, after in zip(run.parts[:-1], run.parts[1:], strict=True):
        assert after.times[0] == before.times[-1]
        assert after["x"][0] == before["x"][-1]
        assert after["x_dot"][0] == before["x_dot"][-1]
    assert hf.simulate(spring(), begin=2.0).continued(1).times[-1] == pytest.approx(4)
    assert carried().continued().times[-1] == pytest.approx(4.5)  # as long again


def test_what_begins_to_hold_takes_an_impact():
    free, held = (hf.derive(hf.Problem(FALL, *program, start={x.rate: 2}, run=RUN)) for program in ((), (WALL,)))
    landing = hf.simulate(free, start={x: -1, x.rate: 2}, duration=0.5)
    run = landing.continued(0.25, equations=held)
    (impact,) = run.impacts
    assert (impact.phase, impact.time) == ("continued", 0.5)
    assert impact.energy_lost == pytest.approx(2)
    assert impact.jumps["x_dot"] == pytest.approx(-2)
    assert run.continued(0.25).impacts == run.impacts
    assert run.continued(0.25, equations=free).impacts == run.impacts  # letting go takes none


def test_numbers_are_carried_on():
    heavy = hf.System(coordinates=(x,), kinetic=sum([hf.parameters("m")]) * x.rate**2 / 2, parameters={"m": 1})
    equations = hf.derive(hf.Problem(heavy, start={x.rate: 1}, run=RUN))
    run = hf.simulate(equations, parameters={"m": 5})
    assert run.continued(0.1).parts[1].parameters["m"] == 5
    assert run.continued(0.1, parameters={"m": 7}).parts[1].parameters["m"] == 7


def test_a_run_in_phases_goes_on_without_them_or_not_at_all():
    run = caught()
    with pytest.raises(hf.BadRequest, match="in phases is not carried on"):
        run.continued(1)
    free = hf.derive(hf.Problem(FALL, run=RUN))
    on = run.continued(0.5, equations=free)
    assert on.times[-1] == pytest.approx(1.5)
    assert on.impacts == run.impacts


@pytest.mark.parametrize("option", [{"start": {}}, {"start_policy": "keep"}, {"begin": 3.0}])
def test_a_run_that_goes_on_takes_no_start(option):
    with pytest.raises(hf.BadRequest, match=f"takes no {next(iter(option))}"):
        hf.simulate(spring()).continued(1, **option)
    with pytest.raises(hf.BadRequest, match="no equations"):
        hf.simulate(spring()).continued(1, equations="spring")
