"""Slips in calls are told in the house's words: by name, near misses, what is missing."""

import pytest

import holdfast as hf
from holdfast.common.arguments import clear_arguments

x, y = hf.coordinates("x y")
SYSTEM = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2)
PROGRAM = hf.Program(holonomic={"rod": x**2 + y**2 - 1})


@pytest.mark.parametrize(
    ("slip", "what", "fix"),
    [
        (lambda: hf.SpringDamper(25, 10), "SpringDamper takes its values by name", "stiffness=..., damping=..."),
        (lambda: hf.SpringDamper(stifness=25), "SpringDamper has no 'stifness'", "did you mean 'stiffness'?"),
        (lambda: hf.Baumgarte(5), "Baumgarte takes its values by name", "hf.Baumgarte(alpha=..., "),
        (lambda: hf.Baumgarte(), "Baumgarte needs 'alpha'", "alpha=..."),
        (lambda: hf.critically_damped(), "critically_damped needs 'rate'", "hf.critically_damped(rate)"),
        (lambda: hf.Quadratic(1, 2), "Quadratic takes its values by name", "a0=..., a1=..., a2=..."),
        (lambda: hf.System((x, y)), "System takes its values by name", "hf.System(coordinates=..."),
        (lambda: hf.System(kinetic=x.rate**2), "System needs 'coordinates'", "coordinates=..."),
        (lambda: hf.System(coordinates=x, potental=x), "System has no 'potental'", "did you mean 'potential'?"),
        (lambda: hf.Program({"rod": x}), "Program takes its values by name", "holonomic=..."),
        (lambda: hf.Problem(SYSTEM, PROGRAM, {x: 1}), "Problem takes at most 2 without a name, not 3", "start=..."),
        (lambda: hf.Problem(SYSTEM, system=SYSTEM), "Problem is given 'system' twice", "keep one"),
        (lambda: hf.Problem(), "Problem needs 'system'", "hf.Problem(system, program=..."),
        (lambda: hf.Run(dt=0.1), "Run has no 'dt'", "step"),
        (lambda: hf.MovingMass((x, y), 1), "MovingMass takes its values by name", "position=..., mass=..."),
        (lambda: hf.derive(SYSTEM, PROGRAM), "derive takes at most 1 without a name, not 2", "hf.derive(problem"),
        (lambda: hf.simulate(0, hf.RK4, stepp=0.1), "simulate has no 'stepp'", "did you mean 'step'?"),
        (lambda: hf.certify(0, hf.RK4, duraton=1), "certify has no 'duraton'", "did you mean 'duration'?"),
        (lambda: hf.ensemble(0, case={}), "ensemble has no 'case'", "did you mean 'cases'?"),
        (
            lambda: hf.assemble([hf.Inertia("rotation", 1, "a")]),
            "elements are given by name, not as a list",
            '{"coil":',
        ),
        (lambda: hf.Run(step="0.01"), "step = '0.01' is a text, not a number", "remove the quotes"),
        (lambda: hf.Run(every="2"), "every = '2' is a text, not a number", "remove the quotes"),
        (lambda: hf.Run(every="two"), "every = 'two' is a text, not a number", "give a number"),
        (lambda: hf.tune(0, stepp=0.1), "tune has no 'stepp'", "did you mean 'step'?"),
        (lambda: hf.Program(holonomic={"rod": x}, law=hf.Tuned), "Tuned is a kind of law", "hf.Tuned(...)"),
        (lambda: hf.coordinates(3), "3 is not a name", 'hf.coordinates("x phi")'),
        (lambda: hf.coordinates(["x", 2]), "2 is not a name", "one string"),
        (lambda: hf.load(3), "3 is not the name of a file", "hf.load"),
        (lambda: hf.loads(1), "a problem is a text, not int", "decode"),
        (lambda: hf.derive(hf.Problem(SYSTEM, PROGRAM)).evaluate(3), "3 is not a state", "x, y, x_dot, y_dot"),
        (
            lambda: hf.derive(hf.Problem(SYSTEM, PROGRAM)).evaluate({"x": 1})["lamda_rod"],
            "no quantity",
            "'lambda_rod'?",
        ),
        (lambda: x ^ 2, "'^' is not a power here", "x**2"),
        (lambda: 2 ^ x.rate, "'^' is not a power here", "x_dot**2"),
    ],
)
def test_a_slip_is_answered_by_what_to_write(slip, what, fix):
    with pytest.raises(hf.HoldfastError) as caught:
        slip()
    assert what in caught.value.what
    assert fix in caught.value.fix


@pytest.mark.parametrize(("word", "ours"), [("dot", "x.rate"), ("velocity", "x.rate"), ("ddot", "x.acceleration")])
def test_other_words_for_a_rate_are_answered_with_ours(word, ours):
    with pytest.raises(AttributeError, match=ours):
        getattr(x, word)
    assert not hasattr(x, "anything_else")


@pytest.mark.parametrize(("slip", "name"), [("rk4", "RK4"), ("Simulate", "simulate"), ("SprngDamper", "SpringDamper")])
def test_a_public_name_that_is_not_there_suggests_the_nearest(slip, name):
    with pytest.raises(AttributeError, match=f"did you mean '{name}'"):
        getattr(hf, slip)


def test_names_may_be_given_one_by_one():
    assert hf.coordinates("x", "y") == (x, y) == hf.coordinates(["x", "y"])


def test_an_error_from_within_is_left_alone():
    @clear_arguments
    def verb(value):
        return value + "a"

    with pytest.raises(TypeError, match="unsupported operand"):
        verb(1)
    assert verb("b") == "ba"
    assert verb.__name__ == "verb"
