"""A shared object in the ELF format, from an image of code: what a linker would make of it, without a linker.

    headers, names, symbols, relocations, code        read and executed
    dynamic section, table of outside addresses       read and written: the loader fills the table in

Everything lies in memory where it lies in the file. *System V Application Binary Interface, AMD64 Architecture
Processor Supplement*, 4.4 and 5.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from holdfast.engine.code.image import ADDRESS, Image

PAGE = 4096
HEADER, SEGMENT, SYMBOL, RELOCATION, ENTRY = 64, 56, 24, 24, 16  # bytes of each
LOADED, DYNAMIC, STACK = 1, 2, 0x6474E551  # kinds of segments
EXECUTABLE, WRITABLE, READABLE = 1, 2, 4
NEEDED, HASH, STRINGS, SYMBOLS, RELOCATIONS, RELOCATIONS_SIZE, RELOCATION_SIZE = 1, 4, 5, 6, 7, 8, 9
STRINGS_SIZE, SYMBOL_SIZE = 10, 11  # with those before, entries of the dynamic section
GLOBAL_FUNCTION = 0x12
UNDEFINED, DEFINED = 0, 1  # the section of a symbol; there is no table of sections, so any number will do
GLOBAL_DATA = 6  # the relocation that puts the address of a symbol into a place
JUMP = b"\xff\x25"  # jmp *[rip + ...], six bytes with its distance
SHARED, X86_64 = 3, 62


def shared_object(image: Image, exported: Iterable[str], libraries: Sequence[str]) -> bytes:
    """The file that exports these functions of an image; outside functions are looked for in the libraries."""
    return _File(image, sorted(exported), libraries).content()


class _File:
    """The bookkeeping of `shared_object`: what the file holds, and where."""

    def __init__(self, image: Image, own: list[str], libraries: Sequence[str]) -> None:
        self.image, self.own, self.outside, self.libraries = image, own, list(image.outside), libraries
        self.strings, self.text_at = bytearray(b"\0"), dict[str, int]()
        for name in (*own, *self.outside, *libraries):
            self.text_at[name] = len(self.strings)
            self.strings += name.encode() + b"\0"
        self.count = 1 + len(self.outside) + len(own)
        self.hash = HEADER + 4 * SEGMENT
        self.symbols = _aligned(self.hash + 4 * (3 + self.count), 8)
        self.names = self.symbols + SYMBOL * self.count
        self.relocations = _aligned(self.names + len(self.strings), 8)
        self.code = _aligned(self.relocations + RELOCATION * len(self.outside), 64)
        self.end = self.code + len(image.code)
        self.dynamic = _aligned(self.end, PAGE)
        self.entries = self._entries()
        self.table = self.dynamic + ENTRY * len(self.entries)
        self.file = bytearray(self.table + ADDRESS * len(self.outside))

    def _entries(self) -> list[tuple[int, int]]:
        """The dynamic section: what the loader must know."""
        found = [(NEEDED, self.text_at[name]) for name in self.libraries]
        found += [(HASH, self.hash), (STRINGS, self.names), (SYMBOLS, self.symbols), (SYMBOL_SIZE, SYMBOL)]
        found += [(STRINGS_SIZE, len(self.strings)), (RELOCATIONS, self.relocations), (RELOCATION_SIZE, RELOCATION)]
        return [*found, (RELOCATIONS_SIZE, RELOCATION * len(self.outside)), (0, 0)]

    def content(self) -> bytes:
        self._write_headers()
        self._write_symbols()
        self.file[self.names : self.names + len(self.strings)] = self.strings
        self.file[self.code : self.end] = self._jumping_through_the_table()
        for number, entry in enumerate(self.entries):
            struct.pack_into("<QQ", self.file, self.dynamic + ENTRY * number, *entry)
        return bytes(self.file)

    def _write_headers(self) -> None:
        kind = b"\x7fELF\x02\x01\x01" + bytes(9)
        rest = (SHARED, X86_64, 1, 0, HEADER, 0, 0, HEADER, SEGMENT, 4, 0, 0, 0)
        self.file[:HEADER] = kind + struct.pack("<HHIQQQIHHHHHH", *rest)
        size = len(self.file) - self.dynamic
        segments = [
            (LOADED, READABLE | EXECUTABLE, 0, self.end, PAGE),
            (LOADED, READABLE | WRITABLE, self.dynamic, size, PAGE),
            (DYNAMIC, READABLE | WRITABLE, self.dynamic, ENTRY * len(self.entries), 8),
            (STACK, READABLE | WRITABLE, 0, 0, 16),
        ]
        for number, (segment, flags, start, length, alignment) in enumerate(segments):
            fields = (segment, flags, start, start, start, length, length, alignment)
            struct.pack_into("<IIQQQQQQ", self.file, HEADER + SEGMENT * number, *fields)

    def _write_symbols(self) -> None:
        """Outside functions, each with the place its address goes to, then our own; one chain holds them all."""
        chain = [*range(2, self.count), 0]
        struct.pack_into(f"<{3 + self.count}I", self.file, self.hash, 1, self.count, 1, 0, *chain)
        for number, name in enumerate(self.outside, start=1):
            self._symbol(number, name, UNDEFINED, 0)
            at, place = self.relocations + RELOCATION * (number - 1), self.table + ADDRESS * (number - 1)
            struct.pack_into("<QQq", self.file, at, place, number << 32 | GLOBAL_DATA, 0)
        for number, name in enumerate(self.own, start=1 + len(self.outside)):
            self._symbol(number, name, DEFINED, self.code + self.image.functions[name])

    def _symbol(self, number: int, name: str, section: int, value: int) -> None:
        at = self.symbols + SYMBOL * number
        struct.pack_into("<IBBHQQ", self.file, at, self.text_at[name], GLOBAL_FUNCTION, 0, section, value, 0)

    def _jumping_through_the_table(self) -> bytes:
        """The code, its stubs jumping by the table instead of by the eight bytes behind them: code is never written."""
        code = bytearray(self.image.code)
        for number, name in enumerate(self.outside):
            stub = self.image.outside[name] - ADDRESS
            assert code[stub : stub + len(JUMP)] == JUMP
            distance = self.table + ADDRESS * number - (self.code + stub + 6)
            struct.pack_into("<i", code, stub + len(JUMP), distance)
        return bytes(code)


def _aligned(place: int, to: int) -> int:
    return place + -place % to
