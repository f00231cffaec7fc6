"""Masses that are missing: solved wherever the whole system is regular, named where a direction has no inertia."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf


def stated(mass, rows, pull, *, redundant=None):
    """A linear mechanism with given masses, constraints and forces, all of them short decimals."""
    coordinates = hf.coordinates(" ".join(f"q{k}" for k in range(len(mass))))
    rates = sp.Matrix([c.rate for c in coordinates])
    exact = sp.Matrix(len(mass), len(mass), lambda i, j: sp.Rational(str(mass[i, j])))
    held = {
        f"c{k}": sum(sp.Rational(str(w)) * c for w, c in zip(row, coordinates, strict=True))
        for k, row in enumerate(rows)
    }
    potential = -sum(sp.Rational(str(f)) * c for f, c in zip(pull, coordinates, strict=True))
    system = hf.System(coordinates=coordinates, kinetic=(rates.T * exact * rates)[0] / 2, potential=potential)
    return hf.Problem(system, hf.Program(holonomic=held, law=hf.critically_damped(2), redundant=redundant))


def saddle(mass, rows):
    r = len(rows)
    return np.block([[mass, -rows.T], [rows, np.zeros((r, r))]])


def drawn(shake):
    """Masses of any rank, in units of their own, and independent constraints."""
    n = int(shake.integers(2, 6))
    rank, r = int(shake.integers(0, n)), int(shake.integers(1, n + 1))
    root = shake.integers(-3, 4, (n, rank)).astype(float)
    units = 2.0 ** shake.integers(-6, 7, n)
    mass = units[:, None] * (root @ root.T) * units
    rows = shake.integers(-3, 4, (r, n)) * units
    return mass, rows, units * np.round(shake.standard_normal(n), 2), units


@pytest.mark.parametrize("seed", range(6))
def test_random_semidefinite_masses_agree_with_the_whole_system_solved_by_numpy(seed):
    shake, regular, named = np.random.default_rng(seed), 0, 0
    for _ in range(25):
        mass, rows, pull, units = drawn(shake)
        n, r = len(mass), len(rows)
        scaled = saddle(mass / units / units[:, None], rows / units)
        if np.linalg.matrix_rank(rows / units, tol=1e-9) < r:
            continue
        if np.linalg.matrix_rank(scaled, tol=1e-9) < n + r:
            with pytest.raises(hf.SingularSystem, match=r"nothing determines|too few unknowns"):
                hf.derive(stated(mass, rows, pull))
            named += 1
            continue
        wanted = np.linalg.solve(scaled, np.concatenate([pull / units, np.zeros(r)]))
        for choice in (None, "allow"):
            at = hf.derive(stated(mass, rows, pull, redundant=choice)).evaluate()
            size = np.abs(wanted[:n]).max() + np.abs(pull / units).max()
            assert_allclose(units * at.accelerations, wanted[:n], atol=1e-9 * size)
            assert_allclose(at.multipliers, wanted[n:], atol=1e-8 * (np.abs(wanted[n:]).max() + size))
        regular += 1
    assert regular > 3
    assert named > 1


def test_a_direction_without_inertia_is_named_by_its_coordinates():
    mass = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 2.0]])  # q0 and q1 against each other: nothing
    with pytest.raises(hf.SingularSystem, match="nothing determines the acceleration of 'q0' and 'q1'"):
        hf.derive(stated(mass, np.array([[0.0, 0.0, 1.0]]), np.zeros(3)))
    for choice in (None, "allow"):
        held = stated(mass, np.array([[1.0, -1.0, 0.0]]), np.array([2.0, 0.0, 4.0]), redundant=choice)
        assert_allclose(hf.derive(held).evaluate().accelerations, [0.5, 0.5, 2.0], atol=1e-12)


def test_a_repeat_beside_missing_masses_is_borne():
    """Of two massless coordinates, one is held twice."""
    mass = np.diag([2.0, 0.0, 0.0])
    rows = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, -1.0]])  # the third is the first less the second
    equations = hf.derive(stated(mass, rows, np.array([1.0, 2.0, 3.0])))
    assert equations.solver.form == "redundant"
    at = equations.evaluate()
    free = np.array([1.0, -1.0, 1.0])  # what the constraints leave free
    along = free @ [1.0, 2.0, 3.0] / (free @ mass @ free)
    assert_allclose(at.accelerations, along * free, atol=1e-10)
    assert_allclose(mass @ at.accelerations - at.bias, at.held_forces, atol=1e-9)
