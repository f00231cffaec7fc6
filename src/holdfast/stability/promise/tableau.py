"""Schemes that a user makes: whether their order is shown, and their tableau as a certificate states it."""

from __future__ import annotations

from typing import Any

from holdfast.errors import BadRequest
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.algebra.order_conditions import residuals
from holdfast.schemes.by_name import is_named, scheme_meant
from holdfast.schemes.kinds.embedded import Embedded
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.schemes.kinds.scheme import Scheme

MOST_STAGES, MOST_ORDER = 16, 6  # of a tableau that is proved; a verifier checks as many conditions again


def unshown_order(scheme: Scheme) -> str | None:
    """Why the order of a scheme without a name of its own is not shown; None where it is."""
    if not isinstance(scheme, RungeKutta):
        return f"{scheme.name} is not one of the schemes whose order is proved"
    if scheme_meant(scheme.name) is not None:
        return f"{scheme.name} is not one of the schemes whose order is proved: it has the name of another"
    if scheme.digits is not None:
        return f"the coefficients of {scheme.name} are not exact, so its order is not shown"
    if scheme.order > MOST_ORDER or scheme.stage_count > MOST_STAGES:
        return f"{scheme.name} has an order above {MOST_ORDER}, or more than {MOST_STAGES} stages"
    if any(residual for _, residual in residuals(scheme.stages, scheme.weights, scheme.order)):
        return f"{scheme.name} is not of the order that it claims"
    return None


def require_run(run: object, verb: str) -> None:
    if not isinstance(run, Trajectory):
        what = f"{type(run).__name__} is no run"
        raise BadRequest(what, where=f"{verb}(trajectory=...)", fix="give what hf.simulate returns")


def require_maker(run: Trajectory, scheme: Scheme, where: str) -> None:
    """A run speaks for a scheme only if it was made with its numbers: a name does not tell them."""
    if run.scheme_fingerprint == scheme.fingerprint:
        return
    made = (
        f"by another scheme that is called {run.scheme}" if run.scheme_fingerprint else "before runs kept their scheme"
    )
    raise BadRequest(f"the run was made {made}", where=where, fix="give the scheme that made it, or make it again")


def main_tableau(scheme: Scheme) -> RungeKutta | None:
    """The tableau whose steps an adaptive scheme takes; None where it has none, or the scheme keeps its step."""
    return scheme.main if isinstance(scheme, Embedded) else None


def stated_tableau(scheme: Scheme) -> dict[str, Any] | None:
    """The tableau of a scheme that a name does not tell; None where one does, or where it has none."""
    found = main_tableau(scheme) or scheme
    if not isinstance(found, RungeKutta) or is_named(scheme) or unshown_order(found) is not None:
        return None
    rows = [[str(value) for value in row[:i]] for i, row in enumerate(found.stages)]
    return {"stages": rows, "weights": [str(value) for value in found.weights], "order": found.order}
