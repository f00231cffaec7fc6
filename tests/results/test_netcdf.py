"""The reader of NetCDF-3: headers written here field by field, each wrong in one place."""

import struct

import numpy as np
import pytest

from holdfast.results.store.netcdf import netcdf_columns
from holdfast.results.store.run_file import Damaged

TIME, X = np.array([0.0, 0.1, 0.2]), np.array([1.0, -2.0, 3.5])


def filled(content):
    return content + bytes(-len(content) % 4)


def name(text):
    return struct.pack(">i", len(text.encode())) + filled(text.encode())


def entries(tag, parts):
    return struct.pack(">ii", tag if parts else 0, len(parts)) + b"".join(parts)


def attribute(called, kind, values):
    content = {2: lambda: values.encode(), 1: lambda: bytes(values)}.get(
        kind, lambda: np.array(values, {3: ">i2", 4: ">i4", 5: ">f4", 6: ">f8"}.get(kind, ">i4")).tobytes()
    )()
    count = len(content) if kind == 2 else len(values)
    return name(called) + struct.pack(">ii", kind, count) + filled(content)


TOLD = attribute("holdfast", 2, "about")


def written(tmp_path, **changed):
    """A file of two columns over time; `changed` puts others in the place of its parts."""
    part = {
        "magic": b"CDF\x02", "records": 0, "dimensions": [name("time") + struct.pack(">i", 3)], "attributes": [TOLD],
        "columns": {"time": TIME, "x": X}, "places": [0], "kind": 6, "own": [], "shift": 0, "tag": 11, "stride": 1,
    } | changed  # fmt: skip

    def header(begins):
        places = struct.pack(f">i{len(part['places'])}i", len(part["places"]), *part["places"])
        variables = [
            name(label) + places + entries(12, part["own"]) + struct.pack(">iiq", part["kind"], 24, begin)
            for label, begin in zip(part["columns"], begins, strict=True)
        ]  # fmt: skip
        return (
            part["magic"] + struct.pack(">i", part["records"]) + entries(10, part["dimensions"])
            + entries(12, part["attributes"]) + entries(part["tag"], variables)
        )  # fmt: skip

    size = len(header([0] * len(part["columns"])))
    length = len(next(iter(part["columns"].values()))) * 8 * part["stride"]
    content = header([size + length * k + part["shift"] for k in range(len(part["columns"]))])
    content += b"".join(values.astype(">f8").tobytes() for values in part["columns"].values())
    path = tmp_path / "run.nc"
    path.write_bytes(content[: part.get("cut")])
    return path


OTHERS = [attribute("pad", 2, "odd"), *(attribute(f"n{kind}", kind, [1, 2, 3]) for kind in (1, 3, 4, 5, 6))]
READ = {
    "as it is": {},
    "with attributes of every type": {"attributes": [*OTHERS, TOLD]},
    "with attributes of a column": {"own": OTHERS},
    "with nothing but times": {"columns": {"time": TIME}},
}


@pytest.mark.parametrize("how", READ)
def test_columns_are_read_as_they_were_written(how, tmp_path):
    told, times, columns = netcdf_columns(written(tmp_path, **READ[how]))
    assert told == "about"
    assert times.tolist() == TIME.tolist()
    wanted = READ[how].get("columns", {"x": X})
    assert {label: values.tolist() for label, values in columns.items()} == {
        label: values.tolist() for label, values in wanted.items() if label != "time"
    }


WRONG = {
    "HDF5": ({"magic": b"\x89HDF"}, "it is a NetCDF-4 file, and runs are kept as NetCDF-3"),
    "32-bit offsets": ({"magic": b"CDF\x01"}, "it is no NetCDF file"),
    "records": ({"records": 1}, "it has records"),
    "endless records": ({"records": -1}, "it has records"),
    "another dimension": ({"dimensions": [name("tame") + struct.pack(">i", 3)]}, "its columns are not over time"),
    "two dimensions": ({"dimensions": [name("time") + struct.pack(">i", 3)] * 2}, "its columns are not over time"),
    "no dimension": ({"dimensions": []}, "its columns are not over time"),
    "a negative dimension": ({"dimensions": [name("time") + struct.pack(">i", -1)]}, "its header has a wrong number"),
    "a long dimension": ({"dimensions": [name("time") + struct.pack(">i", 4)]}, "it says to be larger than it is"),
    "a name too long": ({"dimensions": [name("t" * 401) + struct.pack(">i", 3)]}, "its header has a wrong number"),
    "nothing told": ({"attributes": []}, "what it says of itself is no text"),
    "numbers told": ({"attributes": [attribute("holdfast", 4, [1])]}, "what it says of itself is no text"),
    "an unknown type": ({"attributes": [TOLD, attribute("n", 7, [1])]}, "an attribute is of an unknown type"),
    "a type below all": ({"attributes": [TOLD, attribute("n", 0, [1])]}, "an attribute is of an unknown type"),
    "another list": ({"tag": 13}, "its header has another list"),
    "a column over nothing": ({"places": []}, "a column is not over time"),
    "a column over two": ({"places": [0, 0]}, "its header has a wrong number"),
    "a column over another": ({"places": [1]}, "a column is not over time"),
    "a column of floats": ({"kind": 5}, "a column is not of numbers"),
    "numbers beyond the end": ({"shift": 1}, "it says to be larger than it is"),
    "numbers before the beginning": ({"shift": -100_000}, "it says to be larger than it is"),
    "the last number cut off": ({"cut": -1}, "it says to be larger than it is"),
    "no times": ({"columns": {"x": X}}, "it has no times"),
    "a header cut off": ({"cut": 60}, "its header is cut off"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_said(what, tmp_path):
    changed, why = WRONG[what]
    with pytest.raises(Damaged) as refused:
        netcdf_columns(written(tmp_path, **changed))
    assert why in str(refused.value)


def test_a_column_twice_is_refused(tmp_path):
    path = written(tmp_path)
    path.write_bytes(path.read_bytes().replace(name("x"), name("time")[:4] + b"time"))
    with pytest.raises(Damaged, match="larger than it is"):
        netcdf_columns(path)


def test_columns_that_share_their_numbers_are_refused(tmp_path):
    """Each lies within the file, but together they would be larger in memory than it."""
    long = np.linspace(0, 1, 50)
    columns, dimensions = {"time": long, "x": long, "z": long}, [name("time") + struct.pack(">i", 50)]
    apart = written(tmp_path, columns=columns, dimensions=dimensions)
    assert netcdf_columns(apart)[2]["z"].tolist() == long.tolist()
    with pytest.raises(Damaged, match="larger than it is"):
        netcdf_columns(written(tmp_path, columns=columns, dimensions=dimensions, stride=0, cut=-2 * long.nbytes))
