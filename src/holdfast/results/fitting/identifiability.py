"""What data determine, and what they do not: singular values of the Jacobian, each unknown in its own size.

J = U S Vᵀ,    J D⁻¹ with columns of length 1:    a singular value near 0 is a combination that nothing was said of
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray
NONE = 1e-7  # of the largest: a singular value below this is one of rounding, that of derivatives and of runs
IDLE = 1e-11  # of the data: what a parameter that cancels leaves behind by rounding
NOISE = 1e-4  # of its largest part: what is left of a part that elimination took out
NAMED = 0.05  # of the largest part: an unknown that takes part in a combination
WEAK = 0.5  # of its value: a standard error above this is worth a warning


@dataclass(frozen=True, eq=False)
class Identifiability:
    """Singular values, the covariance per unit of noise, and what is not determined, in words."""

    singular_values: Array
    covariance: Array  # infinite for what is not determined
    open: tuple[str, ...]  # sentences
    rank: int


def lengths_of(rows: Array) -> Array:
    """The length of each column, or of one, without overflow on the way."""
    largest = np.abs(rows).max(axis=0, initial=0.0)
    size = np.where(largest > 0, largest, 1.0)
    return np.asarray(size * np.linalg.norm(rows / size, axis=0))


def determined(jacobian: Array, names: tuple[str, ...], values: Array, extent: float) -> Identifiability:
    """The covariance (JᵀJ)⁻¹ of unknowns where the data determine them, by a weighted Jacobian.

    `extent` is the size of the data in the same weights: what moves them by no more than a rounding of it is idle.
    """
    reach = lengths_of(jacobian) * np.where(values != 0, np.abs(values), 1.0)
    idle = reach <= IDLE * extent
    jacobian = np.where(idle, 0.0, jacobian)
    lengths = lengths_of(jacobian)
    scale = np.where(idle, 1.0, lengths)
    _, sizes, vt = np.linalg.svd(jacobian / scale, full_matrices=False)
    if len(sizes) < len(names):  # fewer data than unknowns
        full = np.linalg.svd(jacobian / scale, full_matrices=True)
        sizes, vt = np.concatenate([sizes, np.zeros(len(names) - len(sizes))]), full[2]
    missing = sizes <= NONE * sizes.max(initial=0.0)
    inverse = np.where(missing, 0.0, 1 / np.where(missing, 1.0, sizes))
    half = (vt.T * inverse) / scale[:, None]
    covariance = half @ half.T
    parts = np.abs(vt[missing]).max(axis=0, initial=0.0) > NAMED if missing.any() else np.zeros(len(names), bool)
    covariance[parts] = np.inf
    covariance[:, parts] = np.inf
    size = np.where(values != 0, np.abs(values), 1.0)
    open_ = tuple(_sentence(row, names, values, idle) for row in _reduced(vt[missing] / scale / size))
    return Identifiability(sizes, covariance, open_, int((~missing).sum()))


def _reduced(rows: Array) -> Array:
    """Combinations of the rows with as few parts as elimination finds: each has one that no other has."""
    found = rows / np.abs(rows).max(axis=1, keepdims=True, initial=1e-300)
    for k in range(len(found)):
        lead = int(np.abs(found[k]).argmax())
        found[k] /= found[k, lead]
        for other in range(len(found)):
            if other != k:
                found[other] -= found[other, lead] * found[k]
    return np.where(np.abs(found) > NOISE * np.abs(found).max(axis=1, keepdims=True, initial=1e-300), found, 0.0)


def _sentence(parts: Array, names: tuple[str, ...], values: Array, idle: Array) -> str:
    """A combination that the data do not determine, by the relative changes that leave them as they are."""
    chosen = [k for k in range(len(names)) if parts[k]]
    if len(chosen) == 1 or all(idle[k] for k in chosen):
        return f"the data say nothing of {' and '.join(names[k] for k in chosen)}"
    listed, moves = _moves(parts, chosen, names, values)
    return f"the data do not determine {listed} apart: {moves} together leave them as they are"


def _moves(parts: Array, chosen: list[int], names: tuple[str, ...], values: Array) -> tuple[str, str]:
    """Who takes part in a combination, and by how much: in parts of its own value, the largest 1 %."""
    lead = max(chosen, key=lambda k: abs(parts[k]))
    shares = parts / parts[lead] * np.where(values != 0, np.sign(values), 1.0)
    moves = ", ".join(f"{names[k]} {shares[k]:+.3g}{' %' if values[k] else ''}" for k in chosen)
    return ", ".join(names[k] for k in chosen), moves


def _weakness(name: str, value: float, error: float) -> str:
    if error > abs(value):
        return f"{name} is not told from 0: {value:.3g} ± {error:.3g}"
    return f"{name} is known to {100 * error / abs(value):.2g} % only"


def weak(jacobian: Array, names: tuple[str, ...], values: Array, errors: Array) -> tuple[str, ...]:
    """What is determined badly, in words: each, and the combination that is to blame where there is one."""
    size = np.where(values != 0, np.abs(values), 1.0)
    badly = [k for k in range(len(names)) if np.isfinite(errors[k]) and values[k] and errors[k] > WEAK * size[k]]
    said = [_weakness(names[k], float(values[k]), float(errors[k])) for k in badly]
    known = [k for k in range(len(names)) if np.isfinite(errors[k])]
    if len(badly) > 1:
        parts = np.zeros(len(names))
        parts[known] = np.linalg.svd(jacobian[:, known] * size[known], full_matrices=False)[2][-1]
        chosen = [k for k in known if abs(parts[k]) > NAMED * np.abs(parts).max()]
        if len(chosen) > 1:
            listed, moves = _moves(parts, chosen, names, values)
            said.append(f"the data hardly tell {listed} apart: {moves} together change them least")
    return tuple(said)
