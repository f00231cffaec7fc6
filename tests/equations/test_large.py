"""Large sparse systems: looked at by their entries, with the answers that dense matrices give."""

import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from holdfast.equations.dynamics import placing
from holdfast.equations.solving import large, solver
from holdfast.graph.linear_algebra import factor_symmetric
from holdfast.graph.nodes import Graph


def sparse(matrix):
    return [{j: float(x) for j, x in enumerate(row) if x} for row in matrix]


def banded(random, size, shift=0.0):
    """J Jᵀ of a sparse J, and a multiple of the identity."""
    rows = np.zeros((size, size + 2))
    for k in range(size):
        rows[k, k : k + 3] = random.normal(size=3)
    return rows @ rows.T + shift * np.eye(size)


@pytest.mark.parametrize("seed", range(8))
def test_sparse_factors_solve_as_dense_ones_do(seed):
    random = np.random.default_rng(seed)
    matrix = banded(random, 40, 1.0)
    right = random.normal(size=40)
    found = large.number_factor(sparse(matrix)).solve(right.tolist())
    assert np.allclose(matrix @ found, right, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_definite_is_told_from_the_rest_in_all_units(unit):
    random = np.random.default_rng(1)
    units = unit ** random.uniform(-1, 1, 60)
    good = banded(random, 60, 0.1) * units * units[:, None]
    assert large.plainly_definite(sparse(good))
    bad = good.copy()
    bad[7] = bad[:, 7] = 0.0
    assert not large.plainly_definite(sparse(bad))
    eigenvalues, vectors = np.linalg.eigh(banded(random, 60, 0.1))
    eigenvalues[0] = 0.0
    assert not large.plainly_definite(sparse((vectors * eigenvalues) @ vectors.T))
    eigenvalues[0] = -1.0
    assert not large.plainly_definite(sparse((vectors * eigenvalues) @ vectors.T))
    assert not large.plainly_definite([{0: float("nan")}])


@pytest.mark.parametrize("seed", range(6))
def test_a_sparse_right_side_is_solved_by_the_same_operations(seed):
    random, graph = np.random.default_rng(seed), Graph()
    pattern = banded(random, 12) != 0
    names = {(min(i, j), max(i, j)): graph.input(f"a{min(i, j)}_{max(i, j)}") for i, j in np.argwhere(pattern)}
    rows = [{j: names[min(i, j), max(i, j)] for j in range(12) if pattern[i, j]} for i in range(12)]
    factor, right = factor_symmetric(rows, graph), {int(random.integers(12)): graph.input("b"), 3: graph.one}
    dense = factor.solve([right.get(i, graph.zero) for i in range(12)])
    assert factor.solve_sparse(right) == {i: node for i, node in enumerate(dense) if not node.is_zero}


def chain(links, extra=None):
    pairs = [hf.coordinates(f"x{i} y{i}") for i in range(links)]
    ends = [(0, 0), *pairs[:-1]]
    rods = {
        f"rod{i}": ((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2 - 1) / 2
        for i, (a, b) in enumerate(zip(ends, pairs, strict=True))
    }
    return hf.Problem(
        hf.System(
            coordinates=[c for pair in pairs for c in pair],
            kinetic=sp.Add(*((x.rate**2 + y.rate**2) / 2 for x, y in pairs)),
            potential=sp.Add(*(9.81 * y for x, y in pairs)),
        ),
        hf.Program(holonomic=rods | (extra(pairs) if extra else {})),
        start={x: i + 1 for i, (x, y) in enumerate(pairs)},
    )


def test_a_large_chain_is_derived_without_dense_matrices(monkeypatch):
    """And its equations are those that dense looks lead to."""
    usual = hf.derive(chain(20))
    monkeypatch.setattr(solver, "LARGE", 10)
    for dense in ("definite", "singular"):
        monkeypatch.setattr(solver, dense, lambda *a: pytest.fail("a dense matrix"))
    monkeypatch.setattr("holdfast.equations.solving.dependence.rank_of", lambda *a: pytest.fail("a dense matrix"))
    assert hf.derive(chain(20)).fingerprint == usual.fingerprint


def test_a_large_chain_without_a_start_is_derived_without_dense_matrices(monkeypatch):
    """All links are points then: states beside that one are moved onto the program step by sparse step."""
    monkeypatch.setattr(solver, "LARGE", 10)
    monkeypatch.setattr(solver, "dependence_of", None)
    monkeypatch.setattr(solver, "singular", None)
    problem = chain(8)
    assert hf.derive(hf.Problem(problem.system, problem.program)).solver.form == "solved"


def net(size):
    """Square meshes in space, hung from points one length apart, without a start."""
    knots = {(i, j): hf.coordinates(f"x{i}_{j} y{i}_{j} z{i}_{j}") for i in range(size) for j in range(size)}
    fixed = {(-1, j): (j, 0, 0) for j in range(size)}

    def bar(a, b):
        return sum((p - q) ** 2 for p, q in zip(a, b, strict=True)) / 2 - sp.Rational(1, 2)

    bars = {f"down{i}_{j}": bar(knots[i, j], (knots | fixed)[i - 1, j]) for i, j in knots}
    bars |= {f"right{i}_{j}": bar(knots[i, j], knots[i, j - 1]) for i, j in knots if j}
    names = [c for knot in knots.values() for c in knot]
    system = hf.System(coordinates=names, kinetic=sp.Add(*(c.rate**2 / 2 for c in names)))
    return hf.Problem(system, hf.Program(holonomic=bars))


def test_a_large_net_without_a_start_is_told_apart_knot_by_knot(monkeypatch):
    """Neither by dense matrices nor by steps that move all of it, which become more with its size."""
    usual = hf.derive(net(4)).fingerprint
    monkeypatch.setattr(solver, "LARGE", 10)
    for way in ("dependence_of", "plainly_moved", "singular"):
        monkeypatch.setattr(solver, way, None)
    assert hf.derive(net(4)).fingerprint == usual


def test_places_are_as_many_as_knots_and_what_is_found_there_is_independent(monkeypatch):
    """The jacobian on the program has full rank by NumPy too."""
    found = []
    monkeypatch.setattr(solver, "LARGE", 10)
    one = placing._Place.found
    monkeypatch.setattr(
        placing._Place, "found", lambda self, *more: found.append((self, one(self, *more))) or found[-1][1]
    )
    equations = hf.derive(net(4))
    placed = {node.data: x for place, values in found[-16:] for node, x in zip(place.block, values, strict=True)}
    assert len(placed) == 48
    assert len(found) <= 16 + 2  # the points of the start itself are no place
    values = equations.evaluate(placed)
    assert np.abs(values.deviation).max() < 1e-12
    assert np.linalg.matrix_rank(values.jacobian) == len(equations.problem.program.constraints)


REPEATS = {
    "a rod twice": lambda pairs: {"again": pairs[0][0] ** 2 + pairs[0][1] ** 2 - 1},
    "stretched": lambda pairs: {"across": pairs[-1][0] - 6, "level": pairs[-1][1]},
    "nearly stretched": lambda pairs: {"across": pairs[-1][0] - 5.99, "level": pairs[-1][1]},
}


@pytest.mark.parametrize("extra", REPEATS.values(), ids=REPEATS)
def test_what_repeats_on_the_program_alone_is_found_out_without_a_start(extra, monkeypatch):
    """Six rods to a point six lengths away are apart everywhere but where they hold, and steps lead there by halves."""

    def derived():
        problem = chain(6, extra)
        try:
            return type(hf.derive(hf.Problem(problem.system, problem.program)).solver).__name__
        except hf.HoldfastError as error:
            return str(error)

    usual = derived()
    monkeypatch.setattr(solver, "LARGE", 10)
    assert derived() == usual


def test_a_large_system_that_repeats_itself_is_found_out(monkeypatch):
    monkeypatch.setattr(solver, "LARGE", 10)
    assert hf.derive(chain(8, REPEATS["a rod twice"])).solver.form == "redundant"


def test_a_large_system_without_masses_is_refused_by_name(monkeypatch):
    monkeypatch.setattr(solver, "LARGE", 3)
    names = hf.coordinates("a b c d e")
    system = hf.System(coordinates=names, kinetic=sum(q.rate**2 for q in names[:-1]))
    with pytest.raises(hf.HoldfastError, match="'e'"):
        hf.derive(hf.Problem(system, hf.Program(holonomic={"held": names[0] - names[1]})))


def test_the_collector_rests_and_wakes_again():
    import gc

    from holdfast.common.collection import uncollected

    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled()
    with uncollected(large=False):
        assert gc.isenabled()
