"""NetCDF-3 files of runs: columns of doubles over one dimension, read by ourselves and strictly.

The format is a header and then plain numbers, so a page of code reads it, and no array can be larger in memory than
the file. NetCDF-4 is HDF5, whose library unpacks in C before anybody can ask for sizes: it is given no foreign bytes.

    header      "CDF" 2, number of records, dimensions, attributes, variables
    list        tag, count, entries; names and texts are filled up to a multiple of four bytes
    variable    name, dimensions, attributes, type, size, offset of its numbers

*NetCDF Classic Format Specification*, with 64-bit offsets; all numbers are big-endian.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from holdfast.common.files import read_bytes
from holdfast.results.store.bounded import LARGEST
from holdfast.results.store.run_file import LONGEST_TEXT, require

FORMAT = "NETCDF3_64BIT"  # as xarray calls it
MAGIC = b"CDF\x02"
DIMENSIONS, VARIABLES, ATTRIBUTES = 10, 11, 12  # tags
CHAR, DOUBLE = 2, 6
SIZES = {1: 1, CHAR: 1, 3: 2, 4: 4, 5: 4, DOUBLE: 8}  # bytes of a value, by type
MOST_ENTRIES = 100_000  # entries of a list


class _Header:
    """A place in the header, which moves on as it is read; beyond the end there is nothing."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, len(MAGIC)

    def take(self, size: int) -> bytes:
        require(0 <= size <= len(self.content) - self.at, "its header is cut off")
        self.at += size
        return self.content[self.at - size : self.at]

    def number(self) -> int:
        return int(struct.unpack(">i", self.take(4))[0])

    def text(self, size: int) -> str:
        found = self.take(size + -size % 4)[:size]
        return found.decode("utf-8")

    def name(self) -> str:
        return self.text(self.count(400))

    def count(self, most: int) -> int:
        found = self.number()
        require(0 <= found <= most, "its header has a wrong number")
        return found

    def entries(self, tag: int) -> range:
        found, count = self.number(), self.count(MOST_ENTRIES)
        require(found == tag or (found == 0 and count == 0), "its header has another list")
        return range(count)

    def attributes(self) -> dict[str, str]:
        """The attributes that are texts; others are passed over."""
        texts = {}
        for _ in self.entries(ATTRIBUTES):
            name, kind, count = self.name(), self.number(), self.count(LARGEST)
            require(kind in SIZES, "an attribute is of an unknown type")
            size = SIZES[kind] * count
            if kind == CHAR:
                require(count <= 4 * LONGEST_TEXT, "there is too much beside the columns")
                texts[name] = self.text(size)
            else:
                self.take(size + -size % 4)
        return texts


def netcdf_columns(path: Path) -> tuple[str, np.ndarray, dict[str, np.ndarray]]:
    """What a NetCDF file says of itself, its times and its columns."""
    content = read_bytes(path, LARGEST, "a run file")
    hdf = content.startswith(b"\x89HDF")
    require(not hdf, "it is a NetCDF-4 file, and runs are kept as NetCDF-3")
    require(content.startswith(MAGIC), "it is no NetCDF file")
    header = _Header(content)
    require(header.number() == 0, "it has records")
    dimensions = [(header.name(), header.count(2**31 - 1)) for _ in header.entries(DIMENSIONS)]
    require([name for name, _ in dimensions] == ["time"], "its columns are not over time")
    told = header.attributes().get("holdfast")
    require(told is not None, "what it says of itself is no text")
    rows, columns = dimensions[0][1], {}
    for _ in header.entries(VARIABLES):
        name = header.name()
        require(header.count(1) == 1 and header.number() == 0, "a column is not over time")
        header.attributes()
        require(header.number() == DOUBLE, "a column is not of numbers")
        header.number()  # its size, which follows from the rest
        (begin,) = struct.unpack(">q", header.take(8))
        require(name not in columns and 0 <= begin <= len(content) - 8 * rows, "it says to be larger than it is")
        columns[name] = (begin, rows)
    require("time" in columns, "it has no times")
    require(8 * rows * len(columns) <= len(content), "it says to be larger than it is")
    arrays = {name: np.frombuffer(content, ">f8", n, at).astype("<f8") for name, (at, n) in columns.items()}
    return str(told), arrays.pop("time"), arrays
