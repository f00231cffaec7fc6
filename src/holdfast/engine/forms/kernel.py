"""The kernel of forms, compiled once for each number of terms, whatever the problem: the tape is data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from typing import Any

from holdfast.engine.code import cache as kept_code
from holdfast.engine.code import native
from holdfast.engine.code.compiled import Code, Loaded
from holdfast.engine.code.kernel_source import emitter
from holdfast.engine.code.layout import Layout
from holdfast.engine.emit.llvm import write_functions
from holdfast.engine.emit.llvm_writer import LLVMWriter
from holdfast.engine.emit.target import Signature
from holdfast.engine.emit.translate import signatures, source_of, translate
from holdfast.engine.forms import (
    cutting,
    differences,
    dispatch,
    error_symbols,
    functions,
    products,
    residuals,
    rounding,
    systems,
    unknowns,
    values,
)
from holdfast.errors import BadRequest

LANES = 8  # cells side by side
ROOMS = (values, products, functions, systems, residuals, rounding, error_symbols, differences, unknowns, dispatch)
SMALL = "remainder residual_part rounding symbol of_degree moving polynomial entry_value unknown_value".split()
SMALL += "spread away varied largest_of".split()
ENTRIES = ("forms", "cut")


def _rooms(terms: int) -> tuple[Any, ...]:
    """The modules whose functions the kernel is made of; boxes are cut by forms that are no series."""
    return (*ROOMS, cutting) if terms == 1 else ROOMS


def _texts(terms: int) -> list[tuple[str, str]]:
    """All functions of the kernel, each with its hint."""
    found = []
    for room in _rooms(terms):
        for name, value in vars(room).items():
            own = callable(value) and getattr(value, "__module__", "") == room.__name__
            if own and name != "add_product_text":
                text = products.add_product_text(terms) if name == "add_product" else source_of(value)
                found.append((text, "alwaysinline" if name in SMALL else ""))
    return found


def _constants(terms: int) -> dict[str, int | float]:
    found = {
        name: value
        for room in _rooms(terms)
        for name, value in vars(room).items()
        if name.isupper() and isinstance(value, int | float)
    }
    return {**found, "TERMS": terms}


def _written(terms: int) -> tuple[str, dict[str, Signature]]:
    """The kernel as LLVM IR, and what its entries take."""
    writer, known = LLVMWriter(LANES), dict[str, Signature]()
    write_functions(writer, ["sin", "exp", "log"], known)
    texts = _texts(terms)
    known |= signatures(text for text, _ in texts)
    for text, hint in texts:
        translate(text, writer, _constants(terms), known, hint=hint)
    return writer.module, {name: known[name] for name in ENTRIES if name in known}


@cache
def kernel(terms: int) -> Mapping[str, Callable[..., Any]]:
    """The entries of the kernel for series of so many terms; kept between runs as all code is. Needs LLVM once."""
    if not native.available():
        raise BadRequest("Taylor forms need native code, and llvmlite is not installed", fix="install llvmlite")
    content = sha256(repr((_texts(terms), sorted(_constants(terms).items()))).encode()).hexdigest()
    key = f"forms|{content}|{emitter()}|{LANES}|{native.machine_name()}"
    loaded = _kept(key)
    if loaded is None:
        text, entries = _written(terms)
        code = Code.of(native.object_code(text, optimised=True), entries, Layout({}, 0, 0))
        kept_code.store(key, code.to_bytes())
        loaded = code.loaded()
    return loaded.functions


def _kept(key: str) -> Loaded | None:
    with suppress(LookupError, ValueError, TypeError, OSError):
        found = kept_code.fetch(key)
        if found is not None:
            return Code.from_bytes(found).loaded()
    return None
