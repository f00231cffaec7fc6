"""Texts for NumPy, JAX, CasADi, Modelica and LaTeX compute what the kernels compute."""

import math
import re
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from numpy.testing import assert_allclose

import holdfast as hf
from holdfast.exchange.model import model_of
from tests.exchange.problems import HOSTILE, NAMES, everything, example, held_rod

PYTHON = [
    "numpy",
    pytest.param("casadi", marks=pytest.mark.skipif(find_spec("casadi") is None, reason="casadi is not installed")),
]


def states_near(model, count, seed=1):
    start = np.array(model.start)
    noise = np.random.default_rng(seed).normal(size=(count, len(start)))
    return start * (1 + 0.01 * noise) + 1e-3 * noise


def close(found, expected):
    """Equal but for the rounding of other functions and of sums in another order, which cancellation may magnify."""
    expected = np.asarray(expected, float)
    scale = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
    assert_allclose(np.asarray(found, float).ravel(), expected, rtol=1e-9, atol=1e-11 * scale)


@pytest.mark.parametrize("to", PYTHON)
@pytest.mark.parametrize("name", NAMES)
def test_python_modules_give_rates_observables_and_steps(to, name):
    equations = example(name)
    model = model_of(equations, scheme="rk4")
    module = hf.export(equations, to=to, scheme="rk4").load()
    assert (module.STATES, module.PARAMETERS) == (list(model.states), list(model.parameters))
    assert (module.START, module.VALUES) == (list(model.start), list(model.values))
    rates, t, p = hf.right_hand_side(equations), model.begin, module.VALUES
    step = hf.step_function(equations, "rk4", 1e-4)
    for state in states_near(model, 2):
        close(module.rhs(t, state, p), rates(t, state))
        observed = equations.evaluate(state, t).observables
        close(module.observe(t, state, p), list(observed.values()))
        close(module.step(t, 1e-4, state, p), step(t, state))
        if model.controls:
            close(module.control(t, state, p), [observed[name] for name in model.controls])
    if equations.solver.pivots:
        assert np.asarray(module.margin(t, np.array(model.start), p), float).ravel()[0] > 1e-12


@pytest.mark.parametrize("to", PYTHON)
def test_every_operation_is_known(to):
    equations = everything()
    module = hf.export(equations, to=to).load()
    rates = hf.right_hand_side(equations)
    for state in np.random.default_rng(0).uniform(-0.9, 0.9, size=(20, len(equations.state_names))):
        close(module.rhs(0.3, state, module.VALUES), rates(0.3, state))


CHILD = """
import importlib, sys
import numpy as np
sys.path.insert(0, ".")
for name in sys.argv[1:]:
    module, states = importlib.import_module(name), np.load(name + ".npy")
    found = [np.concatenate([module.rhs(0.3, x), module.observe(0.3, x), module.step(0.3, 1e-4, x)]) for x in states]
    slopes = __import__("jax").jacfwd(lambda x: module.rhs(0.3, x))(states[0])
    assert np.isfinite(np.asarray(slopes)).all()
    np.save(name + "_found.npy", found)
"""


@pytest.mark.skipif(find_spec("jax") is None, reason="jax is not installed")
def test_jax_gives_rates_observables_and_steps(tmp_path):
    """In a process of its own: jax starts threads, which tests that fork would hear of."""
    cases = {name: example(name) for name in ("cart_rod", "four_bar", "measured_path", "quadrotor", "kepler")}
    cases["all_operations"] = everything()
    for name, equations in cases.items():
        model = model_of(equations)
        hf.export(equations, to="jax", scheme="rk4", name=name, path=tmp_path)
        np.save(tmp_path / f"{name}.npy", states_near(model, 2))
    subprocess.run([sys.executable, "-c", CHILD, *cases], cwd=tmp_path, check=True)
    for name, equations in cases.items():
        rates, step = hf.right_hand_side(equations), hf.step_function(equations, "rk4", 1e-4)
        for state, found in zip(
            np.load(tmp_path / f"{name}.npy"), np.load(tmp_path / f"{name}_found.npy"), strict=True
        ):
            n, observed = len(state), list(equations.evaluate(state, 0.3).observables.values())
            close(found[:n], rates(0.3, state))
            close(found[n:-n], observed)
            close(found[-n:], step(0.3, state))


def test_many_cases_at_once():
    equations = example("four_bar")
    module, model = hf.export(equations, to="numpy").load(), model_of(equations)
    states = states_near(model, 5)
    together = np.asarray(module.rhs(0.0, states.T))
    assert together.shape == (len(model.states), 5)
    assert np.asarray(module.step(0.0, 1e-3, states.T)).shape == together.shape
    for k, state in enumerate(states):
        close(together[:, k], np.asarray(module.rhs(0.0, state)))


@pytest.mark.parametrize("scheme", [s for s in hf.ALL_SCHEMES if s.explicit and not s.adaptive], ids=lambda s: s.name)
def test_every_explicit_scheme_is_written(scheme):
    equations = example("pendulum")
    module, model = hf.export(equations, to="numpy", scheme=scheme).load(), model_of(equations)
    x = np.array(model.start) + 0.01
    close(module.step(0.0, 1e-3, x), hf.step_function(equations, scheme, 1e-3)(0.0, x))


def test_a_module_stands_alone(tmp_path):
    made = hf.export(example("cart_rod"), to="numpy", name="cart", path=tmp_path)
    assert [*made.files] == ["cart.py"]
    code = "import sys, cart; print(cart.rhs(0, cart.START)[2]); print(any('holdfast' in m for m in sys.modules))"
    said = subprocess.run([sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, '.'); {code}"],
                          cwd=tmp_path, capture_output=True, text=True, check=True)  # fmt: skip
    assert said.stdout.split()[1] == "False"


@pytest.mark.parametrize("title", HOSTILE)
def test_titles_stay_within_their_texts(title):
    equations = held_rod(title=title)
    module = hf.export(equations, to="numpy").load()
    assert set(vars(module)) >= {"rhs", "observe", "step", "margin"}
    assert not set(vars(module)) & {"main", "system"}
    text = hf.export(equations, to="modelica").text
    first, last = text.strip().splitlines()[0], text.strip().splitlines()[-1]
    assert re.fullmatch(r'model (\w+) "(?:[^"\\]|\\.)*"', first)
    assert last == f"end {first.split()[1]};"
    assert "\n" not in re.search(r"\\section\*\{(.*)\}", hf.export(equations, to="latex").text)[1]


# ── Modelica: not compiled here, but read by a reader of its own ──────────────────────────────────

EXPRESSION = {
    name: getattr(math, name) for name in "sqrt exp log sin cos tan sinh cosh tanh asin acos atan atan2".split()
}
CHOICE = re.compile(r"noEvent\(if (\S+) > 0 then (\S+) else (\S+)\)")
SIGN = re.compile(r"noEvent\(if (\S+) > 0 then 1 else if \S+ < 0 then -1 else 0\)")


def read_modelica(text):
    """Parameters, starts and equations of a flat model; functions are left out."""
    text = re.sub(r"^  function .*?^  end \w+;\n", "", text, flags=re.DOTALL | re.MULTILINE)
    declared, _, equations = text.partition("\nequation\n")
    parameters = dict(re.findall(r"^  parameter Real (\w+) = (\S+?)(?: \".*\")?;$", declared, re.MULTILINE))
    starts = dict(re.findall(r"^  Real (\w+)\(start = (\S+), fixed = true\)", declared, re.MULTILINE))
    known = set(re.findall(r"^  (?:parameter |output )?Real (\w+)", declared, re.MULTILINE))
    rows = re.findall(r"^  (der\(\w+\)|\w+) = (.*);$", equations, re.MULTILINE)
    return {k: float(v) for k, v in parameters.items()}, {k: float(v) for k, v in starts.items()}, known, rows


def evaluated(rows, values):
    found = {}
    for left, right in rows:
        right = SIGN.sub(r"sign(\1)", CHOICE.sub(r"(\2 if \1 > 0 else \3)", right)).replace(" ^ ", " ** ")
        scope = EXPRESSION | {"abs": abs, "min": min, "max": max, "sign": lambda a: (a > 0) - (a < 0)}
        value = eval(right, {"__builtins__": {}}, scope | values)
        found[left] = value
        values[left] = value
    return found


@pytest.mark.parametrize("name", [name for name in NAMES if name != "measured_path"])
def test_modelica_says_the_same_equations(name):
    equations = example(name)
    model = model_of(equations)
    parameters, starts, known, rows = read_modelica(hf.export(equations, to="modelica").text)
    assert list(parameters.values()) == list(model.values)
    assert list(starts.values()) == list(model.start)
    assert {left for left, _ in rows if not left.startswith("der(")} <= known
    found = evaluated(rows, parameters | starts | {"time": model.begin})
    rates = [found[f"der({name})"] for name in starts]
    close(rates, hf.right_hand_side(equations)(model.begin, np.array(model.start)))


def test_modelica_knows_every_operation():
    equations = everything()
    parameters, starts, _, rows = read_modelica(hf.export(equations, to="modelica").text)
    found = evaluated(rows, parameters | starts | {"time": 0.0})
    close([found[f"der({name})"] for name in starts], hf.right_hand_side(equations)(0.0, list(starts.values())))


def test_words_of_modelica_are_renamed():
    equations = held_rod(names="der time_x", title="model")
    parameters, starts, known, _ = read_modelica(hf.export(equations, to="modelica").text)
    assert not {"der", "model", "time"} & known
    assert len(starts) == 4
    assert len(parameters) == len(equations.parameter_names)


def test_data_are_a_function_in_modelica():
    text = hf.export(example("measured_path"), to="modelica").text
    assert re.search(r"^  function table_\w+ ", text, re.MULTILINE)
    assert len(re.findall(r"^  function ", text, re.MULTILINE)) == len(re.findall(r"^  end table_", text, re.MULTILINE))


# ── LaTeX ─────────────────────────────────────────────────────────────────────────────────────────


def test_latex_is_a_document_and_needs_no_numbers():
    made = hf.export(example("cart_rod"), to="latex", name="cart")
    assert [*made.files] == ["cart.tex"]
    assert made.text.count("\\begin{document}") == made.text.count("\\end{document}") == 1
    (x,), (k,) = hf.coordinates("x,"), hf.parameters("k,")
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, potential=k * x**2 / 2)
    assert "k" in hf.export(hf.derive(hf.Problem(system, hf.Program())), to="latex").text


def test_only_python_modules_are_loaded():
    with pytest.raises(hf.BadRequest, match="no Python module"):
        hf.export(held_rod(), to="latex").load()
    with pytest.raises(hf.BadRequest, match="one precision"):
        hf.export(held_rod(), to="numpy", precision="float")
    with pytest.raises(hf.BadRequest, match="whole model"):
        hf.export(held_rod(), to="numpy", part="controller")
