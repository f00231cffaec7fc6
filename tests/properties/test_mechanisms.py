"""What holds for every held mechanism, whoever holds it and by whatever law."""

import numpy as np
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import holdfast as hf
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.derivatives import directional
from holdfast.problem.laws.law import Gain
from tests.properties.strategies import derived, k0, k1, mechanisms

TOLERANCE = 1e-9  # for condition numbers up to 1e4 and entries of a few units


def close(ours, expected):
    scale = 1 + np.abs(np.asarray(expected, dtype=float)).max(initial=0)
    assert_allclose(np.asarray(ours) / scale, np.asarray(expected) / scale, rtol=0, atol=TOLERANCE)


@settings(max_examples=60)
@given(mechanisms())
def test_the_demand_of_the_law_is_met(mechanism):
    equations, at = derived(mechanism)
    close(at.jacobian @ at.accelerations + at.drift_term, at.demand)
    form = equations.form
    if form.demand:  # what the law says, evaluated apart from the graph
        actual = {f"y_{n}": y for n, y in zip(mechanism.holonomic, at.deviation, strict=True)}
        actual |= {f"w_{n}": w for n, w in zip(mechanism.constraints, at.deviation_rate, strict=True)}
        state = {s.name: value for s, value in mechanism.state.items()}
        known = actual | state | {"t": mechanism.time, "k0": 1.25, "k1": 0.5}
        gains = {Gain(name): value for name, value in form.gains.items()}
        wanted = [e.subs(gains) for e in form.demand.values()]
        close(at.demand, [float(e.subs({s: known[s.name] for s in e.free_symbols})) for e in wanted])


@settings(max_examples=60)
@given(mechanisms())
def test_inertia_balances_free_and_held_forces(mechanism):
    _, at = derived(mechanism)
    close(at.mass_matrix @ at.accelerations, at.bias - at.excess_bias + at.held_forces)
    close(at.held_forces, at.holders @ at.mu)
    close(at.mu_parts.sum(axis=0), at.mu)


@settings(max_examples=60)
@given(mechanisms(held_by="reactions"))
def test_reactions_do_no_work_along_the_program(mechanism):
    _, at = derived(mechanism)
    close(at.holders, at.jacobian.T)
    close(at.tangent_basis.T @ at.held_forces, np.zeros(at.tangent_basis.shape[1]))
    close(at.jacobian @ at.tangent_basis, np.zeros((len(at.mu), at.tangent_basis.shape[1])))


@settings(max_examples=40)
@given(mechanisms(), st.randoms(use_true_random=False))
def test_the_order_of_statement_changes_nothing(mechanism, shake):
    _, first = derived(mechanism)
    lists = [list(mechanism.coordinates), list(mechanism.constraints), list(mechanism.controls)]
    for names in lists:
        shake.shuffle(names)
    second = hf.derive(mechanism.reordered(*lists).problem).evaluate(mechanism.state, mechanism.time)
    names = [c.name for c in mechanism.coordinates]
    wanted = [f"{c}_ddot" for c in names] + [f"R_{c}" for c in names]
    wanted += [f"w_{name}" for name in mechanism.constraints] + [f"y_{name}" for name in mechanism.holonomic]
    wanted += [*first.equations.holder_names, "energy", "power_held", "power_correction"]
    assert set(second.equations.holder_names) == set(first.equations.holder_names)
    for name in wanted:
        close([second[name]], [first[name]])


@settings(max_examples=40)
@given(mechanisms())
def test_the_energy_balance_closes(mechanism):
    """d(energy)/dt along the field is the power of forces, dissipation, holders and what depends on time."""
    equations, at = derived(mechanism)
    field, seen = equations.field, equations.observables
    along = {field.time: equations.inputs.graph.one} | dict(zip(field.state, field.rates, strict=True))
    (change,) = directional([seen["energy"]], along)
    powers = [seen[f"power_{name}"] for name in ("forces", "dissipation", "held", "explicit")]
    numbers = [mechanism.time, *at.state, *equations.parameter_values.values()]
    rate, *parts = Tape(field.inputs, (change, *powers))(numbers)
    close([rate], [sum(parts)])


@settings(max_examples=40)
@given(mechanisms(), st.integers(1, 9))
def test_changing_gains_keeps_the_graph(mechanism, factor):
    equations, at = derived(mechanism)
    law = hf.SpringDamper(stiffness=sp.Rational(factor, 3), damping=factor)
    one = equations.with_law(law)
    other = one.with_law(hf.critically_damped(factor))
    assert other.inputs is one.inputs
    assert other.fingerprint == one.fingerprint == hf.derive(one.problem).fingerprint
    close(equations.evaluate(mechanism.state, mechanism.time, law=mechanism.law).mu, at.mu)


@settings(max_examples=25)
@given(mechanisms())
def test_accelerations_are_those_of_lagranges_equations_set_up_by_sympy(mechanism):
    """M, h, J and γ by SymPy's own differentiation, solved by NumPy, given the holders and the demand."""
    _, at = derived(mechanism)
    numbers = {**mechanism.state, hf.time: mechanism.time, k0: 1.25, k1: 0.5}
    q = mechanism.coordinates
    v = [c.rate for c in q]
    T, P, D = (mechanism.energies[name] for name in ("kinetic", "potential", "dissipation"))

    def value(matrix):
        return np.array(sp.Matrix(matrix).subs(numbers).evalf(18).tolist(), dtype=float)

    momenta = sp.Matrix([sp.diff(T, u) for u in v])
    mass = momenta.jacobian(v)
    bias = sp.Matrix([mechanism.forces.get(c, 0) + sp.diff(T - P, c) - sp.diff(D, c.rate) for c in q])
    bias -= momenta.jacobian(q) * sp.Matrix(v) + momenta.diff(hf.time)
    w = sp.Matrix([hf.rate(f) for f in mechanism.holonomic.values()] + list(mechanism.nonholonomic.values()))
    jacobian = w.jacobian(v)
    drift = w.jacobian(q) * sp.Matrix(v) + w.diff(hf.time)
    close(at.mass_matrix, value(mass))
    close(at.bias, value(bias).ravel())
    close(at.jacobian, value(jacobian))
    close(at.drift_term, value(drift).ravel())
    r = len(mechanism.constraints)
    saddle = np.block([[value(mass), -at.holders], [value(jacobian), np.zeros((r, r))]])
    right = np.concatenate([value(bias).ravel() - at.excess_bias, at.demand - value(drift).ravel()])
    close([*at.accelerations, *at.mu], np.linalg.solve(saddle, right))


@settings(max_examples=12)
@given(mechanisms())
def test_what_is_shown_is_what_is_computed(mechanism):
    equations, _ = derived(mechanism)
    agrees, dynamics, deviations = equations.display.agrees, equations.dynamics, equations.deviations
    zero = equations.inputs.graph.zero
    n = len(mechanism.coordinates)
    for i in range(n):
        assert agrees(equations.bias[i], dynamics.bias[i])
        for j in range(n):
            assert agrees(equations.mass_matrix[i, j], dynamics.mass[i].get(j, zero))
    for k, row in enumerate(deviations.jacobian):
        assert agrees(equations.drift_term[k], deviations.drift[k])
        assert all(agrees(equations.jacobian[k, j], row.get(j, zero)) for j in range(n))
    assert agrees(equations.energy, equations.observables["energy"])


@settings(max_examples=40)
@given(mechanisms())
def test_written_down_and_read_again_it_is_the_same_problem(mechanism):
    problem = mechanism.problem
    again = hf.loads(hf.dumps(problem))
    assert again == problem
    assert hf.dumps(again) == hf.dumps(problem)
