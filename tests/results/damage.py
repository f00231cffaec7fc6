"""Damaged run files and certificates: bytes flipped, cut and exchanged, and fields changed under right checksums."""

import io
import json
import struct
import zipfile
from hashlib import sha256

import numpy as np

ODD = [
    None, True, False, 0, -1, 1, 2**63, 10**400, -0.0, 1e308, 1e-320, 0.5, "", "x", "../../x", "\x1b[2J", "a" * 5000,
    "nan", [], {}, [[]], [None], {"x": 1}, [1e308] * 3, {"x": {"x": {"x": []}}}, "completed", "rk4", "proved",
]  # fmt: skip


def paths(value, here=()):
    """Every place in data made of tables and lists."""
    yield here
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield from paths(part, (*here, key))


def changed(random: np.random.Generator, data):
    """The data with one to three entries replaced, removed, doubled or exchanged."""
    data = json.loads(json.dumps(data))
    for _ in range(int(random.integers(1, 4))):
        places = [path for path in paths(data) if path]
        path = places[int(random.integers(len(places)))]
        owner = data
        for key in path[:-1]:
            owner = owner[key]
        kind, last = int(random.integers(5)), path[-1]
        if kind == 0:
            del owner[last]
        elif kind == 1 and isinstance(owner[last], float):
            owner[last] *= float(random.choice([-1, 1e-30, 1e30, 0, 1 + 1e-9, 1e300]))
        elif kind == 2 and isinstance(owner, list):
            owner.insert(0, owner[last])
        elif kind == 3 and isinstance(owner[last], str) and owner[last]:
            owner[last] = edited(random, owner[last])
        else:
            owner[last] = ODD[int(random.integers(len(ODD)))]
    return data


def edited(random: np.random.Generator, text: str) -> str:
    at = int(random.integers(len(text)))
    put = str(random.choice(["", "0", "-", "*", "\n", "nan", "é", '"', "[", "x", "1e9"]))
    return text[:at] + put + text[at + int(random.integers(3)) :]


def bytes_damaged(random: np.random.Generator, content: bytes) -> bytes:
    damaged, kind = bytearray(content), int(random.integers(4))
    if kind == 0:
        return bytes(damaged[: int(random.integers(len(damaged)))])
    if kind == 1:
        for _ in range(int(random.integers(1, 8))):
            damaged[int(random.integers(len(damaged)))] ^= 1 << int(random.integers(8))
    elif kind == 2:
        near = int(random.choice([0, len(damaged) - 600]))
        for _ in range(int(random.integers(1, 8))):
            damaged[min(near + int(random.integers(600)), len(damaged) - 1)] = int(random.integers(256))
    else:
        at = int(random.integers(len(damaged) - 16))
        words = [b"\xff" * 8, bytes(8), struct.pack("<q", 2**40), struct.pack(">q", 2**40), struct.pack("<d", np.nan)]
        damaged[at : at + 8] = words[int(random.integers(len(words)))]
    return bytes(damaged)


def numbers_damaged(random: np.random.Generator, table: np.ndarray) -> np.ndarray:
    """A table with some values not finite, huge, moved, or of another type or shape."""
    kind = int(random.integers(8))
    with np.errstate(all="ignore"):
        if kind < 4:
            table = table.copy()
            row = int(random.integers(len(table)))
            some = slice(int(random.integers(table.shape[-1])), None)
            values = [np.nan, np.inf, -np.inf, 1e308, 0.0, 1e-320]
            table[row, some] = values[int(random.integers(len(values)))]
            return table
        if kind == 4:
            return table[:, 1:]
        if kind == 5:
            return table.astype(str(random.choice(["f4", "i8", "c16", "U8", "?", ">f8"])))
        return table.T if kind == 6 else np.asfortranarray(table)


def damaged_npz(random: np.random.Generator, content: bytes) -> bytes:
    kind = int(random.integers(3))
    if kind == 0:
        return bytes_damaged(random, content)
    with np.load(io.BytesIO(content)) as held:
        about, times, table = json.loads(str(held["about"])), held["times"], held["table"]
    if kind == 1:
        about = changed(random, about)
    else:
        table = numbers_damaged(random, table)
    out = io.BytesIO()
    (np.savez_compressed if random.integers(20) == 0 else np.savez)(
        out, about=np.array(json.dumps(about)), times=times, table=table
    )
    return out.getvalue()


def damaged_netcdf(random: np.random.Generator, content: bytes) -> bytes:
    if random.integers(2):
        return bytes_damaged(random, content)
    begin = content.index(b'{"schema"')
    size = struct.unpack(">i", content[begin - 4 : begin])[0]
    text = json.dumps(changed(random, json.loads(content[begin : begin + size]))).encode()
    if len(text) > size:
        return bytes_damaged(random, content)
    return content[:begin] + text.ljust(size) + content[begin + size :]


def damaged_certificate(random: np.random.Generator, content: bytes) -> bytes:
    if random.integers(4) == 0:
        return bytes_damaged(random, content)
    data = changed(random, json.loads(content))
    if isinstance(data, dict):
        if isinstance(data.get("problem"), str):
            data["problem_hash"] = sha256(data["problem"].encode("utf-8", "replace")).hexdigest()
        plain = {key: value for key, value in data.items() if key != "digest"}
        data["digest"] = sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()
    return json.dumps(data).encode()


def header(shape: tuple[int, ...]) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return out.getvalue()


def bomb(about: np.ndarray, columns: int, rows: int) -> bytes:
    """A small npz that unpacks to `8 rows (columns + 1)` bytes."""
    out, told = io.BytesIO(), io.BytesIO()
    np.save(told, about)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("about.npy", told.getvalue())
        for name, shape in {"times": (rows,), "table": (columns, rows)}.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                member.write(header(shape))
                for _ in range(8 * (shape[0] if len(shape) == 2 else 1)):
                    member.write(bytes(rows))
    return out.getvalue()
