"""The problem that is meant beside the one of a certificate: the same at every state that is spoken of."""

import pytest
import sympy as sp

import holdfast as hf
from holdfast.problem.file.load_dump import dumps
from holdfast.stability.verifier.comparison import same_problem
from holdfast.stability.verifier.reading.file import claims

x, y = hf.coordinates("x y")


def sliding(force):
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, forces={x: force})
    program = hf.Program(holonomic={"line": y - x / 2}, law=hf.critically_damped(5))
    return hf.Problem(system, program, start={x: 0, x.rate: -1, y.rate: sp.Rational(-1, 2)})


@pytest.fixture(scope="module")
def stated():
    """Of a run to the left."""
    equations = hf.derive(sliding(-(x.rate**2) / 10))
    return claims(hf.certify(equations, hf.RK4, step=0.01, duration=0.3, tube=True).to_dict())


@pytest.mark.parametrize(
    "force",
    [-x.rate * sp.Abs(x.rate) / 10, -(x.rate**2) / 10 + sp.Max(0, -x - sp.Rational(29, 100))],
    ids=["a drag that knows the direction", "a stop near the end of the run"],
)
def test_problems_that_agree_at_positive_values_alone_are_not_the_same(stated, force):
    """Three points, all of them positive, were compared: a drag in the direction of motion passed for the opposite."""
    assert same_problem(stated, dumps(sliding(force))) == ["the force on x differs"]


@pytest.mark.parametrize(
    "force",
    [
        -(x.rate**2) / 10,
        -x.rate * x.rate / 10,
        -sp.sqrt(x.rate**4) / 10,
        -(x.rate**2) / 10 + sp.sqrt(x + 10) ** 2 - x - 10,
    ],
)
def test_problems_that_are_written_otherwise_are_the_same(stated, force):
    assert same_problem(stated, dumps(sliding(force))) == []


def test_what_is_nowhere_defined_is_no_difference_beside_the_run(stated):
    """exp(log z) is z where it is anything; beside the run it may be nothing."""
    text = dumps(sliding(-(x.rate**2) / 10)).replace("x_dot**2/2", "exp(log(x_dot + 40))**2/2 - 40*x_dot - 800")
    assert "exp(log" in text
    assert same_problem(stated, text) == []
