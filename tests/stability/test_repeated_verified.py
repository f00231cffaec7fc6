"""Constraints that repeat each other, re-checked pass by pass; and lies about passes, never confirmed."""

import copy
import json
from functools import cache
from importlib import resources

import flint
import numpy as np
import pytest
import sympy as sp
from click.testing import CliRunner

import holdfast as hf
from holdfast.cli.main import main
from holdfast.stability.verifier.check import reading
from holdfast.stability.verifier.order.centres import CentreSteps
from holdfast.stability.verifier.order.check import boxes_of, order_outcomes
from holdfast.stability.verifier.order.passes import PassedStep
from holdfast.stability.verifier.reading.file import claims
from holdfast.stability.verifier.refusal import Refused, Unconfirmed
from holdfast.stability.verifier.steps.cover import Budget
from tests.equations.loops import three_cranks
from tests.stability import test_order_verified as in_order
from tests.stability import test_tampering as tampered

EXAMPLES = resources.files("holdfast") / "examples"
told = in_order.told


def rod_twice():
    """A pendulum whose rod is stated twice."""
    x, y = hf.coordinates("x y")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=sp.Rational("9.81") * y)
    held = {"rod": (x**2 + y**2 - 1) / 2, "twice": x**2 + y**2 - 1}
    return hf.Problem(system, hf.Program(holonomic=held, law=hf.critically_damped(5)), start={x: 0.6, y: -0.8})


@cache
def made(name="rod"):
    if name == "bennett":
        return hf.certify(hf.derive(hf.load(str(EXAMPLES / "bennett.toml"))), duration=0.02).to_dict()
    problem, duration = {"rod": (rod_twice, 0.05), "cranks": (three_cranks, 0.1)}[name]
    return hf.certify(hf.derive(problem()), hf.RK4, step=0.01, duration=duration).to_dict()


def test_rows_that_repeat_each_other_are_re_checked(tmp_path):
    found = told(copy.deepcopy(made()), tmp_path)
    assert found.words == "re-checked by the verifier: holds"
    assert [line.split(":")[0] for line in found.findings] == ["rod", "twice"]


@pytest.mark.prove
@pytest.mark.parametrize("name", ["cranks", "bennett"])
def test_loops_are_re_checked(name, tmp_path):
    assert told(copy.deepcopy(made(name)), tmp_path).holds


@pytest.mark.prove
def test_the_whole_of_bennett_is_re_checked():
    found = hf.verify(hf.certify(hf.derive(hf.load(str(EXAMPLES / "bennett.toml")))))
    assert found.holds, found.findings


def test_a_certificate_that_does_not_list_its_passes_is_read_and_not_re_checked(tmp_path):
    data = copy.deepcopy(made())
    del data["code"]["passes"]
    found = told(data, tmp_path)
    assert not found.holds
    assert not found.contradicts
    assert found.words.startswith("proved; not re-checked here")
    shown = CliRunner().invoke(main, ["verify", str(tmp_path / "certificate.json")])
    assert shown.exit_code == 1
    assert shown.output.splitlines()[0].endswith("certificate.json: not re-checked")


# ── what is shown, against steps by hand ──────────────────────────────────────────────────────────


def step_of(name):
    read = reading(claims(made(name)))
    claim = read.claims.blocks[0].ordered
    found, own = boxes_of(read, claim), read.claims
    slopes = PassedStep(
        read.equations, read.code, claim["names"], read.tableau, own.step, own.parameters, own.duration + own.step
    )
    return read, found, slopes, CentreSteps(read.equations, claim["names"], read.tableau, own.step)


@pytest.mark.parametrize("name", ["rod", pytest.param("cranks", marks=pytest.mark.prove)])
def test_slopes_hold_every_difference_of_steps(name):
    """ψ after steps from two states of a box differ by slopes that lie in the enclosures, all along between them."""
    _, found, slopes, steps = step_of(name)
    shown, rng = slopes.over(found.cells.chosen(np.arange(3))), np.random.default_rng(5)
    for box in range(3):
        centre, reach = shown.centre[box], shown.reach[box]
        for j in range(1, len(centre)):
            ends = np.tile(centre + rng.uniform(-0.9, 0.9, len(centre)) * reach, (2, 1))
            ends[:, j] = centre[j] + np.array([-0.99, 0.99]) * reach[j]
            before, _, after, _ = steps.deviations(ends)
            for values, enclosed in ((before, shown.before), (after, shown.after)):
                slope = (values[1] - values[0]) / (ends[1, j] - ends[0, j])
                for i, row in enumerate(enclosed):
                    low, high = row[j].range()
                    room = 1e-15 / (ends[1, j] - ends[0, j]) * 1e-6 + 1e-13 * abs(slope[i])
                    assert low[box] - room <= slope[i] <= high[box] + room


@pytest.mark.parametrize("name", ["rod", pytest.param("bennett", marks=pytest.mark.prove)])
def test_rounding_of_real_steps_is_within_its_bound(name):
    """The listed operations in doubles, one by one, against steps in 192 bits."""
    read, found, slopes, steps = step_of(name)
    shown, rng, worst = slopes.over(found.cells.chosen(np.arange(3))), np.random.default_rng(6), 0.0
    for box in range(3):
        for _ in range(20):
            place = shown.centre[box] + rng.uniform(-0.99, 0.99, len(shown.reach[box])) * shown.reach[box]
            place[0] = shown.centre[box, 0]
            _, _, exact, _ = steps.deviations(place[None])
            reached = native(read, place)
            before, flint.ctx.prec = flint.ctx.prec, 192
            try:
                own = np.array([float(x.mid()) for x in steps._deviations([flint.arb(x) for x in reached])])
            finally:
                flint.ctx.prec = before
            worst = max(worst, float((np.abs(own - exact[0]) / shown.rounding[:, box]).max()))
    assert 1e-3 < worst <= 1


def native(read, place):
    """One step of the tableau in doubles by the listed operations."""
    h, rows = read.claims.step, []
    for node, weights in zip(read.tableau.nodes, read.tableau.stages, strict=True):
        rows.append(rates(read, [place[0] + float(node) * h, *moved(place[1:], weights, rows, h)]))
    return [place[0] + h, *moved(place[1:], read.tableau.weights, rows, h)]


def moved(state, weights, rows, h):
    """Summed before it is multiplied and added, as drivers do."""
    slope = sum((float(weight) * row for weight, row in zip(weights, rows, strict=False)), np.zeros(len(state)))
    return [float(x) for x in state + h * slope]


def rates(read, values):
    code = read.code
    known = [*values, *(read.claims.parameters[name] for name in code.inputs[len(values) :])]
    plain = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b}
    for op, *args in code.operations:
        if op == "const":
            known.append(float(args[0]))
        elif op == "power":
            known.append(known[args[0]] ** args[1])
        elif op == "neg":
            known.append(-known[args[0]])
        elif op in plain:
            known.append(plain[op](known[args[0]], known[args[1]]))
        else:
            known.append(float(getattr(np, op)(known[args[0]])))
    return np.array([known[k] for k in code.rates])


def test_a_pass_that_uses_more_than_results_is_not_followed():
    """The places of another pass in the place of one: the values agree nowhere, or the parts do not."""
    data = copy.deepcopy(made())
    data["code"]["passes"]["changes"][2] = data["code"]["passes"]["changes"][3]
    read = reading(claims(data | {"digest": in_order.digest(data)}))
    with pytest.raises((Refused, Unconfirmed)):
        read.agreement.check([read.claims.begin, *read.claims.start])


# ── lies ──────────────────────────────────────────────────────────────────────────────────────────


def other_weights(data):
    data["code"]["passes"]["weights"][0] = "2097152"


def other_weights_everywhere(data):
    """In the operations, too: a code that is consistent, and not the one that is run."""
    passes = data["code"]["passes"]
    before = passes["weights"][0]
    passes["weights"] = [str(2 * int(x)) if x == before else x for x in passes["weights"]]
    for entry in data["code"]["operations"]:
        if entry[0] == "const" and entry[1].lstrip("-") == before:
            entry[1] = str(2 * int(entry[1]))


def fewer_passes(data):
    data["code"]["passes"]["results"].pop()
    data["code"]["passes"]["changes"].pop()


def fewer_passes_run(data):
    """Rates are those of the pass before the last."""
    passes, code = data["code"]["passes"], data["code"]
    n = len(code["rates"]) // 2
    code["rates"][n:] = passes["results"][-1][:n]
    fewer_passes(data)


def other_places(data):
    rows = data["code"]["passes"]["results"]
    rows[0], rows[1] = rows[1], rows[0]


def no_weight(data):
    data["code"]["passes"]["weights"][0] = "0"


def a_place_beyond(data):
    data["code"]["passes"]["results"][0][0] = 10**6


def other_mass(data):
    data["problem"] = data["problem"].replace("mass = 2", "mass = 3")


def other_program(data):
    """The last hinge turned a little: the loop is another one."""
    data["problem"] = data["problem"].replace("orientation = [2, 1, 0, 0]", "orientation = [2, 1.01, 0, 0]")


def other_length(data):
    data["parameters"]["a"] *= 1.01


def other_length_overridden(data):
    other_length(data)
    data["overrides"] = ["a"]


def tiny_bounds(data):
    in_order.all_bounds(data, 1e-3)


QUICK = [other_weights, fewer_passes, no_weight, a_place_beyond, other_places, in_order.fewer_steps, in_order.no_start]
LIES = [
    *QUICK, other_weights_everywhere, fewer_passes_run, tiny_bounds, in_order.smaller_rounding,
    in_order.more_steps, in_order.longer, in_order.a_contraction, in_order.called_proved,
    in_order.smaller_bound_of_a_block, tampered.longer_step, tampered.shorter_step, tampered.other_scheme,
    tampered.other_gain, other_mass, other_program, other_length, other_length_overridden, tampered.other_start,
    tampered.longer_run, tampered.other_code, tampered.a_cell_elsewhere, tampered.wide,
]  # fmt: skip


def _never_confirmed(name, lie, tmp_path):
    data = copy.deepcopy(made(name))
    before = json.dumps(data)
    lie(data)
    assert json.dumps(data) != before
    found = told(data, tmp_path)
    assert not found.holds, found.findings


@pytest.mark.parametrize("lie", QUICK, ids=lambda lie: lie.__name__)
def test_no_lie_about_passes_is_ever_confirmed(lie, tmp_path):
    _never_confirmed("rod", lie, tmp_path)


@pytest.mark.prove
@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
def test_no_lie_about_bennett_is_ever_confirmed(lie, tmp_path):
    _never_confirmed("bennett", lie, tmp_path)


@pytest.mark.prove
@pytest.mark.parametrize("name", ["rod", "bennett"])
def test_smaller_bounds_are_confirmed_down_to_what_is_shown_and_no_further(name, tmp_path):
    """Half of what is stated may be true; less than what the steps are shown to add up to is never confirmed."""
    read = reading(claims(made(name)))
    _, shown, _ = order_outcomes(read, Budget(np.inf, 10_000))[0]
    share = float((shown.bounds / np.array(shown.claim["bounds"])).max())
    for by in (0.5, 1.001 * share, 0.98 * share):
        data = copy.deepcopy(made(name))
        in_order.all_bounds(data, by)
        assert told(data, tmp_path).holds is (by >= share)
