"""Runs under noise: many paths of the same start, and what their deviations do on average.

    dv = a dt + σ dW,      dw = Y dt + Gσ dW

Itô's formula adds nothing to the law, since w is affine in v and q carries no noise. Noise projected on the tangent
space (Gσ = 0) leaves the program a partial integral of every path; other noise leaves a floor, which
`deviation_covariance` gives for a linear law. Where σ depends on v, Itô's reading is meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from holdfast.common.files import named, write, write_stream
from holdfast.engine.kernel import compiled
from holdfast.engine.noise import NoiseField, Stop, run_noise
from holdfast.equations.equations import Equations
from holdfast.equations.values import parameter_vector
from holdfast.errors import BadRequest
from holdfast.graph.nodes import Node
from holdfast.problem.types import ByName, StateLike
from holdfast.problem.vocabulary import MOTION, by_name, name_of
from holdfast.results.start.start import Start, consistent_start
from holdfast.schemes.tableaus.euler import EULER

NoiseScheme = Literal["semi-implicit", "euler-maruyama"]


@dataclass(frozen=True)
class Moments:
    """Averages over paths and rows; the standard errors take each path's own average as one observation."""

    mean: float
    mean_square: float
    mean_error: float
    mean_square_error: float

    @property
    def variance(self) -> float:
        return self.mean_square - self.mean**2


@dataclass(frozen=True, eq=False)
class NoisyRuns:
    """Paths of one problem under noise: columns by name are arrays (paths, rows)."""

    equations: Equations
    times: np.ndarray
    states: np.ndarray  # (paths, rows, states)
    observables: np.ndarray  # (paths, rows, observables)
    start: Start
    seed: int
    step: float
    scheme: str
    projected: bool

    def __repr__(self) -> str:
        return f"<NoisyRuns {self.scheme}: {self.paths} paths, {len(self.times)} rows to t = {self.times[-1]:g}>"

    @property
    def paths(self) -> int:
        return len(self.states)

    def __getitem__(self, name: Any) -> np.ndarray:
        key = name_of(name)
        names, observed = list(self.equations.state_names), list(self.equations.observables)
        if key in names:
            return self.states[:, :, names.index(key)]
        if key in observed:
            return self.observables[:, :, observed.index(key)]
        raise BadRequest(f"there is no quantity {key!r}", fix="known: " + ", ".join((*names, *observed)))

    @property
    def success(self) -> bool:
        """Whether every path stayed finite to the end."""
        return bool(np.isfinite(self.states).all())

    def moments(self, name: Any, since: float = 0.0) -> Moments:
        """Mean and mean square of a quantity over all paths and the rows from a time on."""
        chosen = self[name][:, self.times >= since - 1e-12]
        root = np.sqrt(self.paths)
        means, squares = chosen.mean(axis=1), (chosen**2).mean(axis=1)
        spread = [float(column.std(ddof=1) / root) if self.paths > 1 else float("nan") for column in (means, squares)]
        return Moments(float(means.mean()), float(squares.mean()), *spread)

    def deviation_covariance(self, since: float = 0.0) -> np.ndarray:
        """The covariance of (y, w) over all paths and the rows from a time on."""
        names = list(self.equations.deviation_names)
        late = self.times >= since - 1e-12
        return np.atleast_2d(np.cov(np.array([self[name][:, late].ravel() for name in names])))

    def save(self, path: str | Path) -> None:
        """Write all paths to ``.npz``, or mean and root mean square over them to ``.csv``; nothing is half-written."""
        target, names = named(path), (*self.equations.state_names, *self.equations.observables)
        if target.suffix == ".npz":
            columns = {name: self[name] for name in names}
            about = {"times": self.times, "seed": np.array(self.seed), "step": np.array(self.step)}
            write_stream(target, lambda file: np.savez(file, **about, **columns))  # type: ignore[arg-type]
        elif target.suffix == ".csv":
            head = ["t", *(f"{word}_{name}" for name in names for word in ("mean", "rms"))]
            pairs = [(self[name].mean(axis=0), np.sqrt((self[name] ** 2).mean(axis=0))) for name in names]
            rows = np.column_stack([self.times, *(column for pair in pairs for column in pair)])
            lines = [",".join(head), *(",".join(map(repr, row)) for row in rows.tolist())]
            write(target, "\n".join(lines) + "\n")
        else:
            raise BadRequest(f"no form of file is known for {target.name!r}", fix="end the name in .npz or .csv")


def sample_paths(
    equations: Equations,
    *,
    step: float | None = None,
    duration: float | None = None,
    paths: int = 100,
    seed: int | None = None,
    scheme: NoiseScheme = "semi-implicit",
    every: int = 1,
    project: bool | None = None,
    deviation_noise: Mapping[str, ByName] | None = None,
    start: StateLike | None = None,
    start_policy: str | None = None,
    parameters: ByName | None = None,
    threads: int | None = None,
    stop: Stop | None = None,
) -> NoisyRuns:
    """Paths under the noise of the problem, `System(noise={channel: {coordinate: intensity}})`, with their deviations.

    With `project`, noise acts along the program only, as where reactions answer it at once: the default where all
    constraints are held by reactions; controls do not answer it. `deviation_noise` prescribes Gσ = Σ_y instead, by
    channel and constraint: σ = KΣ_y + Pσ'. Random numbers are keyed by seed, path, step and channel.
    """
    equations.require_unsampled("sample_paths")
    equations.require_given_forces("sample_paths")
    program, run = equations.problem.program, equations.problem.run
    step, duration = step or run.step, duration or run.duration
    if step is None or duration is None:
        raise BadRequest(
            "a run under noise needs a step and a duration", where="sample_paths", fix="step=..., duration=..."
        )
    steps = round(duration / step)
    if paths < 1 or abs(steps * step - duration) > 1e-9 * duration:
        raise BadRequest(f"{paths} paths of {duration} in steps of {step}", fix="at least one path, and whole steps")
    if scheme not in ("semi-implicit", "euler-maruyama"):
        raise BadRequest(f"there is no noise scheme {scheme!r}", fix='"semi-implicit" or "euler-maruyama"')
    if project is None:
        project = not program.controls
    columns = noise_columns(equations, project=project, deviation_noise=deviation_noise)
    constants = np.array(parameter_vector(equations, parameters or {}))
    begun = consistent_start(equations, start, start_policy, parameters or {}, run.begin)
    times, states = run_noise(
        NoiseField.made(equations.field, columns),
        np.tile(np.array(begun.state), (paths, 1)),
        constants[None],
        t0=run.begin,
        step=step,
        steps=steps,
        every=every,
        seed=run.seed if seed is None else seed,
        semi_implicit=scheme == "semi-implicit",
        threads=threads,
        stop=stop,
    )
    kernel = compiled(equations.field, EULER)
    observed = kernel.observe_cases(times, states, np.tile(constants, (paths, 1)))
    return NoisyRuns(
        equations, times, states, observed, begun, run.seed if seed is None else seed, step, scheme, bool(project)
    )


def noise_channels(equations: Equations, deviation_noise: Mapping[str, ByName] | None = None) -> list[str]:
    """The names of the channels, stated and prescribed, in the order of `noise_columns`."""
    channels = list(dict.fromkeys((*equations.problem.system.noise, *(deviation_noise or {}))))
    if not channels:
        raise BadRequest(
            "the problem has no noise",
            where="system.noise",
            fix="System(noise={channel: {x: intensity}}), or a table [system.noise]",
        )
    return channels


def noise_columns(
    equations: Equations, *, project: bool, deviation_noise: Mapping[str, ByName] | None = None
) -> list[list[Node]]:
    """σ on the rates, by channel: M⁻¹σ' as stated, P M⁻¹σ' projected, or KΣ_y + P M⁻¹σ' with prescribed Σ_y."""
    inputs, solver, system = equations.inputs, equations.solver, equations.problem.system
    factor = equations.mass_factor
    zero, names = inputs.graph.zero, [c.name for c in system.coordinates]
    constraints = equations.constraints
    wanted = {channel: by_name(row, where="deviation_noise") for channel, row in (deviation_noise or {}).items()}
    channels = noise_channels(equations, deviation_noise)
    unknown = {name for row in wanted.values() for name in row} - set(constraints)
    if unknown:
        raise BadRequest(f"there is no constraint {unknown.pop()!r}", where="deviation_noise")
    columns = []
    for channel in channels:
        stated: Mapping[str, Any] = system.noise.get(channel, {})
        forces = [inputs.walk(stated[name]) if name in stated else zero for name in names]
        if channel in wanted or project:
            row = wanted.get(channel, {})
            admitted = {
                name: equations.problem.names.admit(e, MOTION, where="deviation_noise") for name, e in row.items()
            }
            demand = [inputs.walk(admitted[name]) if name in admitted else zero for name in constraints]
            columns.append(list(solver(forces, demand)[0]))
        elif factor is None:
            raise BadRequest("noise cannot act on coordinates without mass", where="system.noise", fix="project=True")
        else:
            columns.append(list(factor.solve(forces)))
    return columns
