"""Attacks on a proof by steps in the order of time: its run made again, and native steps from corners of its boxes."""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.common.rounded import over
from holdfast.stability.certificate.attack import NEAR_BOUND, SUSPECTS, Attack, NativeRun, _some
from holdfast.stability.certificate.tube_attack import misstated_tube, require_along
from holdfast.stability.verifier.check import Reading
from holdfast.stability.verifier.order.check import ShownOrder
from holdfast.stability.verifier.refusal import Unconfirmed

RANDOM = 200  # native steps from corners and other states of boxes


class OrderAttack(Attack):
    """All deviations of one claim against its run and against single steps."""

    def __init__(self, read: Reading, shown: ShownOrder, native: NativeRun) -> None:
        self.read, self.order, self.native, self.told = read, shown, native, ""
        self._names = shown.claim["names"]
        self._watched = [read.equations.psi[name] for name in self._names]

    def _of_run(self) -> str | None:
        rows, shown = self.native.rows, self.order
        if isinstance(rows, str):
            return rows
        (times, states), steps = rows, shown.claim["steps"]
        chosen = self.read.claims.times is not None
        if not chosen and steps != self._whole(times) - 1:
            return "its run, made again, takes another number of steps"
        whole = steps + 1 if chosen else len(times)  # what ended the last step of one that chose them is not made again
        misstated = misstated_tube(self.read, shown.tube, times[:whole], states[:whole])
        if misstated is not None and chosen:
            raise Unconfirmed(f"{misstated}; steps made again from the times of rows are the run's but for rounding")
        if misstated is not None:
            return misstated
        along = times[:whole], states[:whole]
        but = " but the last, of which nothing is said" if len(times) > steps + 1 else ""  # there an event is met
        times, states = times[: steps + 1], states[: steps + 1]
        psi, bounds = self._doubles(times, states)[0], np.array(shown.claim["bounds"])
        for k in _some(np.flatnonzero((np.abs(psi) > (1 - NEAR_BOUND) * bounds).any(axis=1)), SUSPECTS):
            for name, value, bound in zip(self._names, self._balls(times[k], states[k]), bounds.tolist(), strict=True):
                size = float(abs(value).mid())
                if size > bound:
                    return f"|{name}| is beyond its bound in its own run at t = {times[k]:g}: {over(size, bound)}"
        require_along(shown.tube, *along, self.native.slopes(*along))
        self.told = f"every row of its run{but}, made again, lies in the tube and within the bounds"
        return None

    def _of_steps(self) -> str | None:
        """ψ after less M ψ before, of native steps, within m ± r and what doubles add."""
        shown, rng, worst, count = self.order, np.random.default_rng(31), 0.0, 0
        for box in rng.integers(len(shown.boxes.rows), size=RANDOM).tolist():
            row = int(shown.boxes.rows[box])
            cell = shown.boxes.cells.chosen(np.array([box]))
            time, length = float(shown.boxes.steps.times[row]), float(shown.boxes.steps.lengths[row])
            s = (time - cell.spans[0, 0]) / (cell.spans[0, 1] - cell.spans[0, 0])
            offset = np.clip(rng.uniform(-1.5, 1.5, len(self.order.tube.scales)), -1, 1) * (1 - 1e-9)
            state = cell.curves[0] @ s ** np.arange(4) + offset * cell.halves[0]
            reached = self.native.step(time, state, length)
            if reached is None:
                continue
            share, count = self._part(row, self._balls(time, state), self._balls(*reached)), count + 1
            if share > 1:
                return f"a native step from a state of its tube leaves {share:.4g} times what was shown"
            worst = max(worst, share)
        self.told += f"; {count} native steps from its boxes leave at most {worst:.2f} of what was shown"
        return None

    def _part(self, row: int, here: list[Any], there: list[Any]) -> float:
        maps, worst = self.order.maps, 0.0
        for i, value in enumerate(there):
            moved = sum((float(c) * x for c, x in zip(maps.matrices[row, i].tolist(), here, strict=True)), here[0] * 0)
            most = float(maps.radius[row, i] + self.order.rounding[row, i])
            worst = max(worst, abs(float((value - moved - float(maps.middle[row, i])).mid())) / max(most, 1e-300))
        return worst
