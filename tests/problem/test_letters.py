"""Letters: parameters and functions without values, in Python, in files, and where numbers are asked for."""

import math
import pickle

import numpy as np
import pytest
import sympy as sp

import holdfast as hf

t = hf.time
x, y = hf.coordinates("x y")
m, l, g, k, b = hf.parameters("m l g k b")
eta = hf.functions("eta")

TEXT = """
schema = 1
[system]
coordinates = ["x", "y"]
kinetic = "m*(x_dot**2 + y_dot**2)/2"
potential = "m*g*y"
[system.forces]
x = "f_c"
[functions]
eta = "?"
f_c = { of = ["x", "x_dot"] }
[parameters]
m = "?"
l = "?"
g = "?"
k = "?"
b = "?"
[program.holonomic]
rod = "x**2 + y**2 - (l + eta)**2"
[program.law]
kind = "spring-damper"
stiffness = "k"
damping = "b"
"""


def pendulum(**changes):
    parts = {"kinetic": m * (x.rate**2 + y.rate**2) / 2, "potential": m * g * y} | changes
    law = hf.SpringDamper(stiffness=k, damping=b)
    program = hf.Program(holonomic={"rod": x**2 + y**2 - (l + eta) ** 2}, law=law)
    return hf.Problem(hf.System(coordinates=(x, y), **parts), program, start={y: -l})


# ---------------------------------------------------------------- functions as expressions


def test_rates_of_a_function_of_time_are_functions_again():
    assert (str(eta.rate), str(eta.rate.rate)) == ("eta_dot", "eta_ddot")
    assert hf.rate(eta**2 * t) == eta**2 + 2 * t * eta * eta.rate
    assert sp.latex(eta.rate.rate) == r"\ddot{\eta}"
    assert sp.diff(eta.rate, t) == eta.rate.rate
    assert sp.latex(eta.rate.rate.rate**2) == r"{\eta^{(3)}}^{2}"
    assert str(eta.subs(t, 2)) == "eta(2)"
    assert str(eta.rate.subs(t, 2)) == "D[1](eta)(2)"


def test_the_chain_rule_holds_for_functions_of_the_motion():
    f = hf.function("f_c", of=(x, x.rate))
    by_x, by_v = sp.diff(f, x), sp.diff(f, x.rate)
    assert f.rate == by_x * x.rate + by_v * x.acceleration
    assert sp.diff(f, x, x.rate) == sp.diff(f, x.rate, x)
    concrete = x**2 * sp.sin(x.rate)
    replaced = {f: concrete, by_x: sp.diff(concrete, x), by_v: sp.diff(concrete, x.rate)}
    assert sp.expand(f.rate.xreplace(replaced) - hf.rate(concrete)) == 0


def test_functions_are_pickled_and_compared_by_what_they_are():
    assert pickle.loads(pickle.dumps(eta.rate)) == eta.rate
    assert hf.function("eta") == eta != hf.function("eta", of=x)


@pytest.mark.parametrize("wrong", [("f", (x, x)), ("f", ()), ("f", (x * y,)), ("x_dot", None), ("lambda_f", None)])
def test_a_bad_function_is_refused(wrong):
    name, of = wrong
    with pytest.raises(hf.BadStatement):
        hf.function(name, of=of)


# ---------------------------------------------------------------- deriving with letters


def test_equations_with_letters_are_those_with_numbers():
    equations = hf.derive(pendulum())
    assert equations.letters == ("b", "g", "k", "l", "m", "eta")
    numbers = {m: 2, l: 1.5, g: 9.81, k: 4, b: 3, "eta": sp.sin(t) / 10}
    closed = hf.derive(pendulum().with_values(numbers))
    state = {x: 0.7, y: -1.2, x.rate: 0.3, y.rate: 0.2}
    at = closed.evaluate(state, 0.4)
    put = {s: sp.nsimplify(v) for s, v in numbers.items() if s != "eta"}
    put |= {x: 0.7, y: -1.2, x.rate: 0.3, y.rate: 0.2}
    path = sp.sin(t) / 10
    put |= {eta: path, eta.rate: sp.diff(path, t), eta.rate.rate: sp.diff(path, t, 2)}
    y_rod = hf.deviations("rod")
    put |= {y_rod: equations.deviation[0], y_rod.rate: equations.deviation_rate[0]}
    formula = equations.inverse_dynamics["lambda_rod"]
    for _ in range(2):
        formula = formula.subs(put)
    assert float(formula.subs(t, 0.4)) == pytest.approx(at.multipliers[0], rel=1e-12)


def test_what_is_decided_by_numbers_is_said():
    text = hf.derive(pendulum()).summary()
    assert "random values of b, g, k, l, m, eta" in text
    assert "eta(t): undetermined" in text
    assert hf.derive(pendulum()).to_dict()["letters"] == ["b", "g", "k", "l", "m", "eta"]


def test_a_contradiction_among_letters_is_still_found():
    program = hf.Program(holonomic={"one": m * x - l, "two": 2 * m * x - 3 * l})
    system = hf.System(coordinates=(x, y), kinetic=m * (x.rate**2 + y.rate**2) / 2)
    with pytest.raises(hf.ConstraintsDependent):
        hf.derive(hf.Problem(system, program))


def test_a_law_that_does_not_vanish_is_found_among_letters():
    law = hf.GeneralLaw({"rod": -k * hf.deviations("rod") + eta})
    with pytest.raises(hf.BadStatement, match="does not vanish"):
        hf.derive(pendulum().with_law(law))


def test_a_letter_keeps_what_is_assumed_of_it():
    (p,) = hf.parameters("p,", positive=True)
    system = hf.System(coordinates=x, kinetic=p * x.rate**2 / 2, potential=sp.sqrt(p**2) * x)
    assert hf.derive(hf.Problem(system)).bias[0] == -p


# ---------------------------------------------------------------- asking for numbers


ASKED = {
    "simulate": lambda e: hf.simulate(e, hf.RK4, step=0.01, duration=1),
    "certify": lambda e: hf.certify(e, hf.RK4, step=0.01, duration=1),
    "tune": lambda e: hf.tune(e, hf.RK4, step=0.01, duration=1),
    "ensemble": lambda e: hf.ensemble(e, hf.RK4, step=0.01, duration=1, cases={x: [0, 1]}),
    "evaluate": lambda e: e.evaluate(),
    "spectrum": lambda e: hf.spectrum(e),
    "check": lambda e: hf.checked_start(e),
    "parameter_values": lambda e: e.parameter_values,
}


@pytest.mark.parametrize("verb", ASKED)
def test_what_needs_numbers_asks_for_all_letters_at_once(verb):
    with pytest.raises(hf.OpenLetters) as caught:
        ASKED[verb](hf.derive(pendulum()))
    for name in ("b", "g", "k", "l", "m", "eta(t)"):
        assert name in caught.value.what
    assert "with_values" in caught.value.fix


def test_parameters_of_a_verb_close_letters_too():
    equations = hf.derive(pendulum().with_values({"eta": 0}))
    numbers = {m: 1, l: 1, g: 9.81, k: 16, b: 8}
    run = hf.simulate(equations, hf.RK4, step=0.01, duration=1, parameters=numbers, start={x: 0.6, y: -0.8})
    closed = hf.derive(pendulum().with_values({"eta": 0, **numbers}))
    other = hf.simulate(closed, hf.RK4, step=0.01, duration=1, start={x: 0.6, y: -0.8})
    assert np.array_equal(run["x"], other["x"])
    certificate = hf.certify(equations, hf.RK4, trajectory=run, parameters=numbers)
    assert certificate.blocks[0].label.positive
    with pytest.raises(hf.OpenLetters, match="k has no value"):
        hf.simulate(equations, hf.RK4, step=0.01, duration=1, parameters={m: 1, l: 1, g: 9.81, b: 8})


def test_values_are_given_by_symbol_or_name_and_typos_get_a_hint():
    problem = pendulum()
    assert problem.with_values({m: 1, "l": 2, eta: t}).open_letters == ("b", "g", "k")
    with pytest.raises(hf.BadStatement, match="etta"):
        problem.with_values({"etta": 1})
    with pytest.raises(hf.BadStatement, match="uses 'x'"):
        problem.with_values({eta: x})


# ---------------------------------------------------------------- files


def test_a_file_without_any_number_is_derived_and_written_back():
    problem = hf.loads(TEXT)
    assert hf.loads(hf.dumps(problem)) == problem
    assert pickle.loads(pickle.dumps(problem)) == problem
    assert "f_c" in hf.derive(problem).summary()


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('stiffness = "k"', 'stiffness = "kk"', "unknown name 'kk'"),
        ('x = "f_c"', 'x = "f_d"', "unknown name 'f_d'"),
        ('of = ["x", "x_dot"]', 'of = ["x", "z_dot"]', "unknown name 'z_dot'"),
        ('eta = "?"', 'eta = "sin(x)"', "'eta' is a function of t"),
        ('eta = "?"', 'eta = { file = "../up.csv" }', "not below the folder"),
        ('eta = "?"', 'eta = { file = "/etc/passwd" }', "not below the folder"),
        ('eta = "?"', 'eta = { file = "near.csv" }', "no folder"),
        ('eta = "?"', "eta = { times = [0, 1], values = [1] }", "2 times and 1 values"),
        ('eta = "?"', "eta = { times = [0, 1], values = [1, 2] }", "too few"),
        ('eta = "?"', "eta = { times = [0, 2, 1], values = [1, 2, 3], degree = 1 }", "do not increase"),
        ('eta = "?"', "eta = { tims = [0] }", "unknown key 'tims'"),
        ('eta = "?"', 'eta = { value = "t", times = [0] }', "both given"),
        ('m = "?"', 'm = "??"', ""),
        ('eta = "?"', 'm = "?"', "given twice"),
    ],
)
def test_a_bad_file_is_refused_with_its_place(old, new, what):
    assert old in TEXT
    with pytest.raises(hf.BadFile) as caught:
        hf.loads(TEXT.replace(old, new, 1))
    assert what in str(caught.value)
    assert caught.value.findings[0].line


# ---------------------------------------------------------------- data

TIMES = np.linspace(0, 2, 81)


def driven(value):
    u = hf.functions("u")
    system = hf.System(coordinates=x, kinetic=x.rate**2 / 2, forces={x: u}, functions={u: value})
    return hf.derive(hf.Problem(system))


def test_a_force_by_data_moves_as_the_function_it_samples():
    given = hf.simulate(driven(hf.data(TIMES, np.cos(3 * TIMES))), hf.RK4, step=0.01, duration=2)
    exact = hf.simulate(driven(sp.cos(3 * t)), hf.RK4, step=0.01, duration=2)
    assert np.abs(given["x"] - exact["x"]).max() < 1e-8
    assert np.abs(given["x"] - (1 - np.cos(3 * given.times)) / 9).max() < 1e-8


def test_a_path_by_data_is_followed_with_its_exact_derivatives():
    track = hf.functions("track")
    system = hf.System(coordinates=x, kinetic=x.rate**2 / 2, functions={track: hf.data(TIMES, np.sin(TIMES))})
    program = hf.Program(holonomic={"path": x - track}, controls={"F": {x: 1}}, law=hf.critically_damped(5))
    run = hf.simulate(hf.derive(hf.Problem(system, program)), hf.RK4, step=0.01, duration=2, start={x.rate: 1})
    assert np.abs(run["F"] + np.sin(run.times)).max() < 1e-5
    assert np.abs(run["y_path"]).max() < 1e-8


def test_lanes_and_single_runs_read_the_same_table():
    equations = driven(hf.data(TIMES, np.cos(3 * TIMES)))
    runs = hf.ensemble(equations, hf.RK4, step=0.01, duration=1, cases={x: [0.0, 1.0, 2.0, 3.0, 4.0]})
    one = hf.simulate(equations, hf.RK4, step=0.01, duration=1, start={x: 3.0})
    assert runs[3]["x"][-1] == one["x"][-1]


def test_a_function_of_the_state_by_data():
    pull = hf.function("pull", of=x)
    places = np.linspace(-2, 2, 81)
    system = hf.System(
        coordinates=x, kinetic=x.rate**2 / 2, forces={x: pull}, functions={pull: hf.data(places, -places)}
    )
    run = hf.simulate(hf.derive(hf.Problem(system, start={x: 1})), hf.RK4, step=0.01, duration=2)
    assert run["x"][-1] == pytest.approx(math.cos(2), abs=1e-9)


def test_a_run_beyond_its_data_is_refused():
    equations = driven(hf.data(TIMES, np.cos(TIMES)))
    with pytest.raises(hf.BadRequest, match="reach from 0 to 2") as caught:
        hf.simulate(equations, hf.RK4, step=0.01, duration=3)
    assert "extrapolated" in caught.value.fix


def test_data_come_from_a_csv_file_beside_the_problem(tmp_path):
    rows = "\n".join(f"{s},{math.cos(s)},0" for s in TIMES)
    (tmp_path / "push.csv").write_text(f"time,push,other\n{rows}\n")
    text = """schema = 1
[system]
coordinates = ["x"]
kinetic = "x_dot**2/2"
[system.forces]
x = "u"
[functions]
u = { file = "push.csv", columns = ["time", "push"] }
"""
    (tmp_path / "pushed.toml").write_text(text)
    problem = hf.load(tmp_path / "pushed.toml")
    assert problem == hf.loads(hf.dumps(problem))  # written out, so that the text is whole
    run = hf.simulate(hf.derive(problem), hf.RK4, step=0.01, duration=2)
    assert run["x"][-1] == pytest.approx(1 - math.cos(2), abs=1e-7)
    for wrong in ('"time", "pish"', '"time"'):
        (tmp_path / "wrong.toml").write_text(text.replace('"time", "push"', wrong))
        with pytest.raises(hf.BadFile, match="columns asked for"):
            hf.load(tmp_path / "wrong.toml")
    (tmp_path / "push.csv").write_text("time,push\n0,1\n1,x\n")
    with pytest.raises(hf.BadFile, match="row 3"):
        hf.load(tmp_path / "pushed.toml")


def test_cases_of_an_ensemble_close_letters():
    system = hf.System(coordinates=x, kinetic=m * x.rate**2 / 2, potential=k * x**2 / 2)
    equations = hf.derive(hf.Problem(system, start={x: 1}))
    runs = hf.ensemble(equations, hf.RK4, step=0.01, duration=1, cases={m: [1, 4]}, parameters={k: 4})
    assert runs[1]["x"][-1] == pytest.approx(math.cos(1), abs=1e-9)
    with pytest.raises(hf.OpenLetters, match="k has no value"):
        hf.ensemble(equations, hf.RK4, step=0.01, duration=1, cases={m: [1, 4]})


def test_a_mass_of_letters_is_not_refused_for_random_values():
    m1, m2 = hf.parameters("m1 m2")
    point = hf.MovingMass(position=(x,), mass=m1 - 3 * m2, force=(-(m1 - 3 * m2) * g,))
    equations = hf.derive(hf.Problem(hf.System(coordinates=x, masses={"point": point})))
    assert sp.expand(equations.mass_matrix[0, 0] - (m1 - 3 * m2)) == 0
    with pytest.raises(hf.BadStatement, match="at the start"):
        equations.with_values({m1: 1, m2: 1, g: 9.81})


def test_a_question_mark_in_an_expression_is_told_where_letters_are_declared():
    text = 'schema = 1\n[system]\ncoordinates = ["x"]\nkinetic = "?*x_dot**2"\n'
    with pytest.raises(hf.BadFile, match=r'declare a letter, \[parameters\] k = "\?"'):
        hf.loads(text)
