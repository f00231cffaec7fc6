"""Runs on disk and in other tools: npz in core, NetCDF through xarray, csv for everything else."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.errors import BadRequest, HoldfastError
from holdfast.problem.file import dumps, loads
from holdfast.problem.frozen import Frozen
from holdfast.results.outcome import Outcome
from holdfast.results.start import Start
from holdfast.results.trajectory import Trajectory

SCHEMA = 1


def save(trajectory: Trajectory, path: str | Path) -> None:
    """Write a run in the form that the file's name asks for."""
    target = Path(path)
    writers: dict[str, Callable[[Trajectory, Path], None]] = {".npz": _save_npz, ".nc": _save_netcdf, ".csv": _save_csv}
    if target.suffix not in writers:
        raise BadRequest(f"no form of file is known for {target.name!r}", fix="end the name in .npz, .nc or .csv")
    write_atomically(target, lambda temporary: writers[target.suffix](trajectory, temporary))


def write_atomically(target: Path, write: Callable[[Path], None]) -> None:
    """Write beside the target, then rename: a reader sees the old file or the whole new one."""
    temporary = target.with_name(f".{target.stem}.{os.getpid()}{target.suffix}")
    try:
        write(temporary)
        os.replace(temporary, target)
    except OSError as error:
        raise BadRequest(f"cannot write {target}: {error.strerror or error}", fix="choose another place") from error
    finally:
        temporary.unlink(missing_ok=True)


def load(path: str | Path) -> Trajectory:
    """Read a run back."""
    source = Path(path)
    readers = {".npz": _load_npz, ".nc": _load_netcdf}
    if source.suffix not in readers:
        raise BadRequest(f"no saved run has the name {source.name!r}", fix="runs are kept as .npz or .nc")
    try:
        return readers[source.suffix](source)
    except FileNotFoundError:
        raise BadRequest(f"there is no file {source}", fix="check the name") from None
    except (PermissionError, IsADirectoryError) as error:
        raise BadRequest(f"{source} cannot be read: {error.strerror}", fix="check the name") from None
    except HoldfastError:
        raise
    except Exception:  # damage shows anywhere in a reader: zip, deflate, headers, JSON
        raise BadRequest(
            "the file does not hold a run of Holdfast, or it is damaged", where=str(source), fix="make the run again"
        ) from None


# ── what is not a column ──────────────────────────────────────────────────────────────────────────


def _about(trajectory: Trajectory) -> str:
    """Everything of a run except its columns, as JSON text."""
    start = trajectory.start
    return json.dumps(
        {
            "schema": SCHEMA,
            "problem": _problem_text(trajectory),
            "state_names": trajectory.state_names,
            "columns": list(trajectory.columns),
            "outcome": trajectory.outcome.name,
            "note": trajectory.note,
            "projected": trajectory.projected,
            "scheme": trajectory.scheme,
            "step": trajectory.step,
            "tolerance": trajectory.tolerance,
            "parameters": dict(trajectory.parameters),
            "steps": trajectory.steps,
            "nfev": trajectory.nfev,
            "rejected": trajectory.rejected,
            "every": trajectory.every,
            "events": {name: list(map(float, times)) for name, times in trajectory.events.items()},
            "start": {
                "policy": start.policy,
                "state": start.state,
                "changes": dict(start.changes),
                "deviation": dict(start.deviation),
                "units": dict(start.units),
                "open": start.open,
            },
        }
    )


def _problem_text(trajectory: Trajectory) -> str | None:
    try:
        return None if trajectory.problem is None else dumps(trajectory.problem)
    except HoldfastError:
        return None  # a problem with functions that the file's grammar does not have


def _rebuilt(about: str, times: np.ndarray, columns: dict[str, np.ndarray]) -> Trajectory:
    data = json.loads(about)
    if data["schema"] != SCHEMA:
        raise BadRequest(f"the run was saved in schema {data['schema']}", fix="read it with the version that wrote it")
    start = data["start"]
    for array in (times, *columns.values()):
        if array.shape != (len(times),):
            raise ValueError("a column has as many values as there are times")
        array.flags.writeable = False
    return Trajectory(
        problem=None if data["problem"] is None else loads(data["problem"], "the saved problem"),
        times=times,
        columns=Frozen({name: columns[name] for name in data["columns"]}),
        state_names=tuple(data["state_names"]),
        outcome=Outcome[data["outcome"]],
        start=Start(
            start["policy"],
            tuple(start["state"]),
            Frozen({name: (old, new) for name, (old, new) in start["changes"].items()}),
            Frozen(start["deviation"]),
            Frozen(start.get("units", {})),
            tuple(start.get("open", ())),
        ),
        parameters=Frozen(data["parameters"]),
        events=Frozen({name: np.array(found) for name, found in data["events"].items()}),
        projected=data.get("projected", False),
        **{name: data[name] for name in ("scheme", "step", "tolerance", "steps", "nfev", "rejected", "every", "note")},
    )


# ── npz ───────────────────────────────────────────────────────────────────────────────────────────


def _save_npz(trajectory: Trajectory, path: Path) -> None:
    table = np.array(list(trajectory.columns.values()))
    with path.open("wb") as file:
        np.savez(file, times=trajectory.times, table=table, about=np.array(_about(trajectory)))


def _load_npz(path: Path) -> Trajectory:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
        about, times, table = str(held["about"]), held["times"], held["table"]
    return _rebuilt(about, times, dict(zip(json.loads(about)["columns"], table, strict=True)))


# ── NetCDF and data frames ────────────────────────────────────────────────────────────────────────


def to_xarray(trajectory: Trajectory) -> Any:
    try:
        import xarray
    except ImportError as error:
        raise BadRequest("xarray is not installed", fix='pip install "holdfast[xarray]"') from error
    variables = {name: ("time", np.array(values)) for name, values in trajectory.columns.items()}
    attributes = {"title": trajectory.problem.title if trajectory.problem else "", "holdfast": _about(trajectory)}
    return xarray.Dataset(variables, coords={"time": np.array(trajectory.times)}, attrs=attributes)


def to_pandas(trajectory: Trajectory) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise BadRequest("pandas is not installed", fix='pip install "holdfast[xarray]"') from error
    index = pandas.Index(trajectory.times, name="time")
    return pandas.DataFrame({name: np.array(values) for name, values in trajectory.columns.items()}, index=index)


def _save_netcdf(trajectory: Trajectory, path: Path) -> None:
    to_xarray(trajectory).to_netcdf(path)


def _load_netcdf(path: Path) -> Trajectory:
    try:
        import xarray
    except ImportError as error:
        raise BadRequest("xarray is not installed", fix='pip install "holdfast[xarray]"') from error
    with xarray.open_dataset(path) as data:
        columns = {str(name): np.array(values) for name, values in data.data_vars.items()}
        return _rebuilt(data.attrs["holdfast"], np.array(data["time"]), columns)


# ── csv ───────────────────────────────────────────────────────────────────────────────────────────


def _save_csv(trajectory: Trajectory, path: Path) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["time", *trajectory.columns])
    for row in zip(trajectory.times, *trajectory.columns.values(), strict=True):
        writer.writerow([repr(float(value)) for value in row])
    path.write_text(text.getvalue(), encoding="utf-8")
