"""The certificate file, schema 2, read strictly: every field has its type and range, and no other field is allowed.

schema problem problem_hash title scheme step begin duration digest
parameters   the doubles that the run uses, by name, gains included
overrides    the names of those that are not the problem text's own
start        the state of the run that was checked
code         the operations that are run: inputs, operations, rates; tables, the pieces of data that they read; and
             passes over rows that may repeat each other: their weights, and the places of (a, λ) after each
blocks       of constraints, each once; `proof` where one is claimed
times        of all rows of the run, where it chose its own steps: there is no `step` then
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

from holdfast.stability.verifier.numbers.pieces import Pieces
from holdfast.stability.verifier.reading.code import ARITY, Code, Passes
from holdfast.stability.verifier.reading.data import stated_tables, table_operation
from holdfast.stability.verifier.reading.tubes import StatedTube, TubeClaim, proof_in_tube, tubes
from holdfast.stability.verifier.refusal import Refused, Unreadable, require

SCHEMA = 2
LARGEST = 20_000_000  # bytes of a certificate
LABELS = ("nothing", "proved", "tube", "mean_square", "checked", "estimated", "neutral", "refused")
MOST_OPERATIONS = 20_000
MOST_ROWS = 200_000  # of a run that chose its own steps
MOST_PASSES = 20  # over rows that may repeat each other
FRACTION = re.compile(r"-?[0-9]+(?:/[0-9]+)?")
LARGEST_NUMBER = 1e150  # in what is claimed; beyond it nothing is a bound


@dataclass(frozen=True)
class Claim:
    """The proof of one block, as stated."""

    factor: list[list[float]]
    gamma: float
    tube: float
    coefficient: float
    rounding: float
    radius: float
    region: dict[str, tuple[float, float]]
    limits: dict[str, tuple[float, float]]


@dataclass(frozen=True)
class BlockClaim:
    """What a certificate says of one block."""

    constraints: list[str]
    label: str
    names: list[str]
    matrix: list[list[float]]
    gamma: float | None
    defect: float | None
    epsilon: float | None
    bounds: list[float]
    stayed: bool | None
    settles: bool
    proof: Claim | None
    start_size: float | None = None
    from_step: int = 0
    tube_proof: TubeClaim | None = None  # in a tube along the run, where `proof` is none
    mean_square: dict[str, Any] | None = None  # under noise, where there is no sure bound
    ordered: dict[str, Any] | None = None  # by steps in the order of time, in a tube

    @property
    def claimed(self) -> bool:
        """Whether something is proved of it."""
        return (self.proof or self.tube_proof or self.mean_square or self.ordered) is not None


@dataclass(frozen=True)
class Claims:
    """A certificate, as stated."""

    problem: str
    title: str
    scheme: str
    step: float | None
    begin: float
    duration: float
    parameters: dict[str, float]
    overrides: list[str]
    start: list[float]
    code: Code | None
    blocks: list[BlockClaim]
    tableau: tuple[list[list[Fraction]], list[Fraction], int] | None = None  # where the scheme has no name of its own
    tubes: list[StatedTube] = field(default_factory=list)
    widened: list[str] = field(default_factory=list)  # parameters that are states of its text, and do not move
    times: list[float] | None = None  # of the rows of a run that chose its own steps, in the place of a step
    starts: dict[str, float] | None = None  # how far off others may start, state by state, and stay in every tube


def read(path: str | Path) -> Any:
    """The data of a certificate file: a plain file, not too large, JSON without NaN and not too deep."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as file:
            kind = os.fstat(file.fileno())
            if not stat.S_ISREG(kind.st_mode):
                raise Unreadable("it is not a plain file")
            if kind.st_size > LARGEST:
                raise Unreadable(f"it is larger than {LARGEST // 10**6} megabytes, no certificate is")
            text = file.read(LARGEST + 1).decode("utf-8")
    except FileNotFoundError:
        raise Unreadable(f"there is no file {path}") from None
    except (OSError, UnicodeDecodeError):
        raise Unreadable("it cannot be read as text") from None
    return parsed(text)


def parsed(text: str) -> Any:
    """JSON, strictly."""
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_once)
    except RecursionError:
        raise Unreadable("it is nested too deeply") from None
    except ValueError as error:
        raise Unreadable(f"it is not JSON: {str(error)[:60]}") from None


def _no_constant(word: str) -> Any:
    raise Unreadable(f"it holds {word}, which is no number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Unreadable("a field is given twice")
    return found


def digest(body: Mapping[str, Any]) -> str:
    """A checksum of all that a certificate says: against accidents, not a seal; anyone can write it anew."""
    plain = {key: value for key, value in body.items() if key != "digest"}
    return sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


# ── fields ────────────────────────────────────────────────────────────────────────────────────────

Check = Callable[[Any, str], Any]


def _table(value: Any, where: str, fields: Mapping[str, Check]) -> dict[str, Any]:
    require(isinstance(value, dict), f"{where} is no table")
    more, less = sorted(set(value) - set(fields)), sorted(set(fields) - set(value))
    require(not more, f"{where or 'it'} holds the unknown field {more[0] if more else ''!r}")
    require(not less, f"{where or 'it'} lacks the field {less[0] if less else ''!r}")
    return {name: check(value[name], f"{where}.{name}" if where else name) for name, check in fields.items()}


def _text(value: Any, where: str) -> str:
    require(isinstance(value, str) and len(value) <= LARGEST, f"{where} is no text")
    require(value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value), f"{where} is no text")
    return str(value)


def _name(value: Any, where: str) -> str:
    require(isinstance(value, str) and 0 < len(value) <= 200 and value.isprintable(), f"{where} is no name")
    return str(value)


def _number(value: Any, where: str) -> float:
    whole = isinstance(value, int | float) and not isinstance(value, bool)
    require(whole and abs(value) < 1e300 and math.isfinite(value), f"{where} is no finite number")
    return float(value) + 0.0  # never -0.0, which is an end of a range below 0.0 to some


def _size(value: Any, where: str) -> float:
    number = _number(value, where)
    require(number >= 0, f"{where} is negative")
    require(number < LARGEST_NUMBER, f"{where} is too large to be a bound")
    return number


def _positive(value: Any, where: str) -> float:
    number = _size(value, where)
    require(number > 0, f"{where} is not positive")
    return number


def _flag(value: Any, where: str) -> bool:
    require(isinstance(value, bool), f"{where} is neither true nor false")
    return bool(value)


def _optional(check: Check) -> Check:
    return lambda value, where: None if value is None else check(value, where)


def _list(check: Check, most: int = 1000) -> Check:
    def found(value: Any, where: str) -> list[Any]:
        require(isinstance(value, list) and len(value) <= most, f"{where} is no list, or too long")
        return [check(part, where) for part in value]

    return found


def _unique(value: Any, where: str) -> list[str]:
    names = _list(_name)(value, where)
    require(len(set(names)) == len(names), f"{where} names something twice")
    return list(names)


def _square(value: Any, where: str) -> list[list[float]]:
    rows = _list(_list(_number, 100), 100)(value, where)
    require(all(len(row) == len(rows) for row in rows), f"{where} is no square matrix")
    return list(rows)


def _ranges(value: Any, where: str) -> dict[str, tuple[float, float]]:
    require(isinstance(value, list) and len(value) <= 1000, f"{where} is no list of ranges")
    found: dict[str, tuple[float, float]] = {}
    for entry in value:
        require(isinstance(entry, list) and len(entry) == 3, f"{where} is no list of name, low, high")
        name, low, high = _name(entry[0], where), _number(entry[1], where), _number(entry[2], where)
        require(name not in found, f"{where} names {name!r} twice")
        require(low <= high, f"{where} of {name!r} ends below its beginning")
        found[name] = (low, high)
    return found


def _numbers(value: Any, where: str) -> dict[str, float]:
    require(isinstance(value, dict), f"{where} is no table")
    return {_name(name, where): _number(number, f"{where}.{name}") for name, number in value.items()}


def _code(value: Any, where: str) -> Code:
    fields = {"inputs": _unique, "operations": _list(_raw, MOST_OPERATIONS), "rates": _list(_place)}
    also: dict[str, Check] = {"tables": stated_tables, "noise": _list(_list(_place)), "passes": _passes}
    more = {name: check for name, check in also.items() if isinstance(value, dict) and name in value}
    data = _table(value, where, {**fields, **more})
    tables = data.get("tables", {})
    known, operations = len(data["inputs"]), []
    for entry in data["operations"]:
        operations.append(_operation(entry, known, tables))
        known += 1
    noise = tuple(map(tuple, data.get("noise", ())))
    passes: Passes | None = data.get("passes")
    more_places = () if passes is None else (*passes.results, *passes.changes)
    found = all(place < known for row in (data["rates"], *noise, *more_places) for place in row)
    require(found, "the code ends before it gives its rates")
    return Code(tuple(data["inputs"]), tuple(operations), tuple(data["rates"]), tables, noise, passes)


def _passes(value: Any, where: str) -> Passes:
    rows = _list(_list(_place), MOST_PASSES)
    data = _table(value, where, {"weights": _list(_fraction), "results": rows, "changes": rows})
    require(all(0 < weight < LARGEST_NUMBER for weight in data["weights"]), f"{where} has a weight that is none")
    require(len(data["changes"]) == len(data["results"]) + 1, f"{where} are not all told")
    results, changes = (tuple(map(tuple, data[name])) for name in ("results", "changes"))
    return Passes(tuple(data["weights"]), results, changes)


def _raw(value: Any, where: str) -> Any:
    require(isinstance(value, list) and 0 < len(value) <= 4, f"{where} holds what is no operation")
    return value


def _place(value: Any, where: str) -> int:
    require(isinstance(value, int) and not isinstance(value, bool) and value >= 0, f"{where} names no earlier place")
    return int(value)


def _operation(entry: list[Any], known: int, tables: Mapping[str, Pieces]) -> tuple[Any, ...]:
    op, *args = entry
    require(isinstance(op, str), "the code is not readable")
    if op == "const":
        require(len(args) == 1 and isinstance(args[0], str) and len(args[0]) < 2000, "a constant of the code is none")
        require(FRACTION.fullmatch(args[0]) is not None, "a constant of the code is none")  # 1e999999999 is a bomb
        try:
            value = Fraction(args[0])
        except (ValueError, ZeroDivisionError):
            raise Refused("a constant of the code is none") from None
        require(abs(value) < 10**300, "a constant of the code is too large")
        return op, value
    if op == "pi":
        require(not args, "the code is not readable")
        return (op,)
    places = [_place(arg, "the code") for arg in args]
    if op.startswith("table "):
        return table_operation(op, places, known, tables)
    if op == "power":
        require(len(args) == 2 and 2 <= places[1] < 1000, "a power of the code has no whole exponent")
    else:
        require(op in ARITY and len(args) == ARITY[op], f"the code holds the unknown operation {str(op)[:20]!r}")
    operands = places[:1] if op == "power" else places
    require(all(place < known for place in operands), "the code uses what is not computed yet")
    return (op, *places)


PROOF: dict[str, Check] = {
    "factor": _square, "gamma": _positive, "tube": _positive, "coefficient": _size, "rounding": _size,
    "radius": _size, "region": _ranges, "limits": _ranges,
}  # fmt: skip
IN_TUBE = ("factor", "gamma", "coefficient", "rounding", "radius")  # of these, what a proof in a tube has too
BLOCK: dict[str, Check] = {
    "constraints": _unique, "label": _name, "names": _unique, "matrix": _square, "gamma": _optional(_positive),
    "defect": _optional(_size), "epsilon": _optional(_size), "bounds": _list(_size), "stayed": _optional(_flag),
    "settles": _flag, "proof": _optional(lambda value, where: Claim(**_table(value, where, PROOF))),
}  # fmt: skip
MEAN_SQUARE: dict[str, Check] = {
    "names": _unique, "scheme": _name, "projected": _flag, "factor": _square, "gamma": _positive,
    "second_moment": _square, "share": _positive, "rounding": _list(_size), "start_size": _size, "bounds": _list(_size),
}  # fmt: skip
ORDERED: dict[str, Check] = {
    "kind": _name, "tube": lambda value, where: _place(value, where), "names": _unique, "start": _list(_size),
    "bounds": _list(_size), "rounding": _list(_size), "steps": lambda value, where: _place(value, where),
}  # fmt: skip
MORE: dict[str, Check] = {
    "start_size": _optional(_size),
    "from_step": _place,
    "mean_square": lambda value, where: _table(value, where, MEAN_SQUARE),
}  # of a block; nothing where left out
FREE: dict[str, Check] = {
    "reason": _text,
    "observed": _list(_size),
    "slack": _optional(_number),
}  # not proved: as stated
TOP: dict[str, Check] = {
    "schema": lambda value, where: value, "problem": _text, "problem_hash": _text, "title": _text, "scheme": _name,
    "step": _optional(_positive), "begin": _number, "duration": _size, "parameters": _numbers, "overrides": _unique,
    "start": _list(_number), "code": _optional(_code), "blocks": _list(lambda value, where: _block(value, where)),
    "digest": _text,
}  # fmt: skip


def _fraction(value: Any, where: str) -> Fraction:
    require(
        isinstance(value, str) and len(value) < 200 and FRACTION.fullmatch(value) is not None, f"{where} is no ratio"
    )
    try:
        return Fraction(value)
    except ZeroDivisionError:
        raise Refused(f"{where} is no ratio") from None


def _tableau(value: Any, where: str) -> tuple[list[list[Fraction]], list[Fraction], int]:
    rows = {"stages": _list(_list(_fraction, 20), 20), "weights": _list(_fraction, 20), "order": _place}
    found = _table(value, where, rows)
    return found["stages"], found["weights"], found["order"]


def _distances(value: Any, where: str) -> dict[str, float]:
    found = _numbers(value, where)
    require(bool(found) and all(0 < x < LARGEST_NUMBER for x in found.values()), f"{where} are no distances")
    return found


def _times(value: Any, where: str) -> list[float]:
    found = _list(_number, MOST_ROWS)(value, where)
    require(len(found) > 1 and all(a < b for a, b in pairwise(found)), f"{where} are no times of rows")
    return list(found)


TOP_MORE: dict[str, Check] = {
    "tableau": _optional(_tableau), "tubes": tubes, "widened": _unique, "starts": _distances, "times": _times,
}  # fmt: skip


def _block(value: Any, where: str) -> BlockClaim:
    require(isinstance(value, dict), f"{where} is no table")
    proved = value.get("label") in ("proved", "tube")
    in_tube = isinstance(value.get("proof"), dict) and "kind" in value["proof"]
    require(
        in_tube == (value.get("label") == "tube"), "a proof in a tube is called otherwise, or another one is called so"
    )
    ordered = _table(value["proof"], "a block.proof", ORDERED) if in_tube and _in_order(value["proof"]) else None
    own = {name: check for name, check in PROOF.items() if name in IN_TUBE}
    tube = proof_in_tube(value["proof"], "a block.proof", own, _table) if in_tube and ordered is None else None
    more = {name: check for name, check in MORE.items() if name in value}
    fields = {**BLOCK, "proof": lambda value, where: None} if in_tube else BLOCK
    data = _table(value, "a block", {**fields, **more} if proved else {**fields, **more, **FREE})
    require(data["label"] in LABELS, f"{data['label'][:30]!r} is no label")
    require(bool(data["constraints"]), "a block is of no constraint")
    require(("mean_square" in data) == (data["label"] == "mean_square"), "a mean square is called otherwise")
    for name in ("bounds", "observed"):
        none = not proved and not data.get(name)
        each = name not in data or len(data[name]) == len(data["names"])
        require(none or each, "there is not one bound for each deviation")
    require(
        ordered is not None or not proved or data["defect"] is not None,
        "the defect is smaller than shown: none is stated",
    )
    told = not (proved and data["settles"]) or data.get("start_size") is not None
    require(told, "its start deviates, and it does not say by how much")
    require(proved or data["proof"] is None, "a block holds a proof but is not called proved")
    require(not proved or (data["proof"] or tube or ordered) is not None, "a block is called proved but holds no proof")
    return BlockClaim(tube_proof=tube, ordered=ordered, **{name: data[name] for name in (*BLOCK, *more)})


def _in_order(proof: Any) -> bool:
    return bool(proof.get("kind") == "ordered")


def claims(data: Any) -> Claims:
    """What a certificate claims; its checksums fit, and each constraint is spoken of once."""
    found = data.get("schema") if isinstance(data, dict) else None
    if found is None:
        raise Unreadable("it is not a certificate")
    if found != SCHEMA:
        hint = "certify again with this version" if found == 1 else "use the version that wrote it"
        raise Unreadable(f"it is a certificate of schema {str(found)[:20]}, not {SCHEMA}: {hint}")
    more = {name: check for name, check in TOP_MORE.items() if name in data}
    top = _table(data, "", {**TOP, **more})
    require(top["digest"] == digest(data), "its checksum does not fit: it was changed, by accident or otherwise")
    require(
        top["problem_hash"] == sha256(top["problem"].encode()).hexdigest(),
        "the checksum of its problem does not fit: it was changed, by accident or otherwise",
    )
    blocks: list[BlockClaim] = top["blocks"]
    held = [name for block in blocks for name in block.constraints]
    twice = [name for name in held if held.count(name) > 1]
    require(not twice, f"{twice[0] if twice else ''!r} is spoken of by more than one block")
    fields = ("problem", "title", "scheme", "step", "begin", "duration", "parameters", "overrides", "start", "code")
    return Claims(blocks=blocks, **{name: top[name] for name in (*fields, *more)})
