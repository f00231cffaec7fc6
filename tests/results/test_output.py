"""Quantities that a problem asks for, rows at given times, and texts for expressions in Python."""

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import holdfast as hf

x, y = hf.coordinates("x y")
OUTPUT = {"load": "abs(lambda_rod)", "speed": sp.sqrt(x.rate**2 + y.rate**2), "height": "bob.y + l"}


def pendulum(**more) -> hf.Problem:
    system = hf.System(
        coordinates=(x, y),
        kinetic="m*dot(ddt(bob), ddt(bob))/2",
        potential="m*g*bob.y",
        parameters={"m": 1, "g": 9.81, "l": 2},
        points={"bob": ("x", "y")},
        definitions={"r": "sqrt(x**2 + y**2)"},
    )
    program = hf.Program(holonomic={"rod": "r - l"}, law=hf.critically_damped(5))
    return hf.Problem(system, program, start={"x": "l"}, **{"run": hf.Run(scheme="rk4", step=0.01, duration=2), **more})


def test_texts_are_read_as_in_files_and_never_run():
    problem = pendulum()
    symbols = hf.System(
        coordinates=(x, y),
        kinetic=hf.parameters("m") * (x.rate**2 + y.rate**2) / 2,
        potential=hf.parameters("m") * hf.parameters("g") * y,
        parameters={"m": 1, "g": 9.81},
    )
    assert sp.expand(problem.system.kinetic - symbols.kinetic) == 0
    assert sp.expand(problem.system.potential - symbols.potential) == 0
    assert hf.simulate(hf.derive(problem)).success


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("m*z_dot**2", "unknown name 'z_dot'"),
        ("m*x_dot**", "ends too early"),
        ("__import__('os').system('true')", "do not belong"),
        ("bob", "is a vector"),
        ("", "empty"),
    ],
)
def test_a_text_that_is_none_is_refused_where_it_stands(text, said):
    with pytest.raises(hf.HoldfastError) as error:
        hf.System(coordinates=(x, y), kinetic=text, parameters={"m": 1}, points={"bob": ("x", "y")})
    assert error.value.where == "system.kinetic"
    assert said in error.value.what


def test_symbols_of_sympys_mechanics_are_understood():
    t = dynamicsymbols._t
    X, Y = dynamicsymbols("x y")
    theirs = hf.System(coordinates=(x, y), kinetic=X.diff(t) ** 2 / 2 + Y * Y.diff(t) ** 2, potential=X * Y)
    ours = hf.System(coordinates=(x, y), kinetic=x.rate**2 / 2 + y * y.rate**2, potential=x * y)
    assert theirs == ours


def test_output_is_shown_wherever_columns_are(tmp_path):
    problem = pendulum(output=OUTPUT)
    assert hf.loads(hf.dumps(problem)).output == problem.output
    run = hf.simulate(hf.derive(problem))
    assert np.allclose(run["load"], np.abs(run["lambda_rod"]), rtol=1e-13)
    assert np.allclose(run["height"], run["y"] + 2)
    assert list(run.to_pandas().columns[-3:]) == list(OUTPUT)
    run.to_csv(tmp_path / "run.csv")
    with pytest.raises(hf.HoldfastError, match="no name of a CSV"):
        run.to_csv(tmp_path / "run.nc")
    assert (tmp_path / "run.csv").read_text().splitlines()[0].endswith("load,speed,height")
    run.save(tmp_path / "run.npz")
    back = hf.Trajectory.load(tmp_path / "run.npz")
    assert np.allclose(back["speed"], run["speed"])
    assert "speed" in back
    many = hf.ensemble(hf.derive(problem), cases={"g": [1.0, 9.81]})
    assert many.reduce("max(load)")[1] == pytest.approx(run["load"].max())
    many.to_csv(tmp_path / "many.csv")
    assert len((tmp_path / "many.csv").read_text().splitlines()) == 3
    page = hf.report(run).html
    assert "Quantities asked for" in page


@pytest.mark.parametrize(
    ("output", "said"), [({"x": "y"}, "a name of the problem"), ({"a": 3}, "not an expression"), ({"1a": "x"}, "name")]
)
def test_output_that_cannot_be_is_refused(output, said):
    with pytest.raises(hf.HoldfastError, match=said):
        pendulum(output=output)


def test_a_run_keeps_rows_at_the_times_it_states():
    problem = pendulum(run=hf.Run(scheme="rk4", step=0.01, duration=2, at=[0.5, 1, 1.5]))
    run = hf.simulate(hf.derive(problem))
    assert run.times.tolist() == [0.5, 1.0, 1.5]
    whole = hf.simulate(hf.derive(pendulum()))
    assert np.array_equal(run["x"], whole["x"][[50, 100, 150]])
    assert hf.loads(hf.dumps(problem)).run == problem.run
    for wrong in ([1, 1], [], ["a"], 3, [2, 1]):
        with pytest.raises(hf.HoldfastError, match="times"):
            hf.Run(scheme="rk4", step=0.01, at=wrong)
