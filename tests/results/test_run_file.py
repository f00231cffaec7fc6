"""What a run file may say beside its columns: each field at its limits, and rows that its words must fit."""

import copy
import json

import numpy as np
import pytest

import holdfast as hf
from holdfast.results.store import run_file
from holdfast.results.store.run_file import Damaged, about, checked, problem_text, rebuilt
from tests.stability.held import pendulum

ABOUT = {
    "schema": 1, "problem": None, "state_names": ["x", "x_dot"], "columns": ["x", "x_dot", "energy"],
    "outcome": "completed", "note": "", "scheme": "rk4", "step": 0.1, "tolerance": None, "parameters": {"g": 9.81},
    "steps": 2, "nfev": 9, "rejected": 0, "every": 1, "events": {"hit": [0.1]},
    "start": {"policy": "keep", "state": [0.0, 1.0], "changes": {"x": [0.0, 1.0]}, "deviation": {"y_rod": None}},
    "against": [["slow", "It is slow.", False, None, "x"]], "undefined": {"energy": 0}, "projected": True,
    "second_order": False,
}  # fmt: skip


def changed(path, value):
    data = copy.deepcopy(ABOUT)
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return json.dumps(data)


def test_every_field_is_read():
    found = checked(json.dumps(ABOUT))
    plain = {key: value for key, value in ABOUT.items() if key not in ("start", "against")}
    assert {key: found[key] for key in plain} == plain
    assert found["against"] == [("slow", "It is slow.", False, None, "x")]
    assert found["start"]["changes"] == {"x": [0.0, 1.0]}
    assert np.isnan(found["start"]["deviation"]["y_rod"])


ALLOWED = {
    "the largest number": (("parameters", "g"), -1e300),
    "a whole number": (("parameters", "g"), 3),
    "the longest name": (("state_names",), ["x", "x_dot"]),
    "no step": (("step",), None),
    "the smallest step": (("step",), 5e-324),
    "no steps": (("steps",), 0),
    "the most steps": (("steps",), 2**63 - 1),
    "every step": (("every",), 1),
    "no events": (("events",), {}),
    "a long note": (("note",), "n" * 100_000),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_just_within_its_limits_is_read(name):
    path, value = ALLOWED[name]
    found = checked(changed(path, value))
    for key in path:
        found = found[key]
    assert found == value


REFUSED = {
    "another schema": (("schema",), 2, "it is of schema 2, which is not known here"),
    "a schema that is a truth": (("schema",), True, "it does not say its schema"),
    "a problem that is a list": (("problem",), [], "problem: no text"),
    "a note too long": (("note",), "n" * 100_001, "note: no text"),
    "a name with a blank": (("columns",), ["x", "x_dot", "en ergy"], "columns: no name"),
    "a name that begins with a digit": (("columns",), ["x", "x_dot", "1x"], "columns: no name"),
    "a name too long": (("columns",), ["x", "x_dot", "e" * 201], "columns: no name"),
    "a name twice": (("columns",), ["x", "x_dot", "x"], "columns: a name twice"),
    "names that are no list": (("columns",), "x", "columns: no list"),
    "too many names": (("columns",), ["x"] * 100_001, "columns: no list"),
    "a state that is not the first columns": (("columns",), ["x_dot", "x"], "the state is not its first columns"),
    "a start of another state": (("start", "state"), [0.0], "the start is not of its state"),
    "an unknown outcome": (("outcome",), "perfect", "outcome: an unknown word"),
    "an unknown scheme": (("scheme",), "magic", "scheme: an unknown word"),
    "an unknown policy": (("start", "policy"), "hope", "start: policy: an unknown word"),
    "a step of zero": (("step",), 0, "step: not positive"),
    "a step that is a text": (("step",), "0.1", "step: no number"),
    "a tolerance that is a truth": (("tolerance",), True, "tolerance: no number"),
    "parameters in a list": (("parameters",), ["g"], "parameters: no table"),
    "a parameter of no name": (("parameters",), {"": 1.0}, "parameters: no name"),
    "a parameter of no number": (("parameters", "g"), None, "parameters: no number"),
    "a parameter too large": (("parameters", "g"), 1.01e300, "parameters: no finite number"),
    "fewer steps than none": (("steps",), -1, "steps: no count"),
    "too many steps": (("steps",), 2**63, "steps: no count"),
    "steps that are no whole number": (("steps",), 2.0, "steps: no count"),
    "no evaluations": (("nfev",), None, "nfev: no count"),
    "every none": (("every",), 0, "every: no count"),
    "events in a list": (("events",), [], "events: no table"),
    "an event at a time that is none": (("events", "hit"), [None], "events: no number"),
    "a change of three": (("start", "changes", "x"), [0, 1, 2], "start: changes: no list, or of another length"),
    "a change that is a number": (("start", "changes", "x"), 1, "start: changes: no list, or of another length"),
    "a start that is a list": (("start",), [], "start: a table is missing"),
    "a flag that is a number": (("projected",), 1, "projected: neither true nor false"),
    "a finding of four": (("against",), [["slow", "It is slow.", False, None]], "against: no finding"),
    "a finding without a name": (("against",), [["", "It is slow.", False, None, "x"]], "against: no name"),
    "a finding of a long text": (("against",), [["slow", "s" * 10_001, False, None, "x"]], "against: no text"),
    "a finding that is undecided": (("against",), [["slow", "", None, None, "x"]], "against: neither true nor false"),
    "a finding at no time": (("against",), [["slow", "", False, "now", "x"]], "against: no number"),
    "undefined from a row before the first": (("undefined",), {"x": -1}, "undefined: no count"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_just_beyond_is_refused_by_its_own_reason(name):
    path, value, why = REFUSED[name]
    with pytest.raises(Damaged) as refused:
        checked(changed(path, value))
    assert str(refused.value) == why


@pytest.mark.parametrize("name", [name for name in ABOUT if name not in ("schema", *run_file.OPTIONAL)])
def test_no_field_may_be_missing(name):
    with pytest.raises(Damaged, match=f"it lacks the field '{name}'"):
        checked(json.dumps({key: value for key, value in ABOUT.items() if key != name}))


def test_fields_that_came_later_may_be_missing_and_no_other_may_be_there():
    older = {key: value for key, value in ABOUT.items() if key not in run_file.OPTIONAL}
    assert checked(json.dumps(older))["steps"] == 2
    with pytest.raises(Damaged, match="it has the unknown field 'mood'"):
        checked(json.dumps(ABOUT | {"mood": 1}))
    with pytest.raises(Damaged, match="it does not say its schema"):
        checked("[]")


def test_a_text_is_read_up_to_its_length(monkeypatch):
    text = json.dumps(ABOUT)
    monkeypatch.setattr(run_file, "LONGEST_TEXT", len(text))
    assert checked(text)
    monkeypatch.setattr(run_file, "LONGEST_TEXT", len(text) - 1)
    with pytest.raises(Damaged, match="too much beside the columns"):
        checked(text)


# ── rows ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def run():
    return hf.simulate(hf.derive(pendulum(0.5)), hf.RK4, step=0.01, duration=0.3)


def told(run, **changed):
    data = json.loads(about(run, problem_text(run)))
    return json.dumps(data | changed)


def again(run, text=None, times=None, **columns):
    held = {name: np.array(values) for name, values in run.columns.items()} | columns
    return rebuilt(text or told(run), np.array(run.times) if times is None else times, held)


def test_a_run_comes_back_as_it_was(run):
    back = again(run)
    assert back.outcome is run.outcome
    assert (back.steps, back.nfev, back.step, back.scheme) == (run.steps, run.nfev, run.step, run.scheme)
    assert back.start.state == run.start.state
    assert not back.times.flags.writeable
    assert not back.columns["x"].flags.writeable


def moved(run, name, size, row=7):
    values = np.array(run.columns[name])
    values[row] += size
    return {name: values}


def test_a_column_may_differ_by_rounding_and_no_more(run):
    reach = np.abs(run.columns["energy"]).max()
    assert again(run, **moved(run, "energy", 1e-8 * reach)).success
    with pytest.raises(Damaged, match="the column 'energy' is not what its states give"):
        again(run, **moved(run, "energy", 1e-5 * reach))
    with pytest.raises(Damaged, match="is not what its states give"):
        again(run, **moved(run, "energy", -1e-5 * reach))


@pytest.mark.parametrize("at", [[0.1, 0.2], [0.0, 0.1, 0.2], [0.1, 0.5], []])
@pytest.mark.parametrize("words", [{"scheme": "rk4", "step": 0.01}, {"scheme": "dop853", "tolerance": 1e-6}], ids=str)
def test_rows_at_given_times_are_saved_and_read_though_they_end_early(tmp_path, at, words):
    run = hf.simulate(hf.derive(pendulum()), duration=0.5, at=at, **words)
    (path,) = run.save(tmp_path / "run.npz")
    found = hf.Trajectory.load(path)
    assert np.array_equal(found.times, run.times)
    assert found.success
    assert found.picked


def test_times_must_increase_to_the_end_of_the_steps(run):
    still = np.array(run.times)
    still[5] = still[4]
    with pytest.raises(Damaged, match="its times do not increase"):
        again(run, times=still)
    back = np.array(run.times)
    back[5] = back[3]
    with pytest.raises(Damaged, match="its times run backwards"):
        again(run, times=back)
    lost = np.array(run.times)
    lost[5] = np.nan
    with pytest.raises(Damaged, match="its times are no numbers"):
        again(run, times=lost)
    with pytest.raises(Damaged, match="its last row is not the end of its steps"):
        again(run, told(run, steps=run.steps + 1))
    late = np.array(run.times)
    late[-1] += 1e-9 * run.step
    assert again(run, times=late).success


def test_the_words_must_be_of_the_rows(run):
    with pytest.raises(Damaged, match="the columns are not those that are named"):
        again(run, more=np.zeros_like(run.times))
    with pytest.raises(Damaged, match="a column is shorter than the times"):
        again(run, x=np.array(run.columns["x"])[:-1])
    with pytest.raises(Damaged, match="the parameters are not those of its problem"):
        again(run, told(run, parameters=dict(run.parameters) | {"h": 1.0}))
    names = list(run.columns)
    held = {name: np.array(run.columns[name]) for name in names if name != "energy"}
    with pytest.raises(Damaged, match="it lacks the quantity 'energy'"):
        rebuilt(told(run, columns=list(held)), np.array(run.times), held)
    turned = ["y", "x", "x_dot", "y_dot"]
    with pytest.raises(Damaged, match="the state is not that of its problem"):
        again_in(run, turned)


def again_in(run, states):
    names = [*states, *(name for name in run.columns if name not in states)]
    held = {name: np.array(run.columns[name]) for name in names}
    return rebuilt(told(run, columns=names, state_names=states), np.array(run.times), held)


@pytest.mark.parametrize(
    ("name", "outcome"),
    [("x", hf.Outcome.not_finite), ("energy", hf.Outcome.undefined), ("lambda_rod", hf.Outcome.undefined)],
)
def test_a_run_with_values_that_are_none_is_not_called_good(run, name, outcome):
    found = again(run, **moved(run, name, np.nan))
    assert found.outcome is outcome
    finding = found.against[-1]
    assert (finding.name, finding.failing, finding.quantity) == ("undefined", True, name)
    assert finding.time == run.times[7]
    assert finding.text == f"{name}: infinite or undefined from t = 0.07 (row 7) on."


def test_of_many_columns_that_are_none_the_first_is_told(run):
    names = list(run.columns)[:8]
    bad = {}
    for k, name in enumerate(names):
        bad |= moved(run, name, np.inf, row=20 - k)
    finding = again(run, **bad).against[-1]
    assert finding.quantity == names[7]
    assert finding.time == run.times[13]
    assert finding.text.startswith(", ".join(names[:6]) + " and 2 more: infinite or undefined from t = 0.13 (row 13)")


def test_a_bad_outcome_stays_bad(run):
    assert again(run, told(run, outcome="deviation_grew")).outcome is hf.Outcome.deviation_grew


def test_infinite_values_that_cancel_are_found_too():
    values = {"a": np.array([1.0, np.inf, -np.inf]), "b": np.array([1e308, 1e308, 1.0]), "c": np.array([0.0, np.nan])}
    assert run_file.undefined(values) == {"a": 1, "c": 1}
