"""Choosing the norm of a certificate: a search in floats; what it finds is checked elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SHARES = (0.15, 0.3, 0.45, 0.6, 0.75, 0.9)  # of the way from 1 to the spectral radius
SMALLEST_SIZE = 1e-10  # beside the largest, below which a component's size is rounding
LEAST_NORM = 1e-100
LITTLE, MOST_POWERS = 1e-4, 2048  # of a sum: where it ends, or after so many terms
DOUBLINGS, SPENT = 64, 1e-9  # of a sum of powers; and a power so small that the next, its square, adds nothing
AT_ONCE = 2**20  # numbers that the powers of all candidates may take together

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class ChosenNorm:
    """‖x‖_P = ‖Lᵀx‖₂ with ‖R‖_P ≤ gamma for all the matrices it was chosen for."""

    factor: Array
    gamma: float

    def widths(self) -> list[float]:
        """The largest value of each component in the unit ball."""
        return [float(x) for x in np.linalg.norm(np.linalg.inv(self.factor.T), axis=1)]


def sizes_in(factor: Array, rows: Array) -> Array:
    """‖Lᵀx‖ of each row."""
    return np.sqrt(_squares(factor, rows.T))


def _squares(factor: Array, columns: Array) -> Array:
    """‖Lᵀx‖² of each column; rows are few and long, so that they are added one by one."""
    turned = factor.T @ columns
    turned *= turned
    total, *others = turned
    for row in others:
        total += row
    return np.asarray(total)


def contraction_factor(factor: Array, matrices: Array) -> float:
    """The largest ‖R‖_P over matrices."""
    return float(_contraction_factors(factor[None], matrices)[0])


def _contraction_factors(factors: Array, matrices: Array) -> Array:
    """The same for each of many norms, by whichever are fewer one after the other."""
    turned = np.swapaxes(factors, 1, 2)
    inverses = np.linalg.inv(turned)
    if len(matrices) < len(factors):
        found = [np.linalg.svd(turned @ one @ inverses, compute_uv=False)[:, 0] for one in matrices]
        return np.asarray(np.max(found, axis=0))
    pairs = zip(turned, inverses, strict=True)
    return np.array([np.linalg.svd(a @ matrices @ b, compute_uv=False).max() for a, b in pairs])


def search_norm(matrices: Array, defects: Array) -> ChosenNorm | None:
    """The norm, among solutions of Stein's equation, that makes the settled deviation smallest for these defects.

    (R/γ)ᵀ P (R/γ) − P = −Q
    """
    mean = matrices.mean(axis=0)
    radius = np.abs(np.linalg.eigvals(mean)).max()
    if not radius < 1:
        return None
    columns = np.ascontiguousarray(defects.T)
    sizes = np.abs(columns).max(axis=1)
    steady = _steady(mean, columns, sizes)
    with np.errstate(all="ignore"):  # what overflows is no norm, and is not chosen
        factors = _stein(mean, 1 - np.array(SHARES) * (1 - radius), _scalings(sizes, steady))
        if not len(factors):
            return None
        gammas = _contraction_factors(factors, matrices)
        factors, gammas = factors[gammas < 1], gammas[gammas < 1]
        if not len(factors):
            return None
        settled = _largest(factors, columns)[:, None] * _impulses(mean, factors, gammas)
        scores = np.nan_to_num((settled / steady).sum(axis=1), nan=np.inf)
    best = int(scores.argmin())
    gamma = float(gammas[best])
    return ChosenNorm(factors[best], min(gamma + 1e-7 * (1 - gamma), 1.0)) if scores[best] < np.inf else None


def _steady(mean: Array, defects: Array, sizes: Array) -> Array:
    """The deviation that each defect, were it the same at every step, would settle at: the largest, by component."""
    response = np.abs(np.linalg.inv(np.eye(len(mean)) - mean) @ defects).max(axis=1)
    return np.maximum(np.maximum(response, sizes), LEAST_NORM)


def _scalings(sizes: Array, steady: Array) -> Array:
    """Weights Q: by the sizes of the defects, by those of the deviations they lead to, and equal."""
    floors = [np.maximum(size, max(SMALLEST_SIZE * size.max(), LEAST_NORM)) for size in (sizes, steady)]
    return np.array([*(np.diag((size.min() / size) ** 2) for size in floors), np.eye(len(sizes))])


def _stein(mean: Array, gammas: Array, weights: Array) -> Array:
    """The Cholesky factors of P = Σ (Aᵀ)ᵏ Q Aᵏ with A = R/γ, for each weight and γ; their first entries are 1.

        P_{2m} = P_m + (Aᵀ)ᵐ P_m Aᵐ

    Twice as many terms at a time, none of them negative, until the power is spent.
    """
    power = np.tile(mean / gammas[:, None, None], (len(weights), 1, 1))
    total = np.repeat(weights, len(gammas), axis=0)
    for _ in range(DOUBLINGS):
        total = total + np.swapaxes(power, 1, 2) @ total @ power
        if not np.abs(power).max() > SPENT:
            break
        power = power @ power
    return _factors(total / total[:, :1, :1])


def _factors(tables: Array) -> Array:
    """The Cholesky factors of those symmetric tables that have one, scaled to a first entry of 1."""
    found = []
    for table in tables[np.isfinite(tables).all(axis=(1, 2))]:
        try:
            found.append(np.linalg.cholesky((table + table.T) / 2))
        except np.linalg.LinAlgError:
            continue
    factors = np.array(found).reshape(-1, *tables.shape[1:])
    return factors / factors[:, :1, :1]


def _largest(factors: Array, defects: Array) -> Array:
    """The largest ‖Lᵀd‖ over defects [component, defect], for each norm."""
    return np.sqrt([_squares(factor, defects).max() for factor in factors])


def _impulses(mean: Array, factors: Array, gammas: Array) -> Array:
    """Σ ‖eᵢᵀ Rʲ L⁻ᵀ‖ for each norm: what a unit of defect at each step can add up to in each component."""
    at_once = max(1, AT_ONCE // (MOST_POWERS * mean.size))
    counts = np.maximum(1, (0.02 / (1 - gammas)).astype(int))  # a leap: powers over which γ hardly shows
    leaps = {count: np.linalg.matrix_power(mean, count) for count in {*counts.tolist()}}
    steps, inverses = np.array([leaps[count] for count in counts.tolist()]), np.linalg.inv(np.swapaxes(factors, 1, 2))
    parts = [slice(k, k + at_once) for k in range(0, len(factors), at_once)]
    found = [counts[part, None] * _summed(steps[part], inverses[part]) for part in parts]
    return np.concatenate(found)


def _summed(step: Array, inverse: Array) -> Array:
    """Σ ‖eᵢᵀ Aʲ L⁻ᵀ‖, twice as many powers at a time, until what is added is little."""
    norms, size, _ = step.shape
    rows = inverse[:, :, None]  # [norm, component, power, entry]
    sizes = np.sqrt(np.einsum("nipk,nipk->nip", rows, rows))
    while True:
        totals = np.cumsum(sizes, axis=2)
        little = sizes.max(axis=1) < LITTLE * totals.max(axis=1)
        enough, count = little.any(axis=1), rows.shape[2]
        if enough.all() or count >= MOST_POWERS:
            last = np.where(enough, little.argmax(axis=1), count - 1)
            return np.asarray(totals[np.arange(norms), :, last])
        more = (step @ rows.reshape(norms, size, -1)).reshape(rows.shape)
        rows, step = np.concatenate([rows, more], axis=2), step @ step
        sizes = np.concatenate([sizes, np.sqrt(np.einsum("nipk,nipk->nip", more, more))], axis=2)
