"""From an object file to an image, where that is simple: position-independent code for x86-64 in the ELF format.

    sections      one after the other, each at its alignment, then a stub for each outside function
    relocation    place P of a field gets S + A − P, for both kinds that such code has (PC32 and PLT32)
    stub          jmp *[rip + 2]; 2 bytes of filling; the address, which loading fills in

Anything else is left to LLVM's own loader: an object that is not understood is no error.

*System V Application Binary Interface, AMD64 Architecture Processor Supplement*, 4.4.
"""

from __future__ import annotations

import platform
import struct
import sys
from collections.abc import Iterator
from typing import NamedTuple

from holdfast.engine.code.image import ADDRESS, Image

KIND = b"\x7fELF\x02\x01\x01"  # 64 bits, little-endian
RELOCATABLE, X86_64 = 1, 62
CODE_OR_DATA, SYMBOLS, RELOCATIONS = 1, 2, 4  # kinds of sections
WRITABLE, IN_MEMORY = 1, 2
UNDEFINED = 0  # the section of outside symbols
RELATIVE = (2, 4)
STUB = b"\xff\x25\x02\0\0\0\0\0"


def linkable_here() -> bool:
    """Whether object files of this machine can be linked to images."""
    return sys.platform == "linux" and platform.machine() == "x86_64" and sys.maxsize > 2**32


class ObjectSection(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry: int


class Symbol(NamedTuple):
    name: int
    info: int
    other: int
    section: int
    value: int
    size: int


class _Unknown(Exception):
    """Something that is not linked here."""


def linked(file: bytes) -> Image | None:
    """The image of an object file, or None if it holds what is not linked here."""
    if file[: len(KIND)] != KIND or struct.unpack_from("<HH", file, 16) != (RELOCATABLE, X86_64):
        return None
    start, number = struct.unpack_from("<Q", file, 40)[0], struct.unpack_from("<H", file, 60)[0]
    sections = [ObjectSection(*struct.unpack_from("<IIQQQQIIQQ", file, start + 64 * k)) for k in range(number)]
    try:
        return _Linking(file, sections).image()
    except _Unknown:
        return None


class _Linking:
    """The bookkeeping of `linked`: where sections and stubs have come to lie."""

    def __init__(self, file: bytes, sections: list[ObjectSection]) -> None:
        self.file, self.sections = file, sections
        self.code = bytearray()
        self.places: dict[int, int] = {}
        self.outside: dict[str, int] = {}
        table = next(section for section in sections if section.kind == SYMBOLS)
        self.names = sections[table.link].offset
        self.symbols = [Symbol(*entry) for entry in struct.iter_unpack("<IBBHQQ", self._content(table))]

    def image(self) -> Image:
        for number, section in enumerate(self.sections):
            if section.kind == CODE_OR_DATA and section.flags & IN_MEMORY:
                if section.flags & WRITABLE:
                    raise _Unknown  # an image is never written to
                self.places[number] = self._put(self._content(section), section.alignment)
        for target, place, symbol, addend in self._relocations():
            at = self.places[target] + place
            struct.pack_into("<i", self.code, at, self._address(symbol) + addend - at)
        functions = {
            self._name(symbol): self.places[symbol.section] + symbol.value
            for symbol in self.symbols
            if symbol.section in self.places and symbol.name
        }
        return Image(bytes(self.code), functions, self.outside)

    def _content(self, section: ObjectSection) -> bytes:
        return self.file[section.offset : section.offset + section.size]

    def _put(self, content: bytes, alignment: int) -> int:
        """At the end, aligned; tells where."""
        self.code += bytes(-len(self.code) % max(1, alignment))
        self.code += content
        return len(self.code) - len(content)

    def _relocations(self) -> Iterator[tuple[int, int, Symbol, int]]:
        """Section and place of each field to be filled, with the symbol and the number to add."""
        for section in self.sections:
            if section.kind == RELOCATIONS and section.info in self.places:
                for place, info, addend in struct.iter_unpack("<QQq", self._content(section)):
                    if info & 0xFFFFFFFF not in RELATIVE:
                        raise _Unknown
                    yield section.info, place, self.symbols[info >> 32], addend

    def _address(self, symbol: Symbol) -> int:
        if symbol.section == UNDEFINED:
            return self._stub(self._name(symbol))
        if symbol.section not in self.places:
            raise _Unknown
        return self.places[symbol.section] + symbol.value

    def _stub(self, name: str) -> int:
        """Where the jump to an outside function is; made when first needed."""
        if name not in self.outside:
            self.outside[name] = self._put(STUB + bytes(ADDRESS), 16) + len(STUB)
        return self.outside[name] - len(STUB)

    def _name(self, symbol: Symbol) -> str:
        begin = self.names + symbol.name
        return self.file[begin : self.file.index(b"\0", begin)].decode()
