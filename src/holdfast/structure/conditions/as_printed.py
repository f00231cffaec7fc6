"""The conditions as the paper prints them, (4.1) to (4.8), corrected; a second opinion on K1 to K3.

    (4.1) ∂f_i/∂a_k = ∂f_k/∂a_i                       (4.2) ½(∂f_i/∂v_k + ∂f_k/∂v_i) − d/dt ∂f_i/∂a_k = s_ik
    (4.3) ∂f_i/∂q_k − ∂f_k/∂q_i − ½ d/dt(∂f_i/∂v_k − ∂f_k/∂v_i) = r_ik      s and r free of accelerations
    (4.4) ∂²f_i/∂a_j∂a_k = 0                          (4.5) ∂s_ij/∂v_k = ∂s_ik/∂v_j
    (4.6) ∂r_ij/∂v_k = ∂s_ik/∂q_j − ∂s_jk/∂q_i        (4.7) ∂r_ij/∂q_k + ∂r_jk/∂q_i + ∂r_ki/∂q_j = 0
    (4.8) s_ij = ∂²D/∂v_i∂v_j,  r_ij = ∂²D/∂v_i∂q_j − ∂²D/∂v_j∂q_i

where d/dt takes the accelerations along. The printed text has v where a is meant in (4.1), (4.2) and (4.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

import sympy as sp

from holdfast.structure.algebra.zero import decisions
from holdfast.structure.conditions.helmholtz import Helmholtz
from holdfast.structure.conditions.second_order import SecondOrder


def printed_conditions(found: Helmholtz, D: sp.Expr | None = None) -> dict[str, bool]:
    """Whether each printed condition holds; (4.8) only when a D is given."""
    system = found.system
    f, q, v, a, n = system.f, system.q, system.v, system.a, range(len(system.q))
    s = sp.Matrix(len(f), len(f), lambda i, k: _s(system, i, k))
    r = sp.Matrix(len(f), len(f), lambda i, k: _r(system, i, k))
    conditions: dict[str, list[sp.Expr]] = {
        "4.1": [sp.diff(f[i], a[k]) - sp.diff(f[k], a[i]) for i, k in combinations(n, 2)],
        "4.2": [sp.diff(s[i, k], x) for i, k, x in product(n, n, a)],
        "4.3": [sp.diff(r[i, k], x) for i, k, x in product(n, n, a)]
        + [sp.diff(f[i], v[k], x) - sp.diff(f[k], v[i], x) for i, k, x in product(n, n, a)],
        "4.4": [sp.diff(f[i], a[j], a[k]) for i, j, k in product(n, n, n)],
        "4.5": [sp.diff(s[i, j], v[k]) - sp.diff(s[i, k], v[j]) for i, j, k in product(n, n, n)],
        "4.6": [
            sp.diff(r[i, j], v[k]) - sp.diff(s[i, k], q[j]) + sp.diff(s[j, k], q[i]) for i, j, k in product(n, n, n)
        ],
        "4.7": [
            sp.diff(r[i, j], q[k]) + sp.diff(r[j, k], q[i]) + sp.diff(r[k, i], q[j]) for i, j, k in combinations(n, 3)
        ],
    }
    if D is not None:
        conditions["4.8"] = [s[i, j] - sp.diff(D, v[i], v[j]) for i, j in product(n, n)]
        conditions["4.8"] += [r[i, j] - sp.diff(D, v[i], q[j]) + sp.diff(D, v[j], q[i]) for i, j in product(n, n)]
    return {name: _all_zero(entries, system) for name, entries in conditions.items()}


def _rate(e: sp.Expr, system: SecondOrder) -> sp.Expr:
    """d/dt with the accelerations."""
    return system.drift(e) + sp.Add(*(sp.diff(e, u) * x for u, x in zip(system.v, system.a, strict=True)))


def _s(system: SecondOrder, i: int, k: int) -> sp.Expr:
    f, v = system.f, system.v
    return (sp.diff(f[i], v[k]) + sp.diff(f[k], v[i])) / 2 - _rate(sp.diff(f[i], system.a[k]), system)


def _r(system: SecondOrder, i: int, k: int) -> sp.Expr:
    f, q, v = system.f, system.q, system.v
    curl = sp.diff(f[i], v[k]) - sp.diff(f[k], v[i])
    return sp.diff(f[i], q[k]) - sp.diff(f[k], q[i]) - _rate(curl, system) / 2


def _all_zero(entries: Sequence[sp.Expr], system: SecondOrder) -> bool:
    return all(answer.zero for answer in decisions(list(entries), system.points, limit=0.0))
