"""What cannot be held is refused by its own cause."""

import pytest
import sympy as sp

import holdfast as hf

x, y = hf.coordinates("x y")
radius = sp.Symbol("radius", real=True)
PLANE = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, definitions={"radius": sp.sqrt(x**2 + y**2)})


def refused(**program):
    stated = hf.Program(**program, law=hf.critically_damped(1))
    with pytest.raises(hf.ConstraintsDependent) as caught:
        hf.derive(hf.Problem(PLANE, stated, start={x: 1})).evaluate()
    return caught.value


@pytest.mark.parametrize("function", [x**2 + y**2 - 1, radius - 1])
def test_a_function_of_coordinates_is_not_nonholonomic(function):
    error = refused(nonholonomic={"ring": function})
    assert "contains no rate: it depends on 'x' and 'y' alone" in error.what
    assert error.fix == "state it as holonomic: program.holonomic.ring"
    hf.derive(hf.Problem(PLANE, hf.Program(holonomic={"ring": function}, law=hf.critically_damped(1)), start={x: 1}))


def test_its_rate_is():
    for function in (hf.rate(x**2 + y**2), x * y.rate - 1):
        program = hf.Program(nonholonomic={"ring": function}, law=hf.critically_damped(1))
        equations = hf.derive(hf.Problem(PLANE, program, start={x: 1, y.rate: 1}))
        assert equations.constraints == ("ring",)


@pytest.mark.parametrize("kind", ["holonomic", "nonholonomic"])
def test_a_function_of_time_alone_says_so(kind):
    assert "it depends on time, and on no coordinate or rate" in refused(**{kind: {"clock": sp.sin(hf.time)}}).what


def test_a_constant_says_so():
    assert "depends on nothing that moves" in refused(nonholonomic={"one": sp.Integer(1)}).what


def test_a_gradient_that_vanishes_at_a_state_names_the_state():
    program = hf.Program(holonomic={"square": y**2}, law=hf.critically_damped(1))
    with pytest.raises(hf.ConstraintsDependent, match="at this state: there it changes with no coordinate"):
        hf.derive(hf.Problem(PLANE, program, start={x: 1})).evaluate()
