"""The door of a program and of a problem: names, kinds, holders, starts."""

import pickle

import pytest
import sympy as sp

import holdfast as hf

x, z = hf.coordinates("x z")
m = hf.parameters("m")
SYSTEM = hf.System(coordinates=(x, z), kinetic=m * (x.rate**2 + z.rate**2) / 2, parameters={m: 2})


def refused(problem):
    with pytest.raises(hf.BadStatement) as caught:
        problem()
    return caught.value


@pytest.mark.parametrize(
    ("given", "what", "where", "fix"),
    [
        ({"holonomic": {"rod": x.rate + z}}, "'x_dot' is a rate", "program.holonomic.rod", "nonholonomic"),
        ({"holonomic": {"rod": hf.rate(x * z)}}, "'x_dot' is a rate", "program.holonomic.rod", "nonholonomic"),
        ({"holonomic": {"rod": hf.rate(sp.Abs(x))}}, "'x_dot' is a rate", "program.holonomic.rod", "nonholonomic"),
        ({"nonholonomic": {"roll": x.acceleration}}, "an acceleration", "program.nonholonomic.roll", "rates"),
        ({"holonomic": {"rod": sp.Symbol("zz")}}, "unknown name 'zz'", "program.holonomic.rod", "did you mean 'z'?"),
        ({"holonomic": {"rod": sp.Symbol("rod")}}, "'rod' is a constraint", "program.holonomic.rod", "known names"),
        ({"holonomic": {"x": z}}, "'x' is given twice", "program.holonomic.x", "rename"),
        ({"holonomic": {"rod": x}, "controls": {"rod": {x: 1}}}, "'rod' is given twice", "program.controls.rod", ""),
        ({"holonomic": {"rod": x}, "controls": {"F": {"xx": 1}}}, "unknown name 'xx'", "program.controls.F", "'x'"),
        ({"holonomic": {"rod": x}, "controls": {"F": {m: 1}}}, "'m' is a parameter", "program.controls.F", "a coord"),
        ({"holonomic": {"lambda_a": x}}, "kept for results", "program.holonomic.lambda_a", "another"),
    ],
)
def test_a_bad_program_is_refused_when_it_meets_its_system(given, what, where, fix):
    error = refused(lambda: hf.Problem(SYSTEM, hf.Program(**given)))
    assert what in error.what
    assert error.where == where
    assert fix in error.fix


@pytest.mark.parametrize(
    ("given", "what", "fix"),
    [
        ({"holonomic": {"a": x}, "nonholonomic": {"a": x.rate}}, "'a' is given twice", "rename"),
        ({"holonomic": {"x": x, x: z}}, "'x' is given twice", "keep one"),
        (
            {"holonomic": {"a": x}, "controls": {"F": {x: 1}}, "reactions": ("a",)},
            "1 constraint cannot be held by 1 control and 1 reaction",
            "remove",
        ),
        ({"holonomic": {"a": x, "b": z}, "reactions": ("a",)}, "2 constraints cannot be held by 0 controls", "add"),
        ({"holonomic": {"a": x}, "reactions": ("b",)}, "no constraint 'b'", "a"),
        (
            {"holonomic": {"a": x, "b": z}, "controls": {"F": {x: 1}}, "reactions": ("a", "a")},
            "twice among the reactions",
            "",
        ),
        ({"holonomic": {"a": x}, "reactions": "a"}, "'a' is not a list of names", '("rod",)'),
        ({"holonomic": {"a": x}, "controls": ["F"]}, "expected a mapping", "{name: value}"),
        ({"holonomic": {"a": x}, "controls": {"F": 1}}, "expected a mapping", "{name: value}"),
        ({"holonomic": {"a": x}, "law": 3}, "3 is not a law", "hf."),
    ],
)
def test_a_program_that_cannot_mean_anything_is_refused_at_once(given, what, fix):
    error = refused(lambda: hf.Program(**given))
    assert what in error.what
    assert fix in error.fix


@pytest.mark.parametrize(
    ("start", "what", "fix"),
    [
        ({"xx": 1}, "unknown name 'xx'", "did you mean 'x'?"),
        ({m: 1}, "'m' is a parameter", "coordinate"),
        ({x: z}, "'z' is a coordinate", "parameters"),
        ({x: 1, "x": 2}, "'x' is given twice", "keep one"),
        ({x: "1 +"}, "ends too early", "operand"),
        ({x.acceleration: 1}, "'x_ddot' is an acceleration", "coordinate or rate"),
    ],
)
def test_a_bad_start_is_refused(start, what, fix):
    error = refused(lambda: hf.Problem(SYSTEM, start=start))
    assert what in error.what
    assert error.where.startswith("start")
    assert fix in error.fix


def test_a_start_may_depend_on_parameters_and_what_is_not_given_is_zero():
    at = hf.derive(hf.Problem(SYSTEM, start={x: sp.sqrt(m) / 2, z.rate: 3})).evaluate()
    assert at.state.tolist() == pytest.approx([2**0.5 / 2, 0, 0, 3])
    changed = hf.derive(hf.Problem(SYSTEM, start={x: sp.sqrt(m) / 2})).evaluate(parameters={m: 9})
    assert changed["x"] == pytest.approx(1.5)


def test_other_mistakes_in_a_problem_are_refused():
    assert "System and a Program" in refused(lambda: hf.Problem(hf.Program(), SYSTEM)).what
    assert "not a Run" in refused(lambda: hf.Problem(SYSTEM, run={"step": 1})).what
    assert "not a title" in refused(lambda: hf.Problem(SYSTEM, title=3)).what
    assert "expect" in refused(lambda: hf.Problem(SYSTEM, expect="maybe")).what


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"step": 0}, "run.step"),
        ({"step": -0.1}, "run.step"),
        ({"step": float("nan")}, "run.step"),
        ({"tolerance": "small"}, "run.tolerance"),
        ({"duration": True}, "run.duration"),
        ({"begin": float("inf")}, "run.begin"),
        ({"every": 0}, "run.every"),
        ({"seed": -1}, "run.seed"),
        ({"start_policy": "guess"}, "run.start_policy"),
        ({"scheme": 4}, "run.scheme"),
    ],
)
def test_a_bad_run_is_refused_where_it_is_bad(given, where):
    assert refused(lambda: hf.Run(**given)).where == where


def test_a_law_is_judged_when_the_problem_is_stated():
    law = hf.SpringDamper(stiffness={"rood": 1})
    assert "'rood'" in refused(lambda: hf.Problem(SYSTEM, hf.Program(holonomic={"rod": x}, law=law))).what


def test_holders_follow_the_program():
    def holders(**given):
        program = hf.Program(holonomic={"a": x, "b": z}, **given)
        return hf.derive(hf.Problem(SYSTEM, program)).holder_names

    assert holders() == ("lambda_a", "lambda_b")
    assert holders(reactions=("a", "b")) == ("lambda_a", "lambda_b")
    assert holders(controls={"F": {x: 1}, "G": {z: 1}}) == ("F", "G")
    assert holders(controls={"F": {x: 1}}, reactions=("b",)) == ("lambda_b", "F")


def test_problems_are_values():
    program = hf.Program(holonomic={"rod": x**2 + z**2 - 1}, law=hf.critically_damped(3))
    problem = hf.Problem(SYSTEM, program, start={x: 1}, title="A rod")
    assert problem == hf.Problem(SYSTEM, program, start={"x": 1.0}, title="A rod")
    assert hash(problem) == hash(hf.Problem(SYSTEM, program, start={"x": 1}, title="A rod"))
    again = pickle.loads(pickle.dumps(problem))
    assert again == problem
    assert hf.derive(again).fingerprint == hf.derive(problem).fingerprint
    assert problem.with_law(hf.Unstabilised()).program.law == hf.Unstabilised()
    assert problem.program.law == hf.critically_damped(3)
