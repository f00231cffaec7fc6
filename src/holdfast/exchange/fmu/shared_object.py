"""A shared object in the ELF format, from an image of code: what a linker would make of it, without a linker.

    headers, names, symbols, relocations, code        read and executed
    dynamic section, table of outside addresses       read and written: the loader fills the table in

*System V Application Binary Interface, AMD64 Architecture Processor Supplement*, 4.4 and 5.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from holdfast.engine.code.image import ADDRESS, Image

PAGE = 4096
HEADER, SEGMENT, SYMBOL, RELOCATION, ENTRY = 64, 56, 24, 24, 16  # bytes of each
LOADED, DYNAMIC, STACK = 1, 2, 0x6474E551  # kinds of segments
EXECUTABLE, WRITABLE, READABLE = 1, 2, 4
NEEDED, HASH, STRINGS, SYMBOLS, RELOCATIONS, RELOCATIONS_SIZE, RELOCATION_SIZE = 1, 4, 5, 6, 7, 8, 9
STRINGS_SIZE, SYMBOL_SIZE = 10, 11
GLOBAL_FUNCTION = 0x12
GLOBAL_DATA = 6  # the relocation that puts the address of a symbol into a place
JUMP = b"\xff\x25"  # jmp *[rip + ...], six bytes with its distance


def shared_object(image: Image, exported: Iterable[str], libraries: Iterable[str]) -> bytes:
    """The file that exports these functions of an image; outside functions are looked for in the libraries."""
    own, outside = sorted(exported), list(image.outside)
    strings, places = bytearray(b"\0"), {}
    for name in (*own, *outside, *libraries):
        places[name] = len(strings)
        strings += name.encode() + b"\0"
    count = 1 + len(outside) + len(own)
    # where everything lies, in the file and in memory alike, but for the last segment
    at_hash = HEADER + 4 * SEGMENT
    at_symbols = _aligned(at_hash + 4 * (2 + 1 + count), 8)
    at_strings = at_symbols + SYMBOL * count
    at_relocations = _aligned(at_strings + len(strings), 8)
    at_code = _aligned(at_relocations + RELOCATION * len(outside), 64)
    end = at_code + len(image.code)
    at_data = _aligned(end, PAGE)
    entries = [(NEEDED, places[name]) for name in libraries]
    entries += [(HASH, at_hash), (STRINGS, at_strings), (SYMBOLS, at_symbols), (STRINGS_SIZE, len(strings))]
    entries += [(SYMBOL_SIZE, SYMBOL), (RELOCATIONS, at_relocations), (RELOCATIONS_SIZE, RELOCATION * len(outside))]
    entries += [(RELOCATION_SIZE, RELOCATION), (0, 0)]
    at_table = at_data + ENTRY * len(entries)
    size = ENTRY * len(entries) + ADDRESS * len(outside)

    code = bytearray(image.code)
    for number, name in enumerate(outside):  # a stub jumps through the table instead of through its own eight bytes
        stub = image.outside[name] - ADDRESS
        assert code[stub : stub + 2] == JUMP
        distance = at_table + ADDRESS * number - (at_code + stub + 6)
        struct.pack_into("<i", code, stub + 2, distance)

    file = bytearray(at_data + size)
    file[:HEADER] = _header()
    segments = [
        (LOADED, READABLE | EXECUTABLE, 0, end, PAGE),
        (LOADED, READABLE | WRITABLE, at_data, size, PAGE),
        (DYNAMIC, READABLE | WRITABLE, at_data, ENTRY * len(entries), 8),
        (STACK, READABLE | WRITABLE, 0, 0, 16),
    ]
    for number, (kind, flags, start, length, alignment) in enumerate(segments):
        whole = (kind, flags, start, start, start, length, length, alignment)
        struct.pack_into("<IIQQQQQQ", file, HEADER + SEGMENT * number, *whole)
    chain = [*range(1, count), 0]  # one bucket: a search goes through all symbols, once for each name
    struct.pack_into(f"<III{count}I", file, at_hash, 1, count, min(1, count - 1), 0, *chain[1:])
    for number, name in enumerate(outside, start=1):
        struct.pack_into("<IBBHQQ", file, at_symbols + SYMBOL * number, places[name], GLOBAL_FUNCTION, 0, 0, 0, 0)
        place = at_table + ADDRESS * (number - 1)
        at = at_relocations + RELOCATION * (number - 1)
        struct.pack_into("<QQq", file, at, place, number << 32 | GLOBAL_DATA, 0)
    for number, name in enumerate(own, start=1 + len(outside)):
        value = at_code + image.functions[name]
        at, defined = at_symbols + SYMBOL * number, 1  # in some section, there being no table of them
        struct.pack_into("<IBBHQQ", file, at, places[name], GLOBAL_FUNCTION, 0, defined, value, 0)
    file[at_strings : at_strings + len(strings)] = strings
    file[at_code:end] = code
    for number, entry in enumerate(entries):
        struct.pack_into("<QQ", file, at_data + ENTRY * number, *entry)
    return bytes(file)


def _header() -> bytes:
    kind = b"\x7fELF\x02\x01\x01" + bytes(9)
    return kind + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, HEADER, 0, 0, HEADER, SEGMENT, 4, 0, 0, 0)


def _aligned(place: int, to: int) -> int:
    return place + -place % to
