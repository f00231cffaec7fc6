"""rate() of what contains a first-order state counts the state's own rate, wherever it is written."""

import sympy as sp

import holdfast as hf
from holdfast.graph.arithmetics.tape import Tape

x = hf.coordinates("x")
s, r = hf.states("s r")
START = {x: 1, s: 2, x.rate: 1.5}  # d(s x)/dt = 2·1.5 − 2·1 = 1


def deviation(definitions, expression):
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, states={s: -s}, definitions=definitions)
    program = hf.Program(nonholonomic={"n": expression - 1}, law=hf.SpringDamper(damping=2))
    return hf.derive(hf.Problem(system, program, start=START)).evaluate().deviation_rate[0]


def test_in_a_constraint():
    assert deviation({}, hf.rate(s * x)) == 0


def test_in_a_definition():
    assert deviation({"u": hf.rate(s * x)}, sp.Symbol("u")) == 0


def test_in_the_rate_of_another_state():
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, states={s: -s, r: hf.rate(s * x)})
    field = hf.derive(hf.Problem(system, start={**START, r: 0})).field
    assert Tape(field.inputs, field.rates)([0, 1, 1.5, 2, 0])[-1] == 1


def test_the_rates_of_states_are_written_with_the_equations():
    """Without them, what is printed is not a closed system."""
    system = hf.System(
        coordinates=(x,), kinetic=x.rate**2 / 2, forces={x: -s * x.rate}, states={r: -r, s: hf.rate(r * x)}
    )
    equations = hf.derive(hf.Problem(system))
    assert "s' = ddt(r*x)" in equations.summary()
    assert r"\dot{s} = " in equations.latex()
    assert equations.to_dict()["state_rates"] == ["-r", "ddt(r*x)"]


def test_a_definition_may_need_the_rate_of_a_state_whose_own_definitions_come_later():
    """u = d(s x)/dt with s' = −v, and v = s is stated after u."""
    u, v = sp.symbols("u v")
    system = hf.System(
        coordinates=(x,), kinetic=x.rate**2 / 2, states={s: -v}, definitions={"u": hf.rate(s * x), "v": s}
    )
    program = hf.Program(nonholonomic={"n": u - 1}, law=hf.SpringDamper(damping=2))
    assert hf.derive(hf.Problem(system, program, start=START)).evaluate().deviation_rate[0] == 0
