"""Arrays in one file, a chunk at a time: a Zarr group (format 2) in a zip, nothing compressed.

    runs.zarr.zip      .zgroup, .zattrs, NAME/.zarray, NAME/.zattrs, NAME/0.0, NAME/1.0, ..., .zmetadata

`zarr.storage.ZipStore`, and so `xarray.open_zarr`, reads it. What is held in memory is one chunk.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from typing import IO, Any

import numpy as np

from holdfast.common import strict_json

SUFFIX = ".zarr.zip"


class ZarrZip:
    """A group under construction, on an open file."""

    def __init__(self, file: IO[bytes], attributes: Mapping[str, Any]) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)
        self._told: dict[str, Any] = {}
        self._write(".zgroup", {"zarr_format": 2})
        self._write(".zattrs", attributes)

    def array(self, name: str, shape: Sequence[int], chunks: Sequence[int], kind: str, axes: Sequence[str]) -> None:
        """Announce an array, with the names of its axes as xarray reads them."""
        about = {
            "zarr_format": 2,
            "shape": list(shape),
            "chunks": [max(1, size) for size in chunks],
            "dtype": kind,
            "fill_value": "NaN" if kind == "<f8" else None,
            "order": "C",
            "compressor": None,
            "filters": None,
        }
        self._write(f"{name}/.zarray", about)
        self._write(f"{name}/.zattrs", {"_ARRAY_DIMENSIONS": list(axes)})

    def chunk(self, name: str, place: Sequence[int], values: np.ndarray, size: int) -> None:
        """Write one chunk along the first axis, filled up to `size`: chunks are whole, also the last."""
        lacking = size - len(values)
        if lacking > 0:
            rest = np.zeros((lacking, *values.shape[1:]), values.dtype)
            values = np.concatenate([values, np.full_like(rest, np.nan) if values.dtype.kind == "f" else rest])
        self._put(f"{name}/{'.'.join(map(str, place))}", np.ascontiguousarray(values).tobytes())

    def whole(self, name: str, values: np.ndarray, axis: str) -> None:
        """An array of one axis, in one chunk."""
        kind = values.dtype.newbyteorder("<").str
        self.array(name, values.shape, values.shape, kind, [axis])
        if len(values):
            self.chunk(name, [0], values.astype(kind), len(values))

    def __enter__(self) -> ZarrZip:
        return self

    def __exit__(self, *error: object) -> None:
        """Close it, also where something went wrong; else with all that was announced, where readers look first."""
        if error[0] is None:
            self._write(".zmetadata", {"zarr_consolidated_format": 1, "metadata": dict(self._told)})
        self._zip.close()

    def _write(self, name: str, about: Mapping[str, Any]) -> None:
        self._told[name] = dict(about)
        self._put(name, strict_json.dumps(dict(about)).encode())

    def _put(self, name: str, content: bytes) -> None:
        self._zip.writestr(zipfile.ZipInfo(name), content)  # without a time: the same arrays are the same bytes
