"""Every scheme there is, and how to find one by its name. A new scheme is tested, listed and offered from here."""

from __future__ import annotations

import unicodedata
from difflib import get_close_matches

from holdfast.errors import BadRequest
from holdfast.schemes.kinds.collocation import Collocation
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.schemes.kinds.scheme import Scheme
from holdfast.schemes.kinds.symplectic_euler import SYMPLECTIC_EULER
from holdfast.schemes.tableaus.dop853 import DOP853
from holdfast.schemes.tableaus.dopri5 import DOPRI5
from holdfast.schemes.tableaus.euler import EULER
from holdfast.schemes.tableaus.implicit_midpoint import IMPLICIT_MIDPOINT
from holdfast.schemes.tableaus.kutta import KUTTA3, RK4, THREE_EIGHTHS
from holdfast.schemes.tableaus.radau import RADAU, RADAU5
from holdfast.schemes.tableaus.two_stage import HEUN, MIDPOINT, RALSTON, two_stage_named

ALL_SCHEMES: tuple[Scheme, ...] = (
    EULER,
    SYMPLECTIC_EULER,
    MIDPOINT,
    HEUN,
    RALSTON,
    KUTTA3,
    RK4,
    THREE_EIGHTHS,
    DOPRI5,
    DOP853,
    IMPLICIT_MIDPOINT,
    RADAU5,
    RADAU,
)

_CHOOSING = {scheme.main: scheme for scheme in ALL_SCHEMES if isinstance(scheme, Collocation)}
_BY_NAME = {scheme.name: scheme for scheme in ALL_SCHEMES}


def with_own_steps(scheme: Scheme) -> Scheme:
    """The scheme that takes the steps of a fixed-step one at lengths of its own choice; itself where there is none."""
    return _CHOOSING.get(scheme, scheme) if isinstance(scheme, RungeKutta) else scheme


def scheme_named(name: str | Scheme) -> Scheme:
    """The scheme of this name ("rk4", "RK4", "two-stage(3/4)"); a scheme is returned as it is."""
    if isinstance(name, Scheme):
        return name
    found = scheme_meant(str(name))
    if found is not None:
        return found
    near = get_close_matches(_plain(str(name)), _BY_NAME, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise BadRequest(
        f"there is no scheme {name!r}",
        where="scheme",
        fix=f"{hint}the schemes are: {', '.join(_BY_NAME)}, two-stage(3/4)",
    )


def scheme_meant(name: str) -> Scheme | None:
    """The scheme that a name means, however it is written; None where it means none of ours."""
    key = _plain(name)
    return _BY_NAME.get(key) or two_stage_named(key)


def _plain(name: str) -> str:
    return unicodedata.normalize("NFKC", name).strip().lower().replace("_", "-").replace(" ", "-")


def is_named(scheme: Scheme) -> bool:
    """Whether a scheme is the one that its own name means, so that others can build it again from that."""
    if scheme in ALL_SCHEMES:
        return True
    return isinstance(scheme, RungeKutta) and two_stage_named(scheme.name) == scheme
