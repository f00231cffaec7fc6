"""Judging runs of large systems without dense matrices: what the law attracts and predicts, what rounding can do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from holdfast.equations.dynamics.sample import Sample
from holdfast.equations.equations import Equations
from holdfast.equations.solving.large import plainly_regular
from holdfast.graph.arithmetics.tape import Ledger
from holdfast.results.judgement.attraction import predicted
from holdfast.results.start.sparse_steps import SparseRows

MOST_COUPLED = 400  # deviations of a block: of larger ones no more is predicted than they begin with
DIGITS = 1e-5  # of an eigenvalue: a condition number is read to three


def large_prediction(
    equations: Equations, state: Sequence[float], time: float, constants: Sequence[float], start: np.ndarray,
    duration: float,
) -> np.ndarray:  # fmt: skip
    """The largest deviations that the law would give from those of the start, block by block; like blocks once."""
    found, known = np.abs(start), dict[bytes, np.ndarray]()
    for block, own in law_blocks(equations, state, time, constants):
        if len(block) <= MOST_COUPLED and start[block].any():
            key = own.tobytes()
            if key not in known:  # the response is linear: what each deviation alone would make of all
                known[key] = np.array([predicted(own, unit, duration) for unit in np.eye(len(block))])
            found[block] = np.abs(start[block]) @ known[key]
    return found


def large_attracted(
    equations: Equations, off: np.ndarray, state: Sequence[float], time: float, constants: Sequence[float]
) -> bool:
    """Whether the law attracts every block of deviations that is `off` at the start; like blocks are looked at once."""
    known = dict[bytes, bool]()
    for block, own in law_blocks(equations, state, time, constants):
        if off[block].any():
            key = own.tobytes()
            if key not in known:
                known[key] = bool(np.isfinite(own).all() and np.linalg.eigvals(own).real.max() < 0)
            if not known[key]:
                return False
    return True


def large_condition(
    equations: Equations, state: Sequence[float], time: float, constants: Sequence[float]
) -> float | None:
    """The condition number of J M⁻¹Jᵀ, by its largest and least eigenvalues; None where it is not regular by far.

    (J M⁻¹Jᵀ)⁻¹ b is −λ of M x + Jᵀλ = 0, J x = b.
    """
    if equations.solver.form != "solved" or not equations.dynamics.symmetric or equations.friction is not None:
        return None
    sample = Sample(dict(zip(equations.field.inputs, (time, *state, *constants), strict=True)))
    parts = equations.dynamics.mass, equations.deviations.jacobian
    if equations.deviations.through or not plainly_regular(sample, *parts, equations.holders):
        return None
    n, r = len(equations.coordinates), len(equations.constraints)
    if r == 1:
        return 1.0  # of a number
    from scipy.sparse import block_array
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, splu

    _, (mass, slopes) = SparseRows(tuple(sample.values), (), [(part, n) for part in parts])(
        list(sample.values.values())
    )
    inertia, whole = splu(mass.tocsc()), splu(block_array([[mass, slopes.T], [slopes, None]], format="csc"))
    given = np.random.default_rng(20240611).uniform(-1, 1, r)  # the same digits every time
    ways = (
        lambda b: slopes @ inertia.solve(slopes.T @ b),
        lambda b: -whole.solve(np.concatenate([np.zeros(n), b]))[n:],
    )
    try:
        largest = [
            eigsh(LinearOperator((r, r), matvec=way, dtype=float), 1, which="LA", v0=given, tol=DIGITS)[0][0]
            for way in ways
        ]
    except ArpackNoConvergence:
        return None
    return float(largest[0] * largest[1])


def law_blocks(
    equations: Equations, state: Sequence[float], time: float, constants: Sequence[float]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The deviations that the law couples with each other at one state, and their matrix, block by block."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    m, rows = len(equations.deviations.y), equations.demand_law.matrix
    values = Ledger(dict(zip(equations.field.inputs, (time, *state, *constants), strict=True)))
    law = values.of([node for row in rows for node in row.values()])
    places = [*enumerate(equations.deviations.follows), *((m + i, j) for i, row in enumerate(rows) for j in row)]
    i, j = np.array(places).T
    size = m + len(rows)
    matrix = csr_array(([1.0] * m + law, (i, j)), shape=(size, size))
    matrix.eliminate_zeros()  # which couple nothing
    _, labels = connected_components(matrix, directed=False)
    order = np.argsort(labels, kind="stable")
    for block in np.split(order, np.cumsum(np.bincount(labels))[:-1]):
        yield block, matrix[block][:, block].toarray()


def large_noise(equations: Equations, state: Sequence[float], time: float, constants: Sequence[float]) -> np.ndarray:
    """|J| a + |γ|, what forces alone would do to each constraint, a by the diagonal of M."""
    values = Ledger(dict(zip(equations.field.inputs, (time, *state, *constants), strict=True)))
    reactions = np.abs(values.of(equations.solution.mu))
    forces = np.abs(values.of(equations.dynamics.bias))
    for force, row in enumerate(equations.holders):
        pushes = np.abs(values.of(list(row.values())))
        forces[force] += pushes @ reactions[list(row)] if row else 0.0
    inertia = np.array(values.of([row[i] for i, row in enumerate(equations.dynamics.mass)]))
    felt = felt_everywhere(forces, inertia)
    jacobian = equations.deviations.jacobian
    moved = np.array([np.abs(values.of(list(row.values()))) @ felt[list(row)] if row else 0.0 for row in jacobian])
    return np.where(np.isfinite(moved), moved + np.abs(values.of(equations.deviations.drift)), 0.0)


def felt_everywhere(forces: np.ndarray, inertia: np.ndarray) -> np.ndarray:
    """a_j = max_k √(f_k²/m_k) / √m_j, the largest of all accelerations as each coordinate feels it.

    An elimination passes its rounding on to what stands still. It does so in the metric of masses, in which neither
    units nor a light part under a heavy load make the others move. 0 where a coordinate has no inertia.
    """
    has = inertia > 0
    root = np.sqrt(np.where(has, inertia, 1.0))
    return np.where(has, np.max(np.abs(forces) / root, where=has, initial=0.0) / root, 0.0)
