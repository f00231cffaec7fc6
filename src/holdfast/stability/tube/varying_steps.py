"""Runs that choose their own steps: what is proved of every run near this one that takes the very same steps.

    ψ_{k+1} = R(h_k H) ψ_k + d_k,      ‖R(h_k H)‖_P ≤ γ_k < 1  in one norm for all k,      d_k ∈ m_k ± r_k

The tube is boxes around the rows; each defect is enclosed over its own box and step. The deviations are then within
ρ_k of c_k in the norm, where

    c_{k+1} = R(h_k H) c_k + m_k,      ρ_{k+1} = γ_k ρ_k + ‖|Lᵀ| r_k‖
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import solve_continuous_lyapunov

from holdfast.engine.forms.evaluate import FormTape
from holdfast.engine.forms.monomials import CellMonomials
from holdfast.engine.forms.tape import Recorder, Value
from holdfast.graph.arithmetics.balls import ball, precision
from holdfast.graph.nodes import Node
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.proof.claim import BITS
from holdfast.stability.proof.contraction import Contraction
from holdfast.stability.proof.enclosure import ball_matrix, upper
from holdfast.stability.proof.rounding import clock_error
from holdfast.stability.tube.cells import Array, Cells
from holdfast.stability.tube.flow import TubeFlow
from holdfast.stability.tube.lengths import ROUNDED, longest_lengths
from holdfast.stability.tube.prove import FORMS
from holdfast.stability.tube.rounding.tape import RoundingTape
from holdfast.stability.tube.step import LIMIT_MARGIN, Stages, defect_tape, deviation_tape

PADDING = 1 + 1e-9  # of sums and products of doubles
UNIT = 2.0**-50  # of a few operations on doubles, beside their terms
DECAYS = (0.1, 0.3, 0.5, 0.7, 0.9)  # of the slowest root: rates at which a norm is to decay


@dataclass(frozen=True, eq=False)
class StepNorm:
    """One norm in which every step of a run contracts, and by how much each does."""

    factor: Array
    gammas: Array  # [step]
    matrices: Array  # [step, i, j]: R in doubles
    spreads: Array  # and what these may miss of it
    widths: Array

    @staticmethod
    def proved(scheme: RungeKutta, law: Array, factor: Array, run: Trajectory) -> StepNorm | None:
        """The contraction of each step, shown in balls; None where some step does not contract."""
        import flint

        lengths, room = np.diff(run.times), ROUNDED * float(np.abs(run.times).max())
        inverse = np.linalg.inv(factor.T)
        gammas, matrices, spreads, widths = [], [], [], None
        with precision(BITS):
            for length in lengths.tolist():
                table = _propagator(scheme, law, flint.arb(length, room))
                middle = np.array([[float(table[i, j].mid()) for j in range(len(law))] for i in range(len(law))])
                off = np.array([[upper(table[i, j].rad()) for j in range(len(law))] for i in range(len(law))])
                gamma = float(np.linalg.svd(factor.T @ middle @ inverse, compute_uv=False)[0])
                gamma += 1e-7 * (1 - gamma) + 2 * float(np.linalg.norm(np.abs(factor.T) @ off @ np.abs(inverse)))
                shown = Contraction(factor, gamma, table)
                if not (gamma < 1 and shown.holds()):
                    return None
                widths = widths or shown.widths()
                gammas.append(gamma)
                matrices.append(middle)
                spreads.append(off)
        return StepNorm(factor, np.array(gammas), np.array(matrices), np.array(spreads), np.array(widths))


def _propagator(scheme: RungeKutta, law: Array, step: Any) -> Any:
    """R(step·H) up to the scheme's order, over a ball of steps."""
    scaled, power = ball_matrix(law) * step, ball_matrix(np.eye(len(law)))
    total = power * ball(scheme.stability.numerator[0])
    for coefficient in scheme.stability.numerator[1 : scheme.order + 1]:
        power = power * scaled
        total = total + power * ball(coefficient)
    return total


def candidate_factors(law: Array, defects: Array) -> list[Array]:
    """L of norms in which the law itself decays, so that short steps contract: Lyapunov's equation, several ways."""
    slowest = -float(np.linalg.eigvals(law).real.max())
    size = np.maximum(np.abs(defects).max(axis=0), 1e-10 * np.abs(defects).max() + 1e-300)
    response = np.abs(np.linalg.solve(law, defects.T)).max(axis=1)
    response = np.maximum(response, 1e-10 * response.max() + 1e-300)
    found = []
    for decay in DECAYS:
        for weight in (np.eye(len(law)), np.diag((size.min() / size) ** 2), np.diag((response.min() / response) ** 2)):
            try:
                solved = solve_continuous_lyapunov((law + decay * slowest * np.eye(len(law))).T, -weight)
                factor = np.linalg.cholesky((solved + solved.T) / 2)
            except (np.linalg.LinAlgError, ValueError):
                continue
            if np.isfinite(factor).all() and factor[0, 0] > 0:
                found.append(np.asarray(factor / factor[0, 0]))
    return found


@dataclass(frozen=True, eq=False)
class StepForms:
    """Forms of every step of a run, over boxes around its rows."""

    flow: TubeFlow
    scheme: RungeKutta
    run: Trajectory
    scales: Array

    @cached_property
    def _shape(self) -> CellMonomials:
        order, weight = FORMS[0]
        return self.flow.shape(order, weight)

    def _cells(self, width: float) -> Cells:
        times, rows = self.run.times[:-1], self.run.y[:, :-1].T
        curves = np.zeros((*rows.shape, 4))
        curves[..., 0] = rows
        return Cells(np.column_stack([times, times]), curves, np.broadcast_to(width * self.scales, rows.shape).copy())

    def _inputs(self, width: float, least: float) -> Array:
        """τ from `least` to 1 of each step, time and state; s in steps."""
        lengths = longest_lengths(self.run)
        data = self._cells(width).inputs(self._shape, self.flow.places, self.flow.timed)
        tau = np.zeros((len(lengths), 1, data.shape[2]))
        tau[:, 0, 0] = lengths * (1 + least) / 2
        tau[:, 0, self._shape.place[(len(self.flow.variables) + 1,)]] = lengths * (1 - least) / 2 * PADDING
        tau[:, 0, -3] = lengths
        return np.concatenate([tau, data], axis=1)

    def defects(self, width: float) -> tuple[Array, Array]:
        """Middles and radii of the defect of each step [step, deviation]."""
        tape = defect_tape(self.flow, self.scheme, self._shape)
        with np.errstate(all="ignore"):
            found, even = tape(self._inputs(width, 0.0), tape.terms - 1), tape.monomials.even
            c = found.polynomials
            middle = c[..., 0] + 0.5 * c[..., even].sum(axis=-1)
            spread = np.abs(c[..., 1:]).sum(axis=-1) - 0.5 * np.abs(c[..., even]).sum(axis=-1) + found.remainders
            lengths = np.diff(self.run.times)
            short = (self.scheme.order + 1) * (longest_lengths(self.run) - lengths + UNIT * lengths) / lengths * 2
            slack = short[:, None] * (np.abs(middle) + spread)  # the step itself is a little shorter than its bound
            return middle, spread * PADDING + slack + UNIT * np.abs(c).sum(axis=-1)

    def direct(self, width: float, norm: StepNorm, places: Sequence[int]) -> tuple[Array, Array]:
        """Middles and radii of ψ(Φ(x)) − R ψ(x), rounding included, by the forms of both: no law need be obeyed."""
        lengths, room = np.diff(self.run.times), ROUNDED * float(np.abs(self.run.times).max())
        data = self._inputs(width, 1.0)
        data[:, 0, 0], data[:, 0, -3] = lengths, 0.0
        data[:, 0, self._shape.place[(len(self.flow.variables) + 1,)]] = room
        data[:, 1, -1] = clock_error(self.run.times[0], self.run.times, float(lengths.max()), self.scheme)
        model = RoundingTape(self.flow, self.scheme, float(lengths.max()) * PADDING, self._shape, varying=True)
        with np.errstate(all="ignore"):
            found, before = model.tape(data), deviation_tape(self.flow, self._shape)(data[:, 1:])
            p, own = before.polynomials[:, places], found.polynomials[:, places]
            c = own - np.einsum("kij,kjm->kim", norm.matrices, p)
            size = np.abs(own) + np.einsum("kij,kjm->kim", np.abs(norm.matrices), np.abs(p))
            rest = found.remainders[:, places] + found.rounding[:, places]
            rest += np.einsum("kij,kj->ki", np.abs(norm.matrices), before.remainders[:, places])
            rest += np.einsum("kij,kj->ki", norm.spreads, before.sizes()[:, places])
            even = self._shape.even
            middle = c[..., 0] + 0.5 * c[..., even].sum(axis=-1)
            spread = np.abs(c[..., 1:]).sum(axis=-1) - 0.5 * np.abs(c[..., even]).sum(axis=-1)
            return middle, (spread + rest) * PADDING + UNIT * len(places) * size.sum(axis=-1)

    def commands_within(self, width: float, limits: Sequence[tuple[Node, float, float]]) -> bool:
        """Whether controls, by what they are computed from, reach no limit at any stage of any step."""
        if not limits:
            return True
        tape = Recorder(1, self._shape)
        taken = Stages(self.flow, self.scheme, tape, tape.input([len(self.flow.variables) + 1]))
        stages: list[list[Value]] = []
        wanted: list[int] = []
        for node, row in zip(self.scheme.nodes, self.scheme.stages, strict=True):
            moment, place = taken.moment(node), taken.advanced(row, stages)
            found = tape.graph(self.flow.inputs, [moment, *place], [limit[0] for limit in limits])
            wanted += [tape.number(x) for x in found]
            stages.append(taken.rates(moment, place))
        with np.errstate(all="ignore"):
            forms = FormTape(tape, wanted)(self._inputs(width, 0.0))
            middle, size = forms.polynomials[..., 0], forms.sizes()
            reach = size - np.abs(middle) + LIMIT_MARGIN * size
            low, high = (np.tile([limit[k] for limit in limits], len(self.scheme.nodes)) for k in (1, 2))
            return bool(((middle - reach > low) & (middle + reach < high)).all())

    def reaches(self, width: float) -> Array:
        """What the boxes alone say of each deviation, at most."""
        with np.errstate(all="ignore"):
            found = deviation_tape(self.flow, self._shape)(self._inputs(width, 0.0)[:, 1:])
            return np.asarray(found.sizes().max(axis=0))

    def rounding(self, width: float) -> Array:
        """What doubles add to each deviation in each step."""
        longest = float(longest_lengths(self.run).max()) * PADDING
        model = RoundingTape(self.flow, self.scheme, longest, self._shape, varying=True)
        data = self._inputs(width, 1.0 - 1e-6)
        data[:, 0, -3] = 0.0
        data[:, 1, -1] = clock_error(self.run.times[0], self.run.times, longest, self.scheme)
        with np.errstate(all="ignore"):
            return np.asarray(model.tape(data).rounding[:, : len(self.flow.psi)])


def carried(norm: StepNorm, middle: Array, radius: Array, start: float) -> tuple[Array, Array]:
    """c_k and ρ_k at every row, of runs that start within `start` in the norm."""
    count = len(norm.widths)
    centre, reach = np.zeros((len(middle) + 1, count)), np.full(len(middle) + 1, start)
    size = np.abs(norm.factor)
    for k, (matrix, spread, gamma) in enumerate(zip(norm.matrices, norm.spreads, norm.gammas, strict=True)):
        centre[k + 1] = matrix @ centre[k] + middle[k]
        lost = UNIT * (count + 2) * (np.abs(matrix) @ np.abs(centre[k]) + np.abs(middle[k]))
        lost += spread @ np.abs(centre[k]) * PADDING
        reach[k + 1] = (gamma * reach[k] + np.linalg.norm((radius[k] + lost) @ size)) * (1 + 2.0**-40)
    return centre, reach


def largest(norm: StepNorm, centre: Array, reach: Array) -> Sequence[float]:
    """The bound of each deviation at any row."""
    return [float(x) for x in ((np.abs(centre) + reach[:, None] * norm.widths) * PADDING).max(axis=0)]
