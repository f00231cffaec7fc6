"""Certificates of steps that a run chose: held against steps in 300 bits, re-checked, and lies about them."""

import copy
import json
from dataclasses import replace
from functools import cache
from importlib import resources
from itertools import pairwise

import flint
import numpy as np
import pytest
from click.testing import CliRunner

import holdfast as hf
from holdfast.cli.main import main
from holdfast.engine.kernel import compiled
from holdfast.equations.values import parameter_vector
from holdfast.graph.arithmetics.balls import precision
from holdfast.schemes.kinds.embedded import Embedded
from holdfast.stability.proof.work import SearchWork
from holdfast.stability.tube.ordered import OrderedProver
from holdfast.stability.verifier.schemes import choosing_tableau
from tests.stability import test_order_verified as lies
from tests.stability import test_tampering as tampered
from tests.stability.held import pendulum
from tests.stability.test_own_steps import links
from tests.stability.tube_truth import Truth, constant

EXAMPLES = resources.files("holdfast") / "examples"
SCHEMES = {"dopri5": hf.DOPRI5, "dop853": hf.DOP853}
BENT = """schema = 1
[system]
coordinates = ["x", "z"]
kinetic = "(x_dot**2 + z_dot**2)/2"
potential = "9.81*z"
[program.holonomic]
rod = "(x**2 + z**2 - 1)/2"
[program.law]
kind = "general"
rod = "-(30 + 10*x)*y_rod - 12*w_rod - y_rod**3"
[start]
x = 0.8
z = -0.6
"""


@cache
def certified(name):
    equations, scheme = links(), SCHEMES[name]
    run = hf.simulate(equations, scheme, tolerance=1e-9, duration=0.6, longest_step=1.0, every=1)
    return hf.certify(equations, scheme, trajectory=run)


def prover(name, tolerance=1e-7, duration=0.4):
    equations = links()
    run = hf.simulate(equations, SCHEMES[name], tolerance=tolerance, duration=duration, every=1)
    seen = np.array([np.abs(run[word]).max() for word in equations.deviation_names])
    return OrderedProver(equations, SCHEMES[name].main, None, {}, run, seen, SearchWork.of(50))


@pytest.mark.parametrize("name", SCHEMES)
def test_every_block_is_proved_near_what_is_seen(name):
    certificate = certified(name)
    assert certificate.label is hf.Label.tube
    assert certificate.step is None
    lengths = np.diff(certificate.times)
    assert lengths[:-1].max() > 1.3 * lengths[:-1].min()
    for block in certificate.blocks:
        assert block.proof.steps == len(lengths)
        assert all(seen <= bound <= 5 * seen for seen, bound in zip(block.observed, block.bounds, strict=True))
        assert f"every run of {name} with this run's own steps" in block.promise(name, None)
    assert f"{len(lengths)} steps of its own choice" in certificate.summary()
    assert f"{len(lengths)} steps of its own choice" in certificate.statement()


@pytest.mark.parametrize("kept", [{"at": [0, 0.1, 0.3, 0.6]}, {"every": 3}], ids=str)
def test_rows_that_are_no_steps_are_not_called_so(kept):
    equations = hf.derive(pendulum(0.3))
    run = hf.simulate(equations, hf.DOPRI5, tolerance=1e-6, duration=0.6, **kept)
    certificate = hf.certify(equations, hf.DOPRI5, trajectory=run)
    assert not certificate.label.is_proof
    assert "of its own choice" not in certificate.summary() + certificate.statement()


@pytest.mark.parametrize(
    ("name", "width", "least"), [("dopri5", 1e-3, 1e-4), ("dopri5", 1e-6, 0.01), ("dop853", 1e-4, 1e-3)]
)
def test_steps_from_random_states_of_the_boxes_lie_in_their_ranges(name, width, least):
    made, random = prover(name), np.random.default_rng(11)
    found = made._attempt(width)
    rounding = made._rounding(found)
    kernel, numbers = compiled(made.equations.field, made.scheme), parameter_vector(made.equations, {})
    near = lost = 0.0
    with precision(300):
        truth = Truth(made.equations, made.scheme)
        for k in range(60):
            box = int(random.integers(len(found.boxes)))
            row = int(found.owners[box])
            spot = random.choice([-1.0, 1.0], 8) if k % 2 else random.uniform(-1, 1, 8)
            state = found.boxes.curves[box, :, 0] + spot * found.boxes.halves[box] * (1 - 1e-9)
            begin, length = float(made.run.times[row]), float(made.run.times[row + 1] - made.run.times[row])
            before = truth.deviation(begin, state)
            after = [constant(x) for x in truth.after(begin, state, flint.arb(length))]
            reached = kernel.run(state, numbers, t0=begin, step=length, steps=1).states[-1]
            computed = truth.deviation(begin + length, reached)
            for i, matrix in enumerate(found.ranges.matrices[box].tolist()):
                off = after[i] - sum((flint.arb(m) * x for m, x in zip(matrix, before, strict=True)), flint.arb(0))
                share = abs(float((off - found.ranges.middle[box, i]).mid())) / found.ranges.radius[box, i]
                gone = abs(float((computed[i] - after[i]).mid())) / rounding[box, i]
                near, lost = max(near, share), max(lost, gone)
    assert least < near <= 1
    assert 1e-2 < lost <= 1


def test_neighbours_that_take_the_same_steps_keep_the_bounds():
    certificate, random, kept = certified("dopri5"), np.random.default_rng(5), 0
    tube, times = certificate.blocks[0].proof.tube, np.array(certificate.times)
    ends, widths = np.array([cell[1] for cell in tube.cells]), tube.width * np.array([s for _, s in tube.scales])
    equations = links()
    kernel, numbers = compiled(equations.field, hf.DOPRI5.main), parameter_vector(equations, {})
    observed = equations.evaluate
    for _ in range(20):
        state = np.array(certificate.start) + random.uniform(-1e-3, 1e-3, 8) * widths
        given = dict(zip(equations.state_names, state, strict=True))
        moved = hf.simulate(equations, hf.RK4, step=1e-3, duration=1e-3, start=given, start_policy="project")
        state = moved.y[:, 0]
        worst = {name: 0.0 for name in equations.deviation_names}
        for begin, end in pairwise(times):
            state = kernel.run(state, numbers, t0=begin, step=end - begin, steps=1).states[-1]
            cell = tube.cells[min(np.searchsorted(ends, end), len(ends) - 1)]
            s = (end - cell[0]) / (cell[1] - cell[0])
            off = np.abs(state - [np.polyval(curve[::-1], s) for curve in cell[2]])
            if (off > cell[3]).any():
                break
            seen = observed(state, end)
            for name, value in zip(worst, [*seen.deviation, *seen.deviation_rate], strict=True):
                worst[name] = max(worst[name], abs(float(value)))
        else:
            kept += 1
            for block in certificate.blocks:
                assert all(worst[name] <= bound for name, bound in zip(block.names, block.bounds, strict=True))
    assert kept > 5


@pytest.mark.parametrize("name", SCHEMES)
def test_the_other_path_confirms_them_from_a_file(name, tmp_path):
    path = tmp_path / "own.json"
    certified(name).save(path)
    again = hf.Certificate.load(path)
    assert again.times == certified(name).times
    found = hf.verify(path)
    assert found.holds, found.findings
    assert all("in the order of time" in line for line in found.findings)


def test_a_law_that_bends_is_proved_along_chosen_steps_too():
    certificate = hf.certify(hf.derive(hf.loads(BENT)), hf.DOPRI5, tolerance=1e-8, duration=0.4)
    (block,) = certificate.blocks
    assert block.label is hf.Label.tube
    assert all(bound <= 5 * seen for seen, bound in zip(block.observed, block.bounds, strict=True))
    assert hf.verify(certificate)


def test_a_pair_of_ones_own_states_its_tableau_and_is_confirmed():
    main = hf.RungeKutta(name="my-heun", order=2, stages=((), ("1",)), weights=("1/2", "1/2"))
    dense = tuple(hf.DOPRI5.dense[0][:3])
    own = Embedded(
        main=main, error=((hf.DOPRI5.error[0][0], -hf.DOPRI5.error[0][0], 0),), dense=(dense,), dense_order=2,
        exponent=hf.DOPRI5.exponent, shrink=hf.DOPRI5.shrink, growth=hf.DOPRI5.growth,
    )  # fmt: skip
    certificate = hf.certify(links(), own, tolerance=1e-6, duration=0.1)
    assert certificate.label is hf.Label.tube
    assert certificate.tableau["order"] == 2
    assert hf.verify(certificate), hf.verify(certificate).findings


def test_the_tableaus_of_the_verifier_are_those_that_are_run():
    for scheme in SCHEMES.values():
        found = choosing_tableau(scheme.name)
        assert (found.order, found.weights) == (scheme.order, tuple(scheme.main.weights))
        for own, row in zip(found.stages, scheme.main.stages, strict=True):
            assert tuple(row[: len(own)]) == own
            assert not any(row[len(own) :])


def test_what_chooses_its_steps_otherwise_is_refused_by_name():
    certificate = hf.certify(links(), hf.Radau, tolerance=1e-6, duration=0.1)
    assert certificate.label is hf.Label.refused
    assert certificate.times
    assert "times" not in certificate.to_dict()
    equations = links()
    rows = hf.simulate(equations, hf.DOPRI5, tolerance=1e-7, duration=0.2, at=np.linspace(0, 0.2, 9))
    assert hf.certify(equations, hf.DOPRI5, trajectory=rows).label is hf.Label.refused
    thinned = hf.simulate(equations, hf.DOPRI5, tolerance=1e-7, duration=0.2, every=2)
    assert hf.certify(equations, hf.DOPRI5, trajectory=thinned).label is hf.Label.refused
    with pytest.raises(hf.BadRequest, match="chose its own steps"):
        hf.safe_starts(equations, certified("dopri5"))


@pytest.mark.parametrize("name", ["pendulum", "skate"])
def test_steps_that_contract_are_followed_in_order_where_that_is_asked_for(name):
    equations = hf.derive(hf.load(str(EXAMPLES / f"{name}.toml")))
    certificate = hf.certify(equations, duration=2, in_order=True)
    (block,) = certificate.blocks
    assert (block.label, block.gamma, certificate.times) == (hf.Label.tube, None, ())
    assert all(seen <= bound <= 5 * seen for seen, bound in zip(block.observed, block.bounds, strict=True))
    assert hf.verify(certificate)
    with pytest.raises(hf.BadRequest, match="speeds of their run"):
        hf.certify(equations, duration=2, in_order=True, speeds=0.05)


def test_the_command_follows_steps_in_order(tmp_path):
    file, kept = str(EXAMPLES / "pendulum.toml"), str(tmp_path / "kept.json")
    done = CliRunner().invoke(main, ["certify", file, "--duration", "1", "--in-order", "-o", kept])
    assert done.exit_code == 0, done.output
    assert "steps are followed in the order of time" in done.output
    phases = str(EXAMPLES / "slack_rope.toml")
    refused = CliRunner().invoke(main, ["certify", phases, "--in-order"])
    assert refused.exit_code == 2
    assert "--in-order is for one program" in refused.output


HELD_AT_NOTHING = BENT.replace('["x", "z"]', '["x", "z", "s"]').replace("z_dot**2)", "z_dot**2 + s_dot**2)").replace(
    "[program.law]", 'side = "s + x**2 + z**2 - 1"\n[program.law]'
).replace('kind = "general"', 'kind = "critically-damped"\nrate = 6')  # fmt: skip
HELD_AT_NOTHING = "\n".join(line for line in HELD_AT_NOTHING.splitlines() if not line.startswith('rod = "-('))


def test_a_coordinate_that_rests_is_no_reason_to_call_a_certificate_false():
    """Steps made again from the times of rows are the run's but for rounding, here more than 1e-6 of a width."""
    study = hf.study(replaced(hf.loads(HELD_AT_NOTHING), scheme="dopri5", tolerance=1e-8, duration=1.0))
    assert study.verdict.word == "proved"
    assert study.verification


def test_a_run_that_an_event_ends_is_proved_up_to_its_last_whole_step():
    problem = hf.loads(BENT)
    x = problem.system.coordinates[0]
    equations = hf.derive(problem)
    hit = {"hit": hf.Event(x - 0.3, terminal=True)}
    run = hf.simulate(equations, hf.DOPRI5, tolerance=1e-8, duration=5, events=hit, every=1)
    assert run.outcome.name == "event"
    certificate = hf.certify(equations, hf.DOPRI5, trajectory=run)
    assert certificate["rod"].proof.steps == len(run.times) - 2
    assert hf.verify(certificate), hf.verify(certificate).findings


def test_of_the_row_at_which_an_event_is_met_nothing_is_said():
    """It is read off within a step that nothing is proved of: here it deviates by a fifth more than the bound."""
    problem = hf.loads(BENT.replace("(30 + 10*x)*y_rod - 12*w_rod - y_rod**3", "25*y_rod - 10*w_rod"))
    x, equations = problem.system.coordinates[0], hf.derive(problem)
    hit = {"hit": hf.Event(x - 0.2, terminal=True)}
    run = hf.simulate(equations, hf.DOPRI5, tolerance=1e-5, duration=5, longest_step=1.0, events=hit, every=1)
    certificate = hf.certify(equations, hf.DOPRI5, trajectory=run)
    deviation, bound = np.abs(run["y_rod"]), certificate["rod"].bounds[0]
    assert deviation[:-1].max() <= bound < deviation[-1]
    found = hf.verify(certificate)
    assert found.holds
    assert "every row of its run but the last, of which nothing is said, made again" in found.findings[0]


def test_a_run_that_begins_late_is_confirmed_though_its_steps_are_known_less_well():
    """A micrometre, 3 ms after 1000 s: the clock tells a step from its rows to a part in 10⁸."""
    law = BENT.replace("(30 + 10*x)*y_rod - 12*w_rod - y_rod**3", "2.5e7*y_rod - 1e4*w_rod")
    small = law.replace("- 1)/2", "- 1e-12)/2").replace("x = 0.8\nz = -0.6", "x = 8e-7\nz = -6e-7")
    equations = hf.derive(hf.loads(small))
    run = hf.simulate(equations, hf.DOPRI5, tolerance=1e-8, begin=1000.0, duration=3e-3, every=1)
    certificate = hf.certify(equations, hf.DOPRI5, trajectory=run)
    assert certificate.label is hf.Label.tube
    assert hf.verify(certificate), hf.verify(certificate).findings


def test_rows_at_chosen_times_are_no_steps_however_many():
    equations = links()
    own = hf.simulate(equations, hf.DOPRI5, tolerance=1e-7, duration=0.5, longest_step=1.0, every=1)
    evenly = np.linspace(0, 0.5, own.steps + 1)
    run = hf.simulate(equations, hf.DOPRI5, tolerance=1e-7, duration=0.5, longest_step=1.0, at=evenly)
    certificate = hf.certify(equations, hf.DOPRI5, trajectory=run)
    assert certificate.label is hf.Label.refused
    assert "are not its steps, all of them" in certificate["upper"].reason


@pytest.mark.prove
def test_programs_above_degree_2_are_followed_in_order_and_confirmed():
    certificate = hf.certify(hf.derive(hf.load(str(EXAMPLES / "servo_arm.toml"))), duration=1, in_order=True)
    assert certificate.label is hf.Label.tube
    assert hf.verify(certificate), hf.verify(certificate).findings


def test_what_is_not_followed_says_why():
    equations = links()
    some = hf.certify(equations, hf.DOPRI5, tolerance=1e-6, duration=0.1, constraints=["upper"])
    assert "for all constraints together" in some["upper"].reason
    asked = hf.certify(equations, hf.RK4, step=0.01, duration=0.1, in_order=True, constraints=["upper"])
    assert "some constraints were left out" in asked["upper"].reason
    followed = hf.certify(equations, hf.RK4, step=0.01, duration=0.1, in_order=True)
    assert "was not tried: steps in the order of time were asked for" in followed["upper"].reason
    assert "radau is implicit" in hf.certify(equations, hf.Radau, tolerance=1e-6, duration=0.1)["upper"].reason
    for way in ({"scheme": hf.DOPRI5, "tolerance": 1e-6}, {"scheme": hf.RK4, "step": 0.01, "in_order": True}):
        with pytest.raises(hf.BadRequest, match="no region is tried"):
            hf.certify(equations, duration=0.1, region={"t": (0, 0.1)}, **way)
    with pytest.raises(hf.BadRequest, match="in_phase is for runs of one step"):
        hf.in_phase(equations, certified("dopri5"))


def replaced(problem, **run):
    return replace(problem, run=replace(problem.run, **run))


# ── lies ──────────────────────────────────────────────────────────────────────────────────────────


def a_row_far_off(data):
    data["times"][5] = 0.1 * data["times"][4] + 0.9 * data["times"][6]
    for proof in lies.proofs(data):
        proof["bounds"] = [x * 0.9 for x in proof["bounds"]]
    for block in data["blocks"]:
        block["bounds"] = [x * 0.9 for x in block["bounds"]]


def a_row_left_out(data):
    del data["times"][5]


def times_that_turn_back(data):
    data["times"][5] = data["times"][4]


def later_rows(data):
    data["times"] = [time + 0.001 for time in data["times"]]


def no_times(data):
    del data["times"]


def a_step_beside_them(data):
    data["step"] = 0.01


def a_step_in_their_place(data):
    data["step"] = 0.01
    del data["times"]


def the_tableau_of_the_other(data):
    data["scheme"] = "dop853" if data["scheme"] == "dopri5" else "dopri5"


def one_of_fixed_steps(data):
    data["scheme"] = "rk4"


def starts_beside_it(data):
    data["starts"] = {"a": 1e-9}


def halved_steps(data):
    times = data["times"]
    data["times"] = sorted([*times, *((a + b) / 2 for a, b in pairwise(times))])
    for proof in lies.proofs(data):
        proof["steps"] *= 2
        proof["bounds"] = [x / 8 for x in proof["bounds"]]


LIES = [
    a_row_far_off, a_row_left_out, times_that_turn_back, later_rows, no_times, a_step_beside_them,
    a_step_in_their_place, the_tableau_of_the_other, one_of_fixed_steps, starts_beside_it, halved_steps,
    lies.smaller_bounds, lies.smaller_rounding, lies.no_start, lies.fewer_steps, lies.more_steps,
    lies.fewer_deviations, lies.longer, lies.called_proved, lies.a_contraction, lies.a_law, lies.left_tube,
    lies.swapped_names, lies.other_speeds, tampered.wide, tampered.a_cell_less, tampered.other_start,
    tampered.longer_run, tampered.other_code,
]  # fmt: skip


@pytest.mark.parametrize("lie", LIES, ids=[lie.__name__ for lie in LIES])
def test_no_lie_about_chosen_steps_is_ever_confirmed(lie, tmp_path):
    data = copy.deepcopy(certified("dopri5").to_dict())
    before = json.dumps(data)
    lie(data)
    assert json.dumps(data) != before
    found = lies.told(data, tmp_path)
    assert not found.holds, found.findings
