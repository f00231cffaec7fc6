"""Starts near that of a certificate whose whole run is proved to stay in its tube: the condition dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from holdfast.common.frozen import Frozen
from holdfast.common.rounded import rounded_down
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.by_name import scheme_named
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.schemes.kinds.scheme import Scheme
from holdfast.stability.certificate.certificate import Certificate, made_here
from holdfast.stability.certificate.tube_proof import Tube, tubes_of
from holdfast.stability.promise.run_code import run_code
from holdfast.stability.tube.cells import Cells, room_around
from holdfast.stability.tube.flow import tube_flow
from holdfast.stability.tube.starts import Neighbours


@dataclass(frozen=True, eq=False)
class SafeStarts:
    """Every run of the certificate's scheme and step that starts within `distances` of its start, state by state, is
    proved to stay in its tube to the end, rounding included. So what is proved in the tube holds for it without that
    condition: the bounds, if it starts with no more deviation than this one (‖ψ₀‖_P ≤ `start_size` of the block);
    otherwise the same bounds once its own deviation has died away by γ a step.

    `part` is the distance as a part of the tube's half-widths; 0 where nothing is proved.
    """

    part: float
    distances: Mapping[str, float]

    def __bool__(self) -> bool:
        return self.part > 0

    def __str__(self) -> str:
        if not self:
            return "No start beside this one is proved to stay in the tube."
        told = ", ".join(f"{name} +- {rounded_down(value, 2)}" for name, value in self.distances.items())
        return (
            f"Proved: every run that starts within {told} of this one's start stays in the tube to the end, so that "
            "the bounds hold for it: from its start on if that deviates no more than this one's, else once that has "
            "died away."
        )


def safe_starts(equations: Equations, certificate: Certificate) -> SafeStarts:
    """How far a start may be from that of a certificate in a tube, so that its whole run is proved to stay in the tube.

    The certificate must be the one that `certify` has just made from these equations. Takes a few seconds.

    starts = hf.safe_starts(equations, certificate);  starts.part;  starts.distances["x"];  print(starts)
    """
    if not isinstance(equations, Equations) or not isinstance(certificate, Certificate):
        raise BadRequest("safe_starts() takes Equations and the certificate that certify() made of them")
    run, scheme, tubes = certificate.trajectory, _scheme(certificate), tubes_of(certificate.blocks)
    if not made_here(certificate) or run is None or certificate.step is None:
        raise BadRequest("the certificate was not made here, so its run is not at hand", fix="hf.certify(...) again")
    if not tubes or not isinstance(scheme, RungeKutta):
        raise BadRequest("nothing in this certificate is proved in a tube", where="safe_starts(certificate)")
    if run_code(equations) != certificate.code:
        raise BadRequest("the certificate was made of other equations", where="safe_starts(certificate)")
    numbers = {name: certificate.parameters[name] for name in equations.parameter_names}
    flow = tube_flow(equations, numbers, whole=True)
    room = np.min([_room(tube, run) for tube in tubes], axis=0)
    if not (room > 0).all():
        return SafeStarts(0.0, Frozen())
    neighbours = Neighbours(flow, scheme, certificate.step, run, room)
    part, widths = neighbours.largest_start(), neighbours.widths
    told = {name: float(part * width) for name, width in zip(run.state_names, widths, strict=True)}
    return SafeStarts(part, Frozen(told) if part else Frozen())


def _scheme(certificate: Certificate) -> Scheme:
    """The scheme of a certificate, by its name or by the tableau that it states."""
    if certificate.tableau is None:
        return scheme_named(certificate.scheme)
    weights = tuple(Fraction(value) for value in certificate.tableau["weights"])
    stages = tuple(tuple(Fraction(value) for value in row) for row in certificate.tableau["stages"])
    return RungeKutta(name=certificate.scheme, order=certificate.tableau["order"], stages=stages, weights=weights)


def _room(tube: Tube, run: Trajectory) -> np.ndarray:
    """The half-widths of boxes around the rows of a run that lie in the tube."""
    cells = Cells(*(np.array([cell[k] if k else cell[:2] for cell in tube.cells]) for k in (0, 2, 3)))
    return room_around(cells, run)
