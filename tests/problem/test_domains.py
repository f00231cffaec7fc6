"""Elements of several domains: assembled as stated, alike in every domain, and refused where they do not fit."""

import json
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import holdfast as hf
from holdfast.problem.network.domains import table
from holdfast.problem.units.dimensions import dimension, text_of

DATA = Path(__file__).parent.parent / "reference" / "data"
L, R, C, U, K, J, b = hf.parameters("L R C U K J b")


def series(values):
    """A coil, a resistor and a capacitor in one loop with a battery."""
    return hf.assemble(
        {
            "battery": hf.Source("electrical", U, ("g", "a")),
            "coil": hf.Inertia("electrical", L, ("a", "b")),
            "wire": hf.Resistance("electrical", R, ("b", "c")),
            "capacitor": hf.Compliance("electrical", C, ("c", "g")),
        },
        parameters=values,
        units={"L": "H", "R": "ohm", "C": "F", "U": "V"},
    )


def run(made, times, law=None, **options):
    problem = made.problem(law)
    return hf.simulate(hf.derive(problem), hf.DOP853, tolerance=1e-13, duration=times[-1], at=times, **options)


# ---------------------------------------------------------------- figures


def test_a_circuit_and_a_spring_give_the_same_figures():
    circuit = run(series({L: 0.5, R: 2, C: 0.1, U: 1}), [0.5, 1])
    m, k, c, F = hf.parameters("m k c F")
    spring = hf.assemble(
        {
            "body": hf.Inertia("translation", m, "x"),
            "damper": hf.Resistance("translation", k, "x"),
            "spring": hf.Compliance("translation", stiffness=c, at="x"),
            "hand": hf.Source("translation", F, "x"),
        },
        parameters={m: 0.5, k: 2, c: 10, F: 1},
    )
    body = run(spring, [0.5, 1])
    for charge, current in ((circuit["q_coil"], circuit["q_coil_dot"]), (body["x"], body["x_dot"])):
        assert_allclose(charge, [0.0985835951, 0.1139672085], rtol=0, atol=6e-11)
        assert current[0] == pytest.approx(0.1672559146, abs=6e-11)


def reference(name, columns):
    """The states of a public benchmark: times, and one row per coordinate, then rate."""
    states = json.loads((DATA / f"{name}.json").read_text("utf-8"))["states"]
    times = sorted(map(float, states))
    rows = {float(time): {**row["q"], **row["v"]} for time, row in states.items()}
    return times, np.array([[float(rows[time][column]) for time in times] for column in columns])


def test_the_series_circuit_of_the_benchmarks():
    times, expected = reference("rlc_series", ("q", "i"))
    found = run(series({L: 0.1, R: 20, C: 1e-4, U: 10}), times)
    assert_allclose([found["q_coil"], found["q_coil_dot"]], expected, rtol=0, atol=1e-12)


def motor():
    return hf.assemble(
        {
            "supply": hf.Source("electrical", U, ("g", "a")),
            "coil": hf.Inertia("electrical", L, ("a", "b")),
            "wire": hf.Resistance("electrical", R, ("b", "c")),
            "motor": hf.Gyrator(K, ("electrical", ("c", "g")), ("rotation", "shaft")),
            "rotor": hf.Inertia("rotation", J, "shaft"),
            "bearing": hf.Resistance("rotation", b, "shaft"),
        },
        parameters={L: 0.5, R: 1, K: 0.01, J: 0.01, b: 0.1, U: 1},
    )


def test_the_motor_of_the_benchmarks():
    data = Path(DATA / "dc_motor.json")
    found = run(motor(), [0, 0.5, 1, 3])
    expected = {
        "q_coil": [0, 1.839073890824772743e-1, 5.674505091906907206e-1, 2.499328725280793689],
        "shaft": [0, 1.297372891220032489e-2, 4.844133980198783666e-2, 2.399735961639037300e-1],
        "q_coil_dot": [0, 6.319257472568014449e-1, 8.641301548225788021e-1, 9.965430775151345477e-1],
        "shaft_dot": [0, 5.417009996047402537e-2, 8.303711117081235392e-2, 9.959276364175638924e-2],
    }
    if data.exists():
        _, rows = reference("dc_motor", ("q", "th", "i", "w"))
        assert_allclose(list(expected.values()), rows, rtol=1e-15)
    for name, values in expected.items():
        assert_allclose(found[name], values, rtol=0, atol=2e-12)
    powers = hf.derive(motor().problem()).evaluate({"q_coil_dot": 2, "shaft_dot": 3})
    assert powers["power_forces"] == pytest.approx(1 * 2)  # the gyrator itself does no work


def piston():
    m, c, I, p0, A = hf.parameters("m c I p0 A")
    return hf.assemble(
        {
            "piston": hf.Inertia("translation", m, "x"),
            "spring": hf.Compliance("translation", stiffness=c, at="x"),
            "pump": hf.Source("hydraulic", p0, ("tank", "a")),
            "line": hf.Inertia("hydraulic", I, ("a", "b")),
            "pipe": hf.Resistance("hydraulic", R, ("b", "c")),
            "cylinder": hf.Transformer(A, ("translation", "x"), ("hydraulic", ("c", "tank"))),
        },
        parameters={m: 2, c: 50, I: 8, R: 6, p0: 100, A: 0.5},
        units={"m": "kg", "c": "N/m", "I": "Pa s^2/m^3", "R": "Pa s/m^3", "p0": "Pa", "A": "m^2"},
    )


def test_piston_and_line_from_elements():
    law = hf.SpringDamper(stiffness=25, damping=10)
    found = run(piston(), [0, 0.5, 1, 2], law)
    assert_allclose(found["x"], [0, 1.1285210138, 1.7837988308, 0.4847818752], rtol=0, atol=2e-10)
    assert_allclose(found["lambda_cylinder"], [-50, -101.681696, -140.859618, -71.677469], rtol=0, atol=1e-6)
    off = run(piston(), [1], law, start={"q_line": 0.1}, start_policy="keep")
    assert off["y_cylinder"][0] == pytest.approx(0.1 * 6 * np.exp(-5), abs=1e-11)
    assert off["y_cylinder"][0] == pytest.approx(0.0040427682, abs=1e-10)
    assert off["x"][0] == pytest.approx(1.7516385516, abs=1e-9)


def test_the_energy_balance_closes_in_every_domain():
    for made, law in (
        (series({L: 0.5, R: 2, C: 0.1, U: 1}), None),
        (motor(), None),
        (piston(), hf.critically_damped(5)),
    ):
        found = hf.simulate(hf.derive(made.problem(law)), hf.RK4, step=0.001, duration=1)
        assert np.abs(found.energy_balance.residual).max() < 1e-9 * (1 + np.abs(found.energy).max())


# ---------------------------------------------------------------- loops


@st.composite
def circuits(draw):
    """A circuit: a ring of resistors closed by a coil, more branches between its nodes, and a battery."""
    size = draw(st.integers(2, 4))
    nodes = [f"n{k}" for k in range(size)]
    value = st.integers(1, 8).map(lambda k: sp.Rational(k, 4))
    elements = {f"s{k}": hf.Resistance("electrical", draw(value), (nodes[k], nodes[k + 1])) for k in range(size - 1)}
    elements["back"] = hf.Inertia("electrical", draw(value), (nodes[-1], nodes[0]))
    for k in range(draw(st.integers(1, 5))):
        begin, end = draw(st.permutations(nodes))[:2]
        middle = f"m{k}"
        elements[f"coil{k}"] = hf.Inertia("electrical", draw(value), (begin, middle))
        kind = draw(st.sampled_from([hf.Compliance, hf.Resistance]))
        elements[f"rest{k}"] = kind("electrical", draw(value), (middle, end))
    begin, end = draw(st.permutations(nodes))[:2]
    elements["battery"] = hf.Source("electrical", sp.cos(hf.time), ("extra", begin))
    elements["choke"] = hf.Inertia("electrical", draw(value), (end, "extra"))
    return elements


def number(expression, state):
    return float(expression.xreplace({symbol: state[symbol.name] for symbol in expression.free_symbols}))


@given(circuits())
@settings(max_examples=25, deadline=None)
def test_what_flows_into_a_node_flows_out_and_efforts_around_a_loop_cancel(elements):
    made = hf.assemble(elements)
    balance = {}
    for name, element in elements.items():
        begin, end = element.at
        balance[begin] = balance.get(begin, 0) - made.flows[name]
        balance[end] = balance.get(end, 0) + made.flows[name]
    assert all(sp.expand(sum_) == 0 for sum_ in balance.values())
    equations = hf.derive(made.problem())
    state = {name: 0.1 + 0.2 * k for k, name in enumerate(equations.state_names)}
    at = equations.evaluate(state, 0.5)
    moving = {f"{c}_dot": a for c, a in zip(equations.coordinates, at.accelerations, strict=True)}
    efforts = {}
    for name, element in elements.items():
        q, f = made.displacements[name], made.flows[name]
        if isinstance(element, hf.Inertia):
            efforts[name] = float(element.value) * sum(float(sp.diff(f, s)) * moving[s.name] for s in f.free_symbols)
        elif isinstance(element, hf.Resistance):
            efforts[name] = float(element.value) * number(f, state)
        elif isinstance(element, hf.Compliance):
            efforts[name] = number(q, state) / float(element.value)
        else:
            efforts[name] = -np.cos(0.5)
    waiting, potential = ["n0"], {"n0": 0.0}
    while waiting:
        node = waiting.pop()
        for name, element in elements.items():
            begin, end = element.at
            for here, there, drop in ((begin, end, efforts[name]), (end, begin, -efforts[name])):
                if here == node and there not in potential:
                    potential[there] = potential[here] - drop
                    waiting.append(there)
    for name, element in elements.items():
        begin, end = element.at
        assert potential[begin] - potential[end] == pytest.approx(efforts[name], abs=1e-9)


def test_each_coil_has_a_charge_of_its_own():
    made = hf.assemble(
        {
            "one": hf.Inertia("electrical", 1, ("a", "b")),
            "two": hf.Inertia("electrical", 2, ("a", "b")),
            "wire": hf.Resistance("electrical", 3, ("a", "b")),
        }
    )
    assert [c.name for c in made.system.coordinates] == ["q_one", "q_two"]
    assert hf.derive(made.problem()).mass_matrix == sp.diag(1, 2)


def test_a_massless_gear_is_carried_by_its_joints():
    """Two wheels joined through a shaft without inertia: the saddle form, and the motion of one equivalent wheel."""
    made = hf.assemble(
        {
            "drive": hf.Source("rotation", 6, "one"),
            "wheel": hf.Inertia("rotation", 2, "one"),
            "gear": hf.Transformer(3, ("rotation", "one"), ("rotation", "middle")),
            "belt": hf.Transformer(sp.Rational(1, 2), ("rotation", "middle"), ("rotation", "two")),
            "load": hf.Inertia("rotation", 4, "two"),
        }
    )
    equations = hf.derive(made.problem())
    assert equations.solver.form == "weighted"
    assert equations.evaluate()["one_ddot"] == pytest.approx(6 / (2 + 4 * 1.5**2))


def test_a_capacitor_beside_a_resistor_is_a_state_of_first_order():
    """U − L i' = v, C v' = i − v/R, against SciPy."""
    made = hf.assemble(
        {
            "battery": hf.Source("electrical", U, ("g", "a")),
            "coil": hf.Inertia("electrical", L, ("a", "b")),
            "capacitor": hf.Compliance("electrical", C, ("b", "g")),
            "load": hf.Resistance("electrical", R, ("b", "g")),
        },
        parameters={L: 0.5, R: 2, C: 0.1, U: 1},
    )
    assert list(made.system.states) == ["q_capacitor"]
    found = run(made, [0, 1, 2])

    def rates(_, y):
        return [(1 - y[1]) / 0.5, (y[0] - y[1] / 2) / 0.1]

    expected = solve_ivp(rates, (0, 2), [0, 0], rtol=1e-12, atol=1e-13, t_eval=[0, 1, 2]).y
    assert_allclose([found["q_coil_dot"], found["q_capacitor"] / 0.1], expected, rtol=0, atol=1e-10)
    fine = hf.simulate(hf.derive(made.problem()), hf.RK4, step=0.001, duration=2)
    assert abs(fine.energy_balance.residual[-1]) < 1e-10
    assert sp.expand(made.flows["coil"] - made.flows["capacitor"] - made.flows["load"]) == 0


def test_a_wire_heats_a_body_that_cools_to_its_surroundings():
    """A pseudo analogy is joined by a source: at last the body is warmer by thermal resistance times R i²."""
    current = hf.coordinates("q_coil").rate
    made = hf.assemble(
        {
            "battery": hf.Source("electrical", 6, ("g", "a")),
            "coil": hf.Inertia("electrical", 1, ("a", "b")),
            "wire": hf.Resistance("electrical", 3, ("b", "g")),
            "loss": hf.Source("thermal", at=("room", "body"), flow=3 * current**2),
            "body": hf.Compliance("thermal", 2, ("body", "room")),
            "wall": hf.Resistance("thermal", sp.Rational(1, 4), ("body", "room")),
        }
    )
    found = run(made, [0, 20])
    assert found["q_coil_dot"][-1] == pytest.approx(2, rel=1e-9)  # the wire does not feel the heat
    assert found["q_body"][-1] / 2 == pytest.approx(0.25 * 3 * 2**2, rel=1e-6)


def test_imposed_motions_are_constraints():
    spring = {
        "body": hf.Inertia("translation", 1, "x"),
        "spring": hf.Compliance("translation", stiffness=4, at=("base", "x")),
        "bench": hf.Inertia("translation", 5, "base"),
    }
    shaken = hf.assemble(spring | {"shaker": hf.Source("translation", at="base", displacement=sp.sin(hf.time))})
    assert "shaker" in shaken.holonomic
    pushed = hf.assemble(spring | {"belt": hf.Source("translation", at="base", flow=3)})
    at = hf.derive(pushed.problem()).evaluate({"base": 0.5, "base_dot": 3})
    assert at["x_ddot"] == pytest.approx(2)
    assert at["lambda_belt"] == pytest.approx(2)  # what the belt gives to hold its pace against the spring


# ---------------------------------------------------------------- energies and co-energies


def test_a_relativistic_pair():
    p, f = hf.momentum, hf.flow
    energy, coenergy = sp.sqrt(1 + p**2) - 1, 1 - sp.sqrt(1 - f**2)
    assert float(hf.legendre(energy, p, f).subs(f, 0.6)) == pytest.approx(0.2, abs=1e-14)
    assert float(hf.legendre(coenergy, f, p).subs(p, 0.75)) == pytest.approx(0.25, abs=1e-14)
    assert 0.2 + 0.25 == pytest.approx(0.75 * 0.6)


@pytest.mark.parametrize(
    "stated", [{"energy": sp.sqrt(1 + hf.momentum**2) - 1}, {"coenergy": 1 - sp.sqrt(1 - hf.flow**2)}]
)
def test_an_inertia_moves_alike_from_its_energy_or_its_co_energy(stated):
    made = hf.assemble({"m": hf.Inertia("translation", at="x", **stated), "hand": hf.Source("translation", 2, "x")})
    at = hf.derive(made.problem()).evaluate({"x_dot": 0.6})
    assert at["x_ddot"] == pytest.approx(2 * (1 - 0.36) ** 1.5, rel=1e-12)  # force over gamma³
    assert at.energy == pytest.approx(0.25)


def test_a_nonlinear_spring_moves_alike_from_either_side():
    """V = exp(q) − q − 1, hence e = exp(q) − 1 and V* = (1 + e) log(1 + e) − e."""
    q, e = hf.displacement, hf.effort
    for stated in ({"energy": sp.exp(q) - q - 1}, {"coenergy": (1 + e) * sp.log(1 + e) - e}):
        spring = hf.Compliance("translation", at="x", **stated)
        made = hf.assemble({"m": hf.Inertia("translation", 1, "x"), "s": spring})
        assert hf.derive(made.problem()).evaluate({"x": 0.7})["x_ddot"] == pytest.approx(1 - np.exp(0.7), rel=1e-12)


def test_an_energy_without_a_partner_is_refused():
    with pytest.raises(hf.BadStatement, match="has no partner"):
        hf.legendre(3 * hf.momentum, hf.momentum, hf.flow)
    with pytest.raises(hf.BadStatement, match="cannot be solved"):
        hf.legendre(hf.flow**4 + sp.cosh(hf.flow), hf.flow, hf.momentum)


def test_dissipation_in_momentum_form_is_the_flow_form_rewritten():
    """D(p) = R p²/(2 L²) resists with R f, not with ∂D/∂p."""
    elements = {"coil": hf.Inertia("electrical", 4, ("a", "b")), "push": hf.Source("electrical", 0, ("b", "c"))}
    wire = hf.Resistance("electrical", at=("c", "a"), momentum_form=3 * hf.momentum**2 / (2 * 16), of="coil")
    at = hf.derive(hf.assemble(elements | {"wire": wire}).problem()).evaluate({"q_coil_dot": 2})
    assert at["q_coil_ddot"] == pytest.approx(-3 * 2 / 4)
    other = hf.Resistance("electrical", at=("c", "a"), momentum_form=hf.momentum**2)
    with pytest.raises(hf.BadStatement, match="needs the inertia"):
        hf.assemble(elements | {"wire": other})


# ---------------------------------------------------------------- what does not fit


def wire(at, domain="electrical"):
    return hf.Resistance(domain, 1, at)


def coil(at, domain="electrical", value=1):
    return hf.Inertia(domain, value, at)


@pytest.mark.parametrize(
    ("elements", "what"),
    [
        ({}, "nothing to assemble"),
        ({"R": wire(("a", "b")), "C": hf.Compliance("electrical", 1, ("a", "b"))}, "determines how 'q_C' moves"),
        ({"R": wire(("a", "b")), "L": coil(("a", "c"))}, "'R' is in no loop"),
        ({"L": coil(("a", "b"), "thermal"), "R": wire(("a", "b"), "thermal")}, "the thermal domain has no inertia"),
        ({"L": coil(("a", "b")), "R": wire(("a", "b"), "hydraulic")}, "its terminal 'a' is electrical (by 'L')"),
        ({"L": coil(("a", "a"))}, "are not two terminals"),
        ({"L": coil("a")}, "are not two terminals"),
        ({"L": coil(("a", "b"), "elctrical")}, "there is no domain 'elctrical'"),
        ({"L": coil(("a", "b"), value=None), "R": wire(("a", "b"))}, "nothing says what it does"),
        ({"L": hf.Inertia("electrical", 1, ("a", "b"), coenergy=hf.flow**2), "R": wire(("a", "b"))}, "are both given"),
        ({"T": hf.Transformer(2, ("thermal", ("a", "b")), ("rotation", "s"))}, "cannot be joined by an ideal element"),
        ({"m": hf.Inertia("translation", 3 - hf.time, "x")}, "nothing says with which velocity"),
        ({"T": hf.Gyrator(2, "rotation", ("rotation", "s"))}, "is not a port"),
        ({"x": 3}, "is not an element"),
        ({"R": hf.Resistance("electrical", at=("a", "b"), content=1, of="C"), "L": coil(("a", "b"))}, "not an inertia"),
    ],
)  # fmt: skip
def test_elements_that_do_not_fit_are_refused_by_name(elements, what):
    with pytest.raises(hf.HoldfastError) as caught:
        hf.assemble(elements)
    assert what in str(caught.value)
    assert caught.value.where
    assert caught.value.fix


def test_a_value_in_the_wrong_unit_is_refused():
    m = hf.parameters("m")
    with pytest.raises(hf.BadStatement, match="the mass of 'body' is in N, and belongs in kg"):
        hf.assemble({"body": hf.Inertia("translation", m, "x")}, parameters={m: 1}, units={"m": "N"})


def test_the_table_lists_all_domains_and_says_what_is_a_convention():
    shown = table()
    assert all(name in shown for name in hf.DOMAINS)
    assert "a modelling convention, not a law" in shown
    assert [name for name, domain in hf.DOMAINS.items() if not domain.true_power] == ["thermal", "economic"]


@pytest.mark.parametrize("name", ["translation", "rotation", "electrical", "hydraulic"])
def test_effort_times_flow_is_power_and_elements_are_in_their_units(name):
    domain = hf.DOMAINS[name]
    e, f, q, p = (dimension(kind.unit) for kind in (domain.effort, domain.flow, domain.displacement, domain.momentum))

    def times(a, b, sign=1):
        found = {k: a.get(k, 0) + sign * b.get(k, 0) for k in {*a, *b}}
        return {k: v for k, v in found.items() if v}

    assert times(e, f) == dimension("W")
    assert times(q, dimension("s"), -1) == f
    assert times(p, dimension("s"), -1) == e
    assert times(p, f, -1) == dimension(domain.inertia.unit)
    assert times(q, e, -1) == dimension(domain.compliance.unit)
    assert times(e, f, -1) == dimension(domain.resistance.unit)


# ---------------------------------------------------------------- units


@pytest.mark.parametrize(
    ("unit", "shown"),
    [
        ("N m", "J"),
        ("kg m^2/s^2", "J"),
        ("V*A", "W"),
        ("rad/(N m)", "kg^-1 m^-2 s^2"),
        ("1", "1"),
        ("EUR/s", "EUR s^-1"),
    ],
)
def test_units_are_read_as_dimensions(unit, shown):
    assert text_of(dimension(unit)) == shown


@pytest.mark.parametrize("unit", ["mm", "kg^", "/m", "m//s", "", "2 m", "(m", "ms"])
def test_what_is_not_a_coherent_unit_is_refused(unit):
    with pytest.raises(hf.BadStatement):
        dimension(unit)


x = hf.coordinates("x")
m, g, k = hf.parameters("m g k")
UNITS = {"x": "m", "m": "kg", "g": "m/s^2", "k": "N/m"}


def stated(units=UNITS, program=None, **more):
    system = hf.System(coordinates=(x,), kinetic=m * x.rate**2 / 2, parameters={m: 1, g: 9.81, k: 2}, **more)
    return hf.Problem(system, program or hf.Program(), units=units)


def test_units_that_fit_are_kept():
    problem = stated(potential=m * g * x + k * x**2 / 2, dissipation=m * g * x.rate / 2, forces={x: k * x - m * g})
    assert problem.units == UNITS
    assert hf.loads(hf.dumps(problem)) == problem
    stated(units={"x": "m"}, potential=k * x + 3 * g)  # names without units fit anything


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"potential": m * g * x + k * x}, "are added"),
        ({"potential": k * x}, "this energy is in N, and belongs in J"),
        ({"potential": k * x**2 * sp.sin(x)}, "where a pure number belongs"),
        ({"dissipation": k * x.rate**2 / 2}, "lost by dissipation"),
        ({"forces": {x: k}}, "work of the force on 'x'"),
        ({"program": hf.Program(holonomic={"home": x - hf.time})}, "are added"),
        ({"units": {**UNITS, "z": "m"}}, "unknown name 'z'"),
        ({"units": {**UNITS, "m": "mm"}}, "not coherent"),
    ],
)
def test_units_that_do_not_fit_are_refused(more, what):
    with pytest.raises(hf.BadStatement) as caught:
        stated(**more)
    assert what in str(caught.value)


def test_a_file_whose_units_do_not_fit_shows_one_error_not_two():
    text = hf.dumps(series({L: 1, R: 1, C: 1, U: 1}).problem()).replace('L = "H"', 'L = "kg"')
    with pytest.raises(hf.BadFile) as caught:
        hf.loads(text)
    assert caught.value.__suppress_context__


def test_an_electrical_element_is_spoken_of_in_grammar():
    with pytest.raises(hf.BadStatement, match="not two terminals in the electrical domain"):
        hf.assemble({"coil": hf.Inertia("electrical", 1, "a")})
