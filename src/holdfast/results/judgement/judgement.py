"""How a run is judged: one judgement for every verb, the page and the exit code.

Rows, start and equations in; an outcome and named findings out. A run is called a success only if it came to its end
and nothing was found against it. Every measure is a ratio of two numbers of the same unit:

* a **deviation** is large beside the size of its terms (`rounding.natural_nodes`), wherever the origin lies: l² for a
  rod, speeds for a skate. It is judged at its worst row, not at the last, beside the terms of that row and the usual
  ones along the run. It has *grown* if it exceeds `FAR_OFF` of them (`DOUBTFUL` where the law drives away) and `GROWTH`
  times what the law predicts, |exp(tH) z(0)|, and is more than rounding of the forces could have made.
* the **energy** of a run in which nothing does work may change by a small part of the energy in motion, and by the
  rounding of its own terms.
* **few steps** leave of both what no short step can help (`few_steps.py`): from rest, a large part of the terms.
* a run that **broke off** is called singular only if it had not left the program, nor run away, before.
* each **quantity** that is shown is finite, or named with the first row where it is not.

The first look is cheap: worst deviations against the sizes of terms at three rows. Only what that makes doubtful is
looked at row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.common.memo import remembered
from holdfast.engine.run.rows import Rows
from holdfast.engine.run.status import Status
from holdfast.equations.equations import Equations
from holdfast.equations.solving.large import LARGE, plainly_definite
from holdfast.equations.values import values_at
from holdfast.graph.arithmetics.tape import Tape
from holdfast.results.judgement.attraction import attracted, driven_away, law_matrices, predicted
from holdfast.results.judgement.endings.authority import authority_end
from holdfast.results.judgement.endings.friction import friction_end
from holdfast.results.judgement.energy import conservative, correction_work, energy_lost, undriven
from holdfast.results.judgement.few_steps import kept_deviations, made_by_few_steps
from holdfast.results.judgement.finding import Finding, Judgement
from holdfast.results.judgement.large import felt_everywhere, large_attracted, large_noise, large_prediction
from holdfast.results.judgement.masses import mass_at, negative_mass, sparse_mass
from holdfast.results.judgement.outcome import Outcome
from holdfast.results.judgement.passages import branch_found, singular_end
from holdfast.results.judgement.quaternions import turn_lost
from holdfast.results.judgement.tracking import loose, running_away
from holdfast.results.start.start import Start
from holdfast.results.start.term_sizes import EPSILON, deviation_sizes

OUTCOMES = {
    Status.completed: Outcome.completed,
    Status.not_finite: Outcome.not_finite,
    Status.rank_lost: Outcome.rank_lost,
    Status.event: Outcome.event,
    Status.not_converged: Outcome.newton_failed,
    Status.step_collapsed: Outcome.step_collapsed,
    Status.interrupted: Outcome.interrupted,
}

BROKEN = (Outcome.rank_lost, Outcome.not_finite, Outcome.step_collapsed, Outcome.newton_failed)
NEARLY_SINGULAR = 1e-4  # a pivot this small, as a part of its largest, explains why values became infinite
FAR_OFF = 0.1  # of the size of its terms: a deviation beyond this is far off the program
DOUBTFUL = 0.01  # of the size of its terms at three rows: a deviation beyond this is looked at row by row
GROWTH = 10  # times what the law predicts of it
BLOWN = 1e6  # times its usual size along the run: what has run away
NOTICEABLE = 1e-6  # of its scale: a trial that deviates less has not grown
BEYOND_ANY = 1e290  # a size that no deviation reaches
NOISE = 1e3 * EPSILON  # of what forces alone would do: below this, rounding noise
PUMPED = 0.1  # of the energy in motion: a change beyond this is an error of the run
SHARE = 1e-3  # of the way that its rate would take it: the reach of a coordinate that returns to where it was
FEW = 64  # rows from which sizes are read at first
QUARTILE = 0.25  # of the sizes along a run, the one called usual: above zero crossings, below what has run away
LOOKED_AT = 4096  # rows, at most, at which sizes are computed one by one


@dataclass(frozen=True, eq=False)
class Facts:
    """A run as it is judged: its rows, its constants, its start, and how long it was to last."""

    equations: Equations
    rows: Rows
    constants: Sequence[float]
    start: Start
    duration: float


@remembered
def deviation_places(equations: Equations) -> list[int]:
    """Which observables are deviations."""
    names = frozenset(equations.deviation_names)
    return [k for k, name in enumerate(equations.observables) if name in names]


def ended(status: int, pivots: np.ndarray) -> Outcome:
    """What the engine's code means; infinite values beside a vanishing pivot are a loss of rank."""
    outcome = OUTCOMES[Status(status)]
    if outcome is Outcome.not_finite and len(pivots) and pivots.min() < NEARLY_SINGULAR:
        return Outcome.rank_lost
    return outcome


def all_ended(status: np.ndarray, pivots: np.ndarray) -> list[Outcome]:
    """`ended` of many cases."""
    found = np.empty(len(status), dtype=object)
    for code in np.unique(status):
        found[status == code] = OUTCOMES[Status(int(code))]
    for number in np.nonzero(status == Status.not_finite)[0]:
        found[number] = ended(int(status[number]), pivots[number])
    return list(found)


def judged(facts: Facts) -> Judgement:
    """How one run ended, and why it is not called good if it is not."""
    equations, rows = facts.equations, facts.rows
    outcome = ended(rows.status, rows.pivots)
    if outcome is Outcome.interrupted:
        return Judgement(outcome)  # what was asked for is not there to be judged
    if outcome in BROKEN and mass_gone(equations, rows, facts.constants):
        return Judgement(Outcome.mass_gone)
    with np.errstate(all="ignore"):
        return _of_deviations(facts, outcome) or _of_the_rest(facts, outcome)


def _of_deviations(facts: Facts, outcome: Outcome) -> Judgement | None:
    """Divergence first: a run that left its program is never called singular, nor completed."""
    found = _departure(facts)
    if found is None:
        return None
    if found.factor > BLOWN or outcome in BROKEN:
        return Judgement(Outcome.diverged, (found.finding,))
    ran_out = outcome in (Outcome.completed, Outcome.event)
    return Judgement(Outcome.deviation_grew if ran_out else outcome, (found.finding,))


def _of_the_rest(facts: Facts, outcome: Outcome) -> Judgement:
    """Energy, states that ran away, a start that nothing brings back, undefined quantities, negative masses."""
    lost, turned = energy_found(facts), turn_lost(facts.equations, facts.rows)
    if turned is not None:
        return Judgement(Outcome.diverged, (turned,) if lost is None else (turned, lost))
    if outcome in (Outcome.rank_lost, Outcome.not_finite):
        away = _ran_away(facts) if outcome is Outcome.rank_lost else None
        if lost is not None or away is not None:
            return Judgement(Outcome.diverged, tuple(found for found in (lost, away) if found is not None))
    if outcome not in (Outcome.completed, Outcome.event):
        ending = (facts.equations, facts.rows, facts.constants)
        why = friction_end(*ending) or authority_end(*ending) or singular_end(*ending) if outcome in BROKEN else None
        return Judgement(outcome, () if why is None else (why,))
    jumped = branch_found(facts.equations, facts.rows.times, facts.rows.states, facts.constants)
    if jumped is not None:
        return Judgement(Outcome.branch_changed, (jumped,) if lost is None else (jumped, lost))
    undefined, negative, price = _undefined(facts), _negative(facts), driven(facts)
    found = tuple(finding for finding in (undefined, negative, lost, price) if finding is not None)
    if undefined is not None:
        return Judgement(Outcome.undefined, found)
    if not _held(facts):
        return Judgement(Outcome.off_program, found)
    if negative is not None:
        return Judgement(Outcome.indefinite, found)
    if lost is not None:
        return Judgement(Outcome.energy_changed, found)
    return Judgement(Outcome.driven if price is not None else outcome, found)


def _held(facts: Facts) -> bool:
    """Whether nothing was off the program at the start, or all that was is attracted."""
    equations, rows, off = facts.equations, facts.rows, facts.start.off
    if not off:
        return True
    which = np.array([[name in off for name in equations.deviation_names]])
    if len(equations.coordinates) > LARGE:
        return large_attracted(equations, which[0], rows.states[0].tolist(), float(rows.times[0]), facts.constants)
    return bool(attracted(equations, which, rows.states[:1], float(rows.times[0]), np.array([facts.constants]))[0])


def mass_gone(equations: Equations, rows: Rows, constants: Sequence[float]) -> bool:
    """Whether a run that broke off did so where a mass was about to reach zero, at the pace of its last rows."""
    masses = tuple(point.mass for point in equations.dynamics.points if point.varies)
    if not masses:
        return False
    tape, last = Tape(equations.field.inputs, masses), slice(-2, None)
    table = zip(rows.times[last].tolist(), rows.states[last].tolist(), strict=True)
    values = np.array([tape([time, *state, *constants]) for time, state in table])
    largest = np.array(tape([float(rows.times[0]), *rows.states[0].tolist(), *constants]))
    next_values = values[-1] + 1.5 * (values[-1] - values[0])
    return bool(((next_values <= 0) | (values[-1] < NEARLY_SINGULAR * largest)).any())


def grown(deviation: np.ndarray) -> np.ndarray:
    """Whether each trial of (cases, rows, deviations), in its own scales, ends much further off than it started."""
    with np.errstate(all="ignore"):
        begin, end = np.linalg.norm(deviation[:, 0], axis=1), np.linalg.norm(deviation[:, -1], axis=1)
        return ~(end <= np.maximum(GROWTH * begin, NOTICEABLE))  # nan has grown


# ── deviations ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Departure:
    """A deviation that grew, and how many times beyond its usual size of terms it came."""

    finding: Finding
    factor: float


def _departure(facts: Facts) -> Departure | None:
    """The deviation that left its program furthest, if one did."""
    equations, rows = facts.equations, facts.rows
    places = deviation_places(equations)
    if not places or not len(rows.times):
        return None
    deviation = rows.observables[:, places]
    if not doubtful(equations, rows.times, rows.states, deviation, facts.constants):
        return None
    limit = np.maximum(GROWTH * _predicted(facts, deviation[0]), _noise(facts))
    if not loose(equations) and bool((_worst(deviation) <= limit).all()):
        return None  # no more than the law predicts, whatever it is beside its terms
    return _far_off(facts, deviation, _rows_to_look_at(deviation), limit)


def _worst(deviation: np.ndarray) -> np.ndarray:
    """The largest size of each deviation (rows, deviations)."""
    return np.asarray(np.maximum(deviation.max(axis=0), -deviation.min(axis=0)))


def doubtful(
    equations: Equations, times: np.ndarray, states: np.ndarray, deviation: np.ndarray, constants: Sequence[float]
) -> bool:
    """Whether a deviation (rows, deviations) is large beside the median of its terms at three rows."""
    worst = _worst(deviation)
    if not worst.any():
        return False
    sizes, count = deviation_sizes(equations), len(times)
    chosen = [0, count // 2, max(0, count - 1)]
    usual = moving_sizes(equations, times, states[:: max(1, count // FEW)])
    reach = sizes_at_rows(equations, usual, states[chosen]).tolist()
    three = [
        sizes.natural_at(float(times[k]), states[k].tolist(), constants, own)
        for k, own in zip(chosen, reach, strict=True)
    ]
    return not bool((worst <= DOUBTFUL * np.sort(three, axis=0)[len(three) // 2]).all())  # nan is doubtful


def _rows_to_look_at(deviation: np.ndarray) -> np.ndarray:
    """Evenly spaced rows, and the worst row of each deviation."""
    count = len(deviation)
    chosen = np.zeros(count, bool)
    chosen[np.linspace(0, count - 1, min(count, LOOKED_AT)).astype(int)] = True
    chosen[np.nan_to_num(np.abs(deviation), nan=np.inf).argmax(axis=0)] = True
    return np.flatnonzero(chosen)


def _far_off(facts: Facts, deviation: np.ndarray, chosen: np.ndarray, limit: np.ndarray) -> Departure | None:
    """The one that is far off at some of these rows, and beyond the limit of what is predicted or rounding."""
    equations, rows = facts.equations, facts.rows
    constants = np.array(facts.constants)
    states, times = rows.states[chosen], rows.times[chosen]
    reach = sizes_so_far(equations, moving_sizes(equations, times, states), states)
    sizes = deviation_sizes(equations).natural(times, states, constants, reach)
    away = running_away(equations, times, deviation[chosen], sizes)
    if away is not None:
        return Departure(away, 1.0)
    sizes[:, [*equations.deviations.own_states, *loose(equations)]] = BEYOND_ANY  # no terms; or no law that they obey
    seen = np.abs(deviation[chosen])
    usual = _usual_sizes(sizes, seen, limit)
    allowed = _share(facts) * np.fmax(sizes, usual)
    far = ~(seen <= allowed) & ~(seen <= limit)
    if far.any():
        made = made_by_few_steps(kept_deviations(equations), equations, rows, chosen, facts.constants)
        far &= ~(seen <= allowed + made)
    if not far.any():
        return None
    ratio = np.where(far, np.nan_to_num(seen / usual, nan=np.inf), 0.0)
    column = int(np.unravel_index(int(ratio.argmax()), ratio.shape)[1])
    name, peak = equations.deviation_names[column], float(np.nanmax(seen[:, column], initial=0.0))
    first = float(times[int(np.nonzero(far[:, column])[0][0])])
    size = f"its terms are of the size {float(usual[column]):.3g}"
    text = f"{name} reached {peak:.3g}, far off from t = {first:.6g} on: {size}."
    finding = Finding("deviation_grew", text, True, first, name)
    return Departure(finding, peak / max(float(usual[column]), 1e-300))


def _share(facts: Facts) -> np.ndarray:
    """The part of its terms by which each deviation is far off: a small one where the law drives it further away."""
    equations, rows = facts.equations, facts.rows
    if len(equations.coordinates) > LARGE:
        return np.full(len(equations.deviation_names), FAR_OFF)
    matrix = law_matrices(equations, rows.states[:1], float(rows.times[0]), np.array([facts.constants]))[0]
    return np.where(driven_away(matrix), DOUBTFUL, FAR_OFF)


def _usual_sizes(sizes: np.ndarray, seen: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """The usual size of each deviation: a lower quartile, which what ran away at last does not change."""
    usual = np.nanquantile(np.where(np.isfinite(sizes), sizes, np.nan), QUARTILE, axis=0)
    early = sizes[: max(FEW // 4, len(sizes) // 10)].max(axis=0)  # of what ran away from the start on
    usual = np.where(early > 0, np.fmin(usual, early), usual)
    moving = _usual_where_held(sizes, seen, limit)
    return np.where(usual <= NOISE * moving, moving, usual)  # of what waits for most of a run, nan where there is none


def _usual_where_held(sizes: np.ndarray, seen: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """The usual sizes of what moves, of rows that hold the program: to wait is no small motion.

    Only where they are most rows by far: of those of what ran away, some may hold it by chance.
    """
    held = np.isfinite(sizes) & (seen <= np.fmax(FAR_OFF * sizes, limit))
    moved = held & (sizes > NOISE * np.where(held, sizes, 0.0).max(axis=0))
    found = np.zeros(sizes.shape[1])
    for k in np.flatnonzero((~held).sum(axis=0) < QUARTILE * moved.sum(axis=0)):
        found[k] = np.quantile(sizes[moved[:, k], k], QUARTILE)
    return found


def sizes_at_rows(equations: Equations, usual: np.ndarray, states: np.ndarray) -> np.ndarray:
    """The sizes of time and states at each row: a rate counts for no less than it is there."""
    n = len(equations.coordinates)
    sizes = np.tile(usual, (len(states), 1))
    sizes[:, 1 + n : 1 + 2 * n] = np.fmax(sizes[:, 1 + n : 1 + 2 * n], np.abs(states[:, n : 2 * n]))
    return sizes


def sizes_so_far(equations: Equations, usual: np.ndarray, states: np.ndarray) -> np.ndarray:
    """The same, with how far each coordinate had come by then, and that over the duration for its rate: what waited for
    long, and has moved since, is no small thing.
    """
    n, sizes = len(equations.coordinates), sizes_at_rows(equations, usual, states)
    gone = np.abs(states[:, :n] - states[0, :n])
    gone = np.maximum.accumulate(np.where(np.isfinite(gone), gone, 0.0), axis=0)
    sizes[:, 1 : 1 + n] = np.fmax(sizes[:, 1 : 1 + n], gone)
    sizes[:, 1 + n : 1 + 2 * n] = np.fmax(sizes[:, 1 + n : 1 + 2 * n], gone / usual[0])
    return sizes


def moving_sizes(equations: Equations, times: np.ndarray, states: np.ndarray) -> np.ndarray:
    """The sizes of time and states along a run, or each of many: duration, reach of a coordinate, size of a rate.

    Lower quartiles, so that what ran away at last does not count. A rate counts for no less than its coordinate's reach
    over the duration, and what stands still beside others that move counts with a thousandth of their reach.
    """
    n, duration = len(equations.coordinates), float(times[-1] - times[0]) or 1.0
    away = np.abs(states)
    away[..., :n] = np.abs(states[..., :n] - states[..., :1, :n])
    place = int(QUARTILE * (away.shape[-2] - 1) + 0.5)
    usual = np.partition(np.nan_to_num(away, nan=np.inf), place, axis=-2)[..., place, :]
    usual = np.where(np.isfinite(usual), usual, 0.0)
    usual[..., n : 2 * n] = np.fmax(usual[..., n : 2 * n], usual[..., :n] / duration)
    usual[..., :n] = np.fmax(usual[..., :n], usual[..., n : 2 * n] * duration * SHARE)
    return np.concatenate([np.full((*usual.shape[:-1], 1), duration), usual], axis=-1)


def _predicted(facts: Facts, start: np.ndarray) -> np.ndarray:
    """The largest deviations that the law would give from those of the start."""
    if not start.any():
        return np.abs(start)
    rows = facts.rows
    if len(facts.equations.coordinates) > LARGE:
        state, begin = rows.states[0].tolist(), float(rows.times[0])
        return large_prediction(facts.equations, state, begin, facts.constants, start, facts.duration)
    matrix = law_matrices(facts.equations, rows.states[:1], float(rows.times[0]), np.array([facts.constants]))[0]
    return predicted(matrix, start, facts.duration)


def _noise(facts: Facts) -> np.ndarray:
    """What rounding of the forces could have made of each deviation: a part of what they alone would do."""
    equations, rows = facts.equations, facts.rows
    time = facts.duration
    if len(equations.coordinates) > LARGE and all(i in row for i, row in enumerate(equations.dynamics.mass)):
        moved = large_noise(equations, rows.states[0].tolist(), float(rows.times[0]), facts.constants)
    else:
        moved = _noise_at_start(facts)
    owners, above = list(equations.deviations.rows), np.array(equations.deviations.rates_above)
    return np.asarray(moved[owners] * time ** (1.0 + above) * NOISE)


def _noise_at_start(facts: Facts) -> np.ndarray:
    """What forces alone would do to each constraint at the start."""
    equations, rows = facts.equations, facts.rows
    parameters = dict(zip(equations.parameter_names, facts.constants, strict=True))
    moved = np.zeros(len(equations.constraints))
    try:
        values = values_at(equations, rows.states[0].tolist(), float(rows.times[0]), parameters)
        forces = np.abs(values.bias) + np.abs(values.holders) @ np.abs(values.mu)  # each, though their sum may vanish
        own = np.abs(np.linalg.inv(values.mass_matrix)) @ forces
        felt = felt_everywhere(forces, np.diag(values.mass_matrix))
        moved = np.abs(values.jacobian) @ np.fmax(own, felt)
        moved = np.where(np.isfinite(moved), moved + np.abs(values.drift_term), 0.0)
    except np.linalg.LinAlgError:
        pass  # nothing is known of the forces there
    return moved


# ── everything else ───────────────────────────────────────────────────────────────────────────────


def energy_found(facts: Facts) -> Finding | None:
    """A change of energy where nothing does work, if it is more than a small part of the energy in motion."""
    equations, rows = facts.equations, facts.rows
    if len(rows.times) < 2 or not facts.start.on_program or not undriven(equations):
        return None
    part, time = energy_lost(equations, rows, facts.constants)
    if not part > PUMPED:
        return None
    how = "changed" if conservative(equations) else "rose"
    text = f"The energy {how} by {100 * part:.0f} % of what is in motion, though nothing does work."
    return Finding("energy_changed", text, True, time, "energy")


def driven(facts: Facts) -> Finding | None:
    """Work of the corrections where reactions hold: they must not drive the motion."""
    equations, rows = facts.equations, facts.rows
    if len(rows.times) < 3 or not equations.constraints or equations.problem.program.controls:
        return None
    if not facts.start.on_program:
        return None  # to bring it back takes work
    part, time = correction_work(equations, rows, facts.constants)
    if not part > PUMPED:
        return None
    text = f"Correcting deviations did work of {100 * part:.0f} % of the energy in motion."
    return Finding("driven", text, True, time, "power_correction")


def _ran_away(facts: Facts) -> Finding | None:
    """A state that grew beyond all proportion to its usual size."""
    states = np.abs(facts.rows.states)
    if len(states) < 4:
        return None
    usual = np.fmax(np.median(states, axis=0), states[: len(states) // 2].max(axis=0))
    ratio = np.where(usual > 0, states.max(axis=0) / usual, 0.0)
    worst = int(np.nan_to_num(ratio).argmax())
    if not ratio[worst] > BLOWN:
        return None
    name, value = facts.equations.state_names[worst], float(states[:, worst].max())
    return Finding("diverged", f"{name} grew to {value:.3g}.", True, float(facts.rows.times[-1]), name)


def _undefined(facts: Facts) -> Finding | None:
    """Quantities that are not finite, by name, and the first row where one is not."""
    table = facts.rows.observables
    if np.isfinite(table.sum()):
        return None
    bad = ~np.isfinite(table)
    if not bad.any():
        return None
    names = [name for name, column in zip(facts.equations.observables, bad.any(axis=0), strict=True) if column]
    first = float(facts.rows.times[int(bad.any(axis=1).argmax())])
    listed = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
    text = f"{listed}: infinite or undefined from t = {first:.6g} on."
    return Finding("undefined", text, True, first, names[0])


def _negative(facts: Facts) -> Finding | None:
    """A kinetic energy that is not positive at the start."""
    equations, time, state = facts.equations, float(facts.rows.times[0]), facts.rows.states[0].tolist()
    if len(equations.coordinates) > LARGE and plainly_definite(sparse_mass(equations, time, state, facts.constants)):
        return None
    return negative_mass(mass_at(equations, time, state, facts.constants), time)
