"""Runs on disk and in other tools: npz in core, NetCDF through xarray, csv for everything else."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from holdfast.common.files import named, write, write_stream
from holdfast.errors import BadRequest, HoldfastError
from holdfast.results.runs.joined import JoinedRun
from holdfast.results.store.bounded import npz_arrays, numbers, text_of
from holdfast.results.store.netcdf import FORMAT, netcdf_columns
from holdfast.results.store.run_file import LONGEST_TEXT, Damaged, about, checked, problem_text, rebuilt, require
from holdfast.results.trajectory import Trajectory


def save(trajectory: Trajectory, path: str | Path) -> tuple[Path, ...]:
    """Write a run in the form that the file's name asks for; of a joined one each part, ``run-1.npz`` and so on."""
    target = named(path)
    writers: dict[str, Callable[[Trajectory, Path], object]] = {
        ".npz": _save_npz,
        ".nc": _save_netcdf,
        ".csv": _save_csv,
    }
    if target.suffix not in writers:
        raise BadRequest(f"no form of file is known for {target.name!r}", fix="end the name in .npz, .nc or .csv")
    if isinstance(trajectory, JoinedRun) and target.suffix != ".csv":  # each part is a run of its own
        names = [target.with_name(f"{target.stem}-{k}{target.suffix}") for k in range(1, len(trajectory.parts) + 1)]
        for part, name in zip(trajectory.parts, names, strict=True):
            writers[target.suffix](part, name)
        return tuple(names)
    writers[target.suffix](trajectory, target)
    return (target,)


def load(path: str | Path) -> Trajectory:
    """Read a run back; what it says of itself is checked field by field, and its rows are judged again."""
    source = named(path)
    readers = {".npz": _load_npz, ".nc": _load_netcdf}
    if source.suffix not in readers:
        raise BadRequest(f"no saved run has the name {source.name!r}", fix="runs are kept as .npz or .nc")
    try:
        return readers[source.suffix](source)
    except Damaged as damage:
        raise _no_run(source, str(damage)) from None
    except BadRequest as error:
        if error.where or error.what.startswith(("there is no file", str(source)[:200], "xarray")):
            raise
        raise _no_run(source, error.what) from None
    except HoldfastError as error:
        raise _no_run(source, f"its problem is not one: {error.what}") from None
    except Exception:  # damage shows anywhere in a reader: zip, deflate, headers
        raise _no_run(source) from None


def _no_run(source: Path, why: str = "") -> BadRequest:
    what = "the file does not hold a run of Holdfast, or it is damaged" + (f": {why}" if why else "")
    return BadRequest(what, where=str(source), fix="make the run again")


def _about(trajectory: Trajectory) -> str:
    """Everything of a run except its columns, as JSON text; what could not be read back is not written."""
    text = about(trajectory, problem_text(trajectory))
    if len(text) > LONGEST_TEXT:
        raise BadRequest(
            f"the run says {len(text):,} characters beside its columns; a file takes {LONGEST_TEXT:,}",
            where="save",
            fix="watch for fewer events",
        )
    return text


# ── npz ───────────────────────────────────────────────────────────────────────────────────────────


def _save_npz(trajectory: Trajectory, target: Path) -> None:
    told, table = np.array(_about(trajectory)), np.array(list(trajectory.columns.values()))
    write_stream(target, lambda file: np.savez(file, times=trajectory.times, table=table, about=told))


def _load_npz(path: Path) -> Trajectory:
    found = npz_arrays(path, ("about", "times", "table"))
    told, times, table = text_of(found["about"]), numbers(found["times"], 1), numbers(found["table"], 2)
    names = checked(told)["columns"]
    require(len(names) == len(table), "there are other columns than are named")
    return rebuilt(told, times, dict(zip(names, table, strict=True)))


# ── NetCDF and data frames ────────────────────────────────────────────────────────────────────────


def to_xarray(trajectory: Trajectory, *, output: bool = True) -> Any:
    """A data set of all columns; without `output`, of those that a run file keeps."""
    try:
        import xarray
    except ImportError as error:
        raise BadRequest("xarray is not installed", fix='pip install "holdfast[xarray]"') from error
    table = trajectory.table if output else trajectory.columns
    variables = {name: ("time", np.array(values)) for name, values in table.items()}
    attributes = {"title": trajectory.problem.title if trajectory.problem else "", "holdfast": _about(trajectory)}
    return xarray.Dataset(variables, coords={"time": np.array(trajectory.times)}, attrs=attributes)


def to_pandas(trajectory: Trajectory) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise BadRequest("pandas is not installed", fix='pip install "holdfast[xarray]"') from error
    index = pandas.Index(trajectory.times, name="time")
    return pandas.DataFrame({name: np.array(values) for name, values in trajectory.table.items()}, index=index)


def _save_netcdf(trajectory: Trajectory, target: Path) -> None:
    data = to_xarray(trajectory, output=False)
    write(target, bytes(data.to_netcdf(engine="scipy", format=FORMAT)))


def _load_netcdf(path: Path) -> Trajectory:
    told, times, columns = netcdf_columns(path)
    names = checked(told)["columns"]
    require(set(names) == set(columns), "there are other columns than are named")
    return rebuilt(told, times, {name: columns[name] for name in names})


# ── csv ───────────────────────────────────────────────────────────────────────────────────────────


def _save_csv(trajectory: Trajectory, target: Path) -> None:
    def rows(file: IO[bytes]) -> None:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        table = trajectory.table
        writer.writerow(["time", *table])
        for row in zip(trajectory.times, *table.values(), strict=True):
            writer.writerow([repr(float(value)) for value in row])
        text.flush()
        text.detach()

    write_stream(target, rows)
