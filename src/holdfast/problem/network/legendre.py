"""Energies and co-energies: one function, seen from either of its two variables.

    T(p) + T*(f) = p f,    f = dT/dp,   p = dT*/df          V(q) + V*(e) = e q,    e = dV/dq,   q = dV*/de

Where the law is linear both have the same value; a relativistic mass, a saturating coil or a hard spring tells them
apart. Lagrange's form wants T*(f) and V(q), Hamilton's form T(p) and V(q).
"""

from __future__ import annotations

import sympy as sp

from holdfast.errors import BadStatement

TRIALS = (sp.Rational(3, 10), sp.Rational(7, 10), -sp.Rational(2, 5))


def legendre(function: sp.Expr, variable: sp.Symbol, other: sp.Symbol) -> sp.Expr:
    """The function's partner in the other variable: other·variable − function, where other = d function/d variable."""
    slope = sp.diff(function, variable)
    stiffness = sp.diff(slope, variable)
    if stiffness == 0:
        raise BadStatement(
            f"{function} has no partner: its slope {slope} does not change with {variable}",
            fix="a store needs an energy that is curved",
        )
    try:
        solutions = sp.solve(slope - other, variable)
    except NotImplementedError:
        solutions = []
    for solution in solutions:
        if _gives_back(slope, variable, other, solution):
            return sp.simplify(sp.expand(solution * other) - function.subs(variable, solution))
    raise BadStatement(
        f"the law {other} = {slope} cannot be solved for {variable} in closed form",
        fix="state the other of the two, energy or co-energy",
    )


def _gives_back(slope: sp.Expr, variable: sp.Symbol, other: sp.Symbol, solution: sp.Expr) -> bool:
    """Whether the solution is the branch through small values, not another root."""
    names = (slope.free_symbols | solution.free_symbols) - {variable, other}
    for trial in TRIALS:
        fixed = {name: sp.Rational(3, 2) + sp.Rational(k, 7) for k, name in enumerate(sorted(names, key=str))}
        value = slope.subs(fixed).subs(variable, trial)
        back = sp.N(solution.subs(fixed).subs(other, value))
        if not back.is_real or abs(back - trial) > 1e-9:
            return False
    return True
