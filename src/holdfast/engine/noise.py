"""Paths under Itô noise: dx = F dt + Σ dW, with random numbers that depend on nothing but their place.

    Euler-Maruyama     x⁺ = x + τF(x) + √τ Σ(x) ξ
    semi-implicit      v⁺ = v + τa(x) + √τ Σ(x) ξ,   q⁺ = q + τv⁺

The numbers ξ come from a counter: seed, case, step and channel give a block of Philox4x32-10, and its bits a normal
number by the inverse of the normal distribution. So a path is the same to the last bit whatever else runs beside it,
in however many threads and in whatever blocks.

Salmon, Moraes, Dror, Shaw (2011), Parallel random numbers: as easy as 1, 2, 3.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from holdfast.engine.code import native
from holdfast.engine.code.kernel_source import observing
from holdfast.engine.code.machine import Machine, NativeMachine, PythonMachine
from holdfast.engine.run.interruption import interruptible
from holdfast.engine.run.memory import reals
from holdfast.engine.run.requests import checked_cases
from holdfast.errors import BadRequest
from holdfast.graph.field import Field
from holdfast.graph.nodes import Node

MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
WEYL = (0x9E3779B9, 0xBB67AE85)
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
ROUNDS = 10
AT_ONCE = 2**17  # random numbers made in one go
Stop = Callable[[float], bool | None]


def philox(counter: Sequence[np.ndarray], key: tuple[int, int]) -> list[np.ndarray]:
    """Four words of 32 bits for each counter of four: Philox4x32 with ten rounds."""
    a, b, c, d = (np.asarray(word, np.uint64) for word in counter)
    left, right = key
    for _ in range(ROUNDS):
        first, second = a * MULTIPLIERS[0], c * MULTIPLIERS[1]
        a, b, c, d = (
            (second >> HALF) ^ b ^ np.uint64(left),
            second & LOW,
            (first >> HALF) ^ d ^ np.uint64(right),
            first & LOW,
        )
        left, right = (left + WEYL[0]) & 0xFFFFFFFF, (right + WEYL[1]) & 0xFFFFFFFF
    return [a, b, c, d]


def chances(whole: np.ndarray) -> np.ndarray:
    """(whole + 1/2) 2⁻⁵³ of whole numbers of 53 bits: doubles between 0 and 1, neither of them ever."""
    return np.minimum((whole.astype(float) + 0.5) * 2.0**-53, 1 - 2.0**-53)


def normals(seed: int, cases: np.ndarray, steps: np.ndarray, channels: int) -> np.ndarray:
    """Independent normal numbers (steps, cases, channels), each a function of seed, case, step and channel alone.

    Cases and steps are counted below 2³², seeds below 2⁶⁴.
    """
    from scipy.special import ndtri

    found = np.empty((len(steps), len(cases), channels))
    key = (seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF)
    step = np.asarray(steps, np.uint64)[:, None]
    case = np.asarray(cases, np.uint64)[None, :]
    for pair in range((channels + 1) // 2):  # a block of bits serves two channels
        words = philox(np.broadcast_arrays(case, step, np.uint64(pair), np.uint64(0)), key)
        for k in range(2):
            if 2 * pair + k < channels:
                whole = (words[2 * k] << np.uint64(21)) ^ (words[2 * k + 1] >> np.uint64(11))  # 53 bits
                found[:, :, 2 * pair + k] = ndtri(chances(whole))
    return found


@dataclass(frozen=True, eq=False)
class NoiseField:
    """F and the columns of Σ on the rates v, compiled as one function of many states."""

    field: Field
    channels: int
    machine: Machine

    @staticmethod
    def made(field: Field, columns: Sequence[Sequence[Node]], target: str | None = None) -> NoiseField:
        """`columns` are the intensities of each channel on each rate (accelerations per root of time)."""
        entries = [node for column in columns for node in column]
        assembly = observing(field, (*field.rates, *entries))
        machine: Machine
        if (target or ("native" if native.available() else "python")) == "python":
            machine = PythonMachine(assembly)
        else:
            machine = NativeMachine(assembly)
        return NoiseField(field, len(columns), machine)

    def at(self, t: float, states: np.ndarray, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """F (cases, states) and Σ (cases, channels, coordinates) at the same time for all cases."""
        cases, size, n = len(states), states.shape[1], self.field.positions
        width = size + self.channels * n
        out, work = np.empty((cases, width)), reals(self.machine.layout.work)
        self.machine.call("many", cases, 1, width, np.array([t]), np.ascontiguousarray(states), parameters, out, work)
        return out[:, :size], out[:, size:].reshape(cases, self.channels, n)


def run_noise(
    noise: NoiseField,
    states: np.ndarray,
    parameters: np.ndarray | None = None,
    *,
    t0: float = 0.0,
    step: float,
    steps: int,
    every: int = 1,
    seed: int = 0,
    semi_implicit: bool = True,
    threads: int | None = None,
    stop: Stop | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Times and states (cases, rows, states) of all cases; rows that were not reached are nan.

    `stop(fraction_done)` may end the run; Ctrl-C ends it and keeps its rows.
    """
    if not (np.isfinite(step) and step > 0) or steps < 0 or every < 1:
        raise BadRequest(
            f"{steps} steps of {step}, every {every}th kept", where="run_noise", fix="give positive numbers"
        )
    x, p = checked_cases(noise.field, states, parameters)
    kept = np.arange(0, steps + 1, every)
    rows = np.full((len(x), len(kept), x.shape[1]), np.nan)
    workers = max(1, min(threads or os.cpu_count() or 1, len(x) // 64 or 1))
    cuts = np.linspace(0, len(x), workers + 1).astype(int)
    noise.machine.expect(float(noise.machine.layout.operations) * len(x) * steps)
    with interruptible() as pressed, ThreadPoolExecutor(workers) as pool:
        ended = lambda done: pressed() or (stop is not None and bool(stop(done)))  # noqa: E731
        jobs = [
            pool.submit(
                _block, noise, x[a:b].copy(), p[a:b], np.arange(a, b), rows[a:b],
                (t0, step, steps, every), seed, semi_implicit, ended,
            )
            for a, b in pairwise(cuts)
        ]  # fmt: skip
        for job in jobs:
            job.result()
    return t0 + kept * step, rows


def _block(
    noise: NoiseField,
    x: np.ndarray,
    p: np.ndarray,
    cases: np.ndarray,
    rows: np.ndarray,
    timing: tuple[float, float, int, int],
    seed: int,
    semi_implicit: bool,
    ended: Callable[[float], bool],
) -> None:
    """Take the steps of some cases and fill their rows."""
    t0, step, steps, every = timing
    n, p = noise.field.positions, np.ascontiguousarray(p)
    root, chunk = np.sqrt(step), max(1, AT_ONCE // max(1, len(x) * noise.channels))
    rows[:, 0] = x
    with np.errstate(all="ignore"):
        for first in range(0, steps, chunk):
            if ended(first / steps):
                return
            numbers = normals(seed, cases, np.arange(first, min(first + chunk, steps)), noise.channels)
            for k in range(len(numbers)):
                rates, columns = noise.at(t0 + (first + k) * step, x, p)
                kick = np.zeros((len(x), n))
                for channel in range(noise.channels):
                    kick += columns[:, channel] * (root * numbers[k, :, channel, None])
                new = x + step * rates
                new[:, n : 2 * n] += kick
                if semi_implicit:
                    new[:, :n] = x[:, :n] + step * new[:, n : 2 * n]
                x = new
                if (first + k + 1) % every == 0:
                    rows[:, (first + k + 1) // every] = x
