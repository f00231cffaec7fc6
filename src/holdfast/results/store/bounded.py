"""Arrays out of npz files of others: a zip of arrays, stored and not compressed, as Holdfast writes it.

Types and sizes are read first, and no array can be larger in memory than the file that it comes from.
"""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import numpy as np

from holdfast.common.files import ordinary
from holdfast.results.store.run_file import LONGEST_TEXT, require

LARGEST = 2**31 + 2**26  # bytes of a run file: the most rows that a run keeps, and what is said beside them
HEADER = 4096  # bytes before the numbers of an array
MEMBERS = 8
TEXT = "<U"


def npz_arrays(path: Path, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """The arrays of an npz file that has exactly these: texts, and doubles in rows."""
    with ordinary(path, LARGEST, "a run file") as file:
        size = os.fstat(file.fileno()).st_size
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            require(len(members) <= MEMBERS, "it has other members")
            require(sorted(m.filename for m in members) == sorted(f"{name}.npy" for name in names), "other members")
            require(all(m.compress_type == zipfile.ZIP_STORED for m in members), "it is compressed")
            require(sum(m.file_size for m in members) <= size, "it says to be larger than it is")
            return {name: _array(archive.read(f"{name}.npy")) for name in names}


def _array(content: bytes) -> np.ndarray:
    """One array of an npy member: its type and size stand in its header, and must be what follows it."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    require(version in ((1, 0), (2, 0)), "an array of another version")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, kind = read(stream, max_header_size=HEADER)
    rest = len(content) - stream.tell()
    require(kind == np.dtype("<f8") or kind.str.startswith(TEXT), "an array of another type")
    require(len(shape) <= 2 and all(type(n) is int and n >= 0 for n in shape), "an array of another shape")
    count = 1
    for n in shape:
        count *= n
    require(not fortran and count * kind.itemsize == rest and kind.itemsize > 0, "an array of another size")
    return np.frombuffer(content, kind, count, stream.tell()).reshape(shape).copy()


def text_of(array: np.ndarray) -> str:
    """The text in an array that holds one."""
    require(array.shape == () and array.dtype.kind == "U", "what it says of itself is no text")
    require(array.dtype.itemsize <= 4 * LONGEST_TEXT, "there is too much beside the columns")
    return str(array)


def numbers(array: np.ndarray, dimensions: int) -> np.ndarray:
    """An array of doubles of so many dimensions."""
    require(array.dtype == np.dtype("<f8") and array.ndim == dimensions, "its numbers are no numbers")
    return array
