"""Ensembles on disk: npz and Zarr with numpy alone, NetCDF through xarray, and a table of cases as csv."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.common import strict_json
from holdfast.common.files import named, write, write_stream
from holdfast.errors import BadRequest
from holdfast.results.ensembles.ensemble import Ensemble
from holdfast.results.store.netcdf import FORMAT
from holdfast.results.store.run_file import SCHEMA
from holdfast.results.store.zarr_zip import SUFFIX


def save(runs: Ensemble, path: str | Path) -> None:
    """Write an ensemble in the form that the file's name asks for."""
    target = named(path)
    if target.name.endswith(SUFFIX):
        from holdfast.results.ensembles.saved import save_whole

        return save_whole(runs, target)
    writers: dict[str, Callable[[Ensemble, Path], object]] = {".npz": _save_npz, ".nc": _save_netcdf, ".csv": _save_csv}
    if target.suffix not in writers:
        raise BadRequest(
            f"no form of file is known for {target.name!r}", fix=f"end the name in .npz, .nc, .csv or {SUFFIX}"
        )
    writers[target.suffix](runs, target)


def _about(runs: Ensemble) -> str:
    request = runs.request
    return strict_json.dumps(
        {
            "schema": SCHEMA,
            "kind": "ensemble",
            "title": runs.equations.problem.title,
            "scheme": request.scheme.name,
            "step": request.step,
            "tolerance": request.tolerance,
            "start_policy": runs.policy,
            "outcomes": [outcome.name for outcome in runs.outcomes],
            "undefined": _undefined(runs),
        }
    )


def _undefined(runs: Ensemble) -> dict[str, list[int]]:
    """Cases and rows where a quantity is not finite although the case came so far: the first of each, by name."""
    ended = np.array([outcome.ran_out for outcome in runs.outcomes])
    found = {}
    for name in runs.names:
        bad = ~np.isfinite(runs[name][ended])
        if bad.any():
            case, row = np.unravel_index(int(bad.argmax()), bad.shape)
            found[name] = [int(np.nonzero(ended)[0][case]), int(row)]
    return found


def _save_npz(runs: Ensemble, path: Path) -> None:
    """``times``, ``case:NAME`` (cases), ``NAME`` (cases, rows), and ``about`` as JSON."""
    arrays: dict[str, Any] = {f"case:{name}": values for name, values in runs.cases.items()}
    arrays |= {name: runs[name] for name in runs.names}
    told = np.array(_about(runs))
    write_stream(path, lambda file: np.savez(file, times=runs.times, about=told, **arrays))


def to_pandas(runs: Ensemble) -> Any:
    """A row for each case: what it was made of, how it ended, its final states, and the stated reductions."""
    try:
        import pandas
    except ImportError as error:
        raise BadRequest("pandas is not installed", fix='pip install "holdfast[xarray]"') from error
    columns: dict[str, Any] = dict(runs.cases)
    columns["outcome"] = [outcome.name for outcome in runs.outcomes]
    columns |= {f"final({name})": runs.reduce(f"final({name})") for name in runs.equations.state_names}
    columns |= runs.reductions
    return pandas.DataFrame(columns, index=pandas.RangeIndex(len(runs), name="case"))


def to_xarray(runs: Ensemble) -> Any:
    """Quantities over (run, time). A start value that differs between cases is the coordinate ``start.NAME``."""
    try:
        import xarray
    except ImportError as error:
        raise BadRequest("xarray is not installed", fix='pip install "holdfast[xarray]"') from error
    coordinates: dict[str, Any] = {"time": np.array(runs.times), "run": np.arange(len(runs))}
    for name, values in runs.cases.items():
        key = f"start.{name}" if name in runs.equations.state_names else name
        coordinates[key] = ("run", values)
    coordinates["outcome"] = ("run", np.array([outcome.name for outcome in runs.outcomes]))
    shown = (*runs.names, *(name for name in runs.equations.problem.output if name not in runs.names))
    variables = {name: (("run", "time"), np.array(runs[name])) for name in shown}
    attributes = {"title": runs.equations.problem.title, "holdfast": _about(runs)}
    return xarray.Dataset(variables, coords=coordinates, attrs=attributes)


def _save_netcdf(runs: Ensemble, path: Path) -> None:
    data = to_xarray(runs)
    write(path, bytes(data.to_netcdf(engine="scipy", format=FORMAT)))


def _save_csv(runs: Ensemble, path: Path) -> None:
    """One line for each case: its column values, how it ended, what is asked of it, and its last row of states."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    states = runs.equations.state_names
    asked = runs.reductions
    writer.writerow(["run", *runs.cases, "outcome", "steps", *asked, *(f"final.{name}" for name in states)])
    for number, outcome in enumerate(runs.outcomes):
        values = [repr(float(column[number])) for column in runs.cases.values()]
        last = [repr(float(value)) for value in runs.counts.final[number]]
        found = [repr(float(column[number])) for column in asked.values()]
        writer.writerow([number, *values, outcome.name, int(runs.counts.steps[number]), *found, *last])
    write(path, text.getvalue())
