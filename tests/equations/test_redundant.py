"""Constraints that repeat each other are borne: the same accelerations and held forces, multipliers of least norm."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf
from tests.equations.loops import planar_four_bar_in_space, three_cranks
from tests.equations.mechanisms import example

HELD_BY_REACTIONS = ("bead_on_hoop", "four_bar", "pendulum", "piston_line", "skate")
x, y, z = hf.coordinates("x y z")


def with_copy(problem, name):
    """The same problem with one constraint stated twice, under the same law."""
    program = problem.program
    kind = "holonomic" if name in program.holonomic else "nonholonomic"
    rows = {**getattr(program, kind), f"{name}_again": getattr(program, kind)[name]}
    law = program.law
    for field in getattr(law, "__dataclass_fields__", {}):
        gains = getattr(law, field)
        if hasattr(gains, "items") and name in gains:
            law = replace(law, **{field: {**gains, f"{name}_again": gains[name]}})
    return replace(problem, program=replace(program, **{kind: rows}, law=law))


COPIES = [(title, name) for title in HELD_BY_REACTIONS for name in example(title).constraints]


@pytest.mark.parametrize(("title", "name"), COPIES)
def test_a_copy_of_any_constraint_of_any_example_changes_no_acceleration(title, name):
    plain = example(title)
    twice = hf.derive(with_copy(plain.problem, name))
    assert twice.solver.form == "redundant"
    shake = np.random.default_rng(3)
    start = np.array(hf.checked_start(plain).start.state)
    for size in (0.0, 1e-3, 0.05):
        state = start + size * shake.standard_normal(len(start)) * np.maximum(np.abs(start), 0.1)
        ours, theirs = twice.evaluate(state), plain.evaluate(state)
        scale = np.abs(theirs.accelerations).max()
        assert_allclose(ours.accelerations, theirs.accelerations, atol=1e-9 * scale, rtol=0)
        forces = np.abs(theirs.held_forces).max()
        assert_allclose(ours.held_forces, theirs.held_forces, atol=1e-9 * max(forces, 1e-300), rtol=0)
        both = ours[f"lambda_{name}"], ours[f"lambda_{name}_again"]
        assert_allclose(both, theirs[f"lambda_{name}"] / 2, atol=1e-9 * max(np.abs(theirs.multipliers)))


def dense(values):
    """Accelerations and least-norm held forces by NumPy: M a = h + Jᵀλ, J a = Y − γ."""
    mass, jacobian = values.mass_matrix, values.jacobian
    force = values.bias - values.excess_bias
    n, r = len(mass), len(jacobian)
    saddle = np.block([[mass, -jacobian.T], [jacobian, np.zeros((r, r))]])
    found = np.linalg.lstsq(saddle, np.concatenate([force, values.demand - values.drift_term]), rcond=1e-11)[0]
    return found[:n], jacobian.T @ found[n:]


@pytest.mark.parametrize("problem", [three_cranks, planar_four_bar_in_space])
def test_loops_that_close_more_than_once_agree_with_least_squares(problem):
    equations = hf.derive(problem())
    at = equations.evaluate()
    accelerations, forces = dense(at)
    assert_allclose(at.accelerations, accelerations, atol=1e-9 * np.abs(accelerations).max())
    assert_allclose(at.held_forces, forces, atol=1e-9 * np.abs(forces).max())


def random_system(shake):
    """A linear mechanism with dependent constraints, more of them than coordinates at times."""
    n = int(shake.integers(2, 6))
    rank, repeats = int(shake.integers(1, n)), int(shake.integers(1, 5))
    coordinates = hf.coordinates(" ".join(f"q{k}" for k in range(n)))
    units = 4.0 ** shake.integers(-4, 5, n)
    root = np.round(shake.standard_normal((n, n)), 1)
    mass = units[:, None] * (root @ root.T + 0.25 * np.eye(n)) * units
    rows = np.round(shake.standard_normal((rank, n)), 1) * units
    rows = np.vstack([rows, shake.integers(-3, 4, (repeats, rank)) @ rows])
    rows = rows[np.abs(rows).max(axis=1) > 0]
    rates = sp.Matrix([c.rate for c in coordinates])
    exact = sp.Matrix(n, n, lambda i, j: sp.nsimplify(mass[i, j], rational=True))
    held = {f"c{k}": sum(sp.nsimplify(w, rational=True) * c for w, c in zip(row, coordinates, strict=True))
            for k, row in enumerate(rows)}  # fmt: skip
    pull = sum(sp.nsimplify(u, rational=True) * c for u, c in zip(units, coordinates, strict=True))
    system = hf.System(coordinates=coordinates, kinetic=(rates.T * exact * rates)[0] / 2, potential=pull)
    return hf.Problem(system, hf.Program(holonomic=held, law=hf.critically_damped(2), redundant="allow")), units


def test_random_dependent_constraints_agree_with_least_squares():
    shake = np.random.default_rng(11)
    more = 0
    for _ in range(16):
        problem, units = random_system(shake)
        equations = hf.derive(problem)
        assert equations.solver.form == "redundant"
        at = equations.evaluate()
        root = np.linalg.inv(np.linalg.cholesky(at.mass_matrix))
        rows, free = at.jacobian @ root.T, root @ at.bias
        wanted = free - np.linalg.pinv(rows, rcond=1e-9) @ (rows @ free)
        wanted = root.T @ wanted
        assert_allclose(units * at.accelerations, units * wanted, atol=1e-9 * np.abs(units * wanted).max() + 1e-300)
        more += len(equations.constraints) > len(equations.coordinates)
    assert more > 2


def test_multipliers_have_the_least_norm_among_all_that_hold_the_same():
    problem = three_cranks()
    at = hf.derive(problem).evaluate()
    weights = np.array([float(w) for w in hf.derive(problem).solver.weights])
    idle = np.linalg.svd(at.jacobian.T)[2][-1]  # Jᵀ idle = 0
    assert np.abs(at.jacobian.T @ idle).max() < 1e-12
    assert abs((idle / weights) @ at.multipliers) < 1e-9 * np.linalg.norm(idle / weights) * np.linalg.norm(
        at.multipliers
    )


def test_what_is_borne_is_said():
    equations = hf.derive(three_cranks())
    said = "'dy' repeats what 'cx', 'cy' and 'dx' already fix"
    assert said in equations.summary()
    assert "lambda_cx, lambda_cy, lambda_dx, lambda_dy are not unique" in equations.summary()
    assert equations.to_dict()["not_unique"] == ["lambda_cx", "lambda_cy", "lambda_dx", "lambda_dy"]
    run = hf.simulate(equations, hf.RK4, step=0.01, duration=0.1)
    assert said in run.message
    assert said in hf.checked_start(equations).repeats


def test_promises_for_repeated_constraints_are_for_steps_along_the_run_at_most():
    rod = (x**2 + y**2 - 1) / 2
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=10 * y)
    program = hf.Program(holonomic={"rod": rod, "again": 2 * rod}, law=hf.critically_damped(5))
    equations = hf.derive(hf.Problem(system, program, start={x: 1}))
    certificate = hf.certify(equations, hf.RK4, step=0.01, duration=0.3)
    assert certificate.label in (hf.Label.tube, hf.Label.checked)
    for block in certificate.blocks:
        assert "depend on each other" in block.reason
        assert "steps are followed in the order of time" in block.reason or block.proof is None
        assert all(seen <= bound for seen, bound in zip(block.observed, block.bounds, strict=True))


def test_redundant_survives_its_file():
    for choice in ("allow", "refuse"):
        problem = replace(example("pendulum").problem)
        problem = replace(problem, program=replace(problem.program, redundant=choice))
        assert hf.loads(hf.dumps(problem)).program.redundant == choice


def test_controls_do_not_hold_repeats():
    with pytest.raises(hf.BadStatement, match="cannot hold constraints that may repeat"):
        hf.Program(holonomic={"a": x}, controls={"F": {x: 1}}, redundant="allow")
    with pytest.raises(hf.BadStatement, match="'maybe' is not known"):
        hf.Program(holonomic={"a": x}, redundant="maybe")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2)
    program = hf.Program(holonomic={"a": x, "b": 2 * x}, controls={"F": {x: 1}, "G": {y: 1}})
    with pytest.raises(hf.ConstraintsDependent, match="'b' repeats what 'a' already fixes"):
        hf.derive(hf.Problem(system, program))


def test_what_nothing_determines_is_named_beside_repeats_too():
    system = hf.System(coordinates=(x, y), kinetic=x.rate**2 / 2)
    with pytest.raises(hf.SingularSystem, match="nothing determines the acceleration of 'y'"):
        hf.derive(hf.Problem(system, hf.Program(holonomic={"a": x, "b": 2 * x})))


def test_other_forms_agree_or_refuse_by_name():
    equations = hf.derive(three_cranks())
    state = {"a": 1, "c": 1, "d": 1, "a_dot": 2, "c_dot": 2, "d_dot": 2}
    theirs, ours = equations.evaluate(state), hf.canonical(equations).evaluate(state)
    assert_allclose(ours.accelerations, theirs.accelerations, atol=1e-9 * np.abs(theirs.accelerations).max())
    with pytest.raises(hf.BadStatement, match="independent rates need independent constraints: 'dy' repeats"):
        hf.maggi(equations)
