"""XML with places and without traps: the standard library's expat, no document type, bounded size, depth and count.

Without a document type there are no entities to expand and nothing to fetch; what is left is elements, attributes and
the lines they stand on, for errors.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

import sympy as sp

from holdfast.common.files import named
from holdfast.errors import BadFile, Misstatement

LARGEST = 4_000_000  # bytes
DEEPEST = 200  # elements within each other
MOST = 20_000  # elements
NUMBER = re.compile(r"[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,3})?")


@dataclass(frozen=True, eq=False)
class XmlElement:
    """An element: its tag, its attributes, what it contains, and where it begins."""

    tag: str
    attributes: dict[str, str]
    line: int
    column: int
    children: list[XmlElement] = field(default_factory=list)

    def all(self, tag: str) -> list[XmlElement]:
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> XmlElement | None:
        return next((child for child in self.children if child.tag == tag), None)

    def get(self, name: str, default: str = "") -> str:
        return self.attributes.get(name, default)


class Document:
    """A file of XML, read; it counts what its reader leaves unread, and refuses with the line shown."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.file = str(named(path))
        self.unread: Counter[str] = Counter()
        content = self._content(Path(self.file))
        self._lines = content.decode("utf-8", "replace").splitlines()
        self.root = self._parsed(content)

    def _content(self, file: Path) -> bytes:
        try:
            if not file.is_file():
                raise self._bad("there is no such file" if not file.exists() else "this is not an ordinary file")
            with open(file, "rb") as stream:
                content = stream.read(LARGEST + 1)
        except (OSError, ValueError) as error:
            raise self._bad(f"the file cannot be read: {getattr(error, 'strerror', None) or error}") from None
        if len(content) > LARGEST:
            raise self._bad(f"the file is larger than {LARGEST:,} bytes", fix="meshes do not belong in it")
        return content

    def _parsed(self, content: bytes) -> XmlElement:
        parser = expat.ParserCreate()
        top = XmlElement("", {}, 0, 0)
        opened, count = [top], 0

        def refuse(*_: object) -> NoReturn:
            fix = "remove <!DOCTYPE ...>; entities are not expanded"
            raise self._bad("a document type is not read", parser.CurrentLineNumber, fix=fix)

        def begin(tag: str, attributes: dict[str, str]) -> None:
            nonlocal count
            count += 1
            if len(opened) > DEEPEST or count > MOST:
                what = f"more than {DEEPEST} elements within each other, or more than {MOST:,} in all"
                raise self._bad(what, parser.CurrentLineNumber)
            element = XmlElement(tag, attributes, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)
            opened[-1].children.append(element)
            opened.append(element)

        parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
        parser.StartElementHandler = begin
        parser.EndElementHandler = lambda tag: opened.pop()
        try:
            parser.Parse(content, True)
        except expat.ExpatError as error:
            what = f"this is not XML: {expat.ErrorString(error.code)}"
            raise self._bad(what, error.lineno, error.offset + 1) from None
        except (ValueError, LookupError) as error:
            raise self._bad(f"this is not XML: {error}") from None
        return top.children[0]

    def _bad(self, what: str, line: int = 0, column: int = 1, width: int = 1, fix: str = "") -> BadFile:
        source = self._lines[line - 1] if line and line <= len(getattr(self, "_lines", [])) else ""
        return BadFile(self.file, (Misstatement(what, "", line, column, width, source.replace("\t", " "), fix),))

    def refuse(self, element: XmlElement, what: str, fix: str = "") -> NoReturn:
        """Say what is wrong with an element."""
        raise self._bad(what, element.line, element.column, len(element.tag) + 1, fix)

    def skip(self, what: str, times: int = 1) -> None:
        """Note something that is not read."""
        self.unread[what] += times

    def skip_all_but(self, element: XmlElement, known: tuple[str, ...]) -> None:
        """Note what an element contains beside what its reader knows."""
        for child in element.children:
            if child.tag not in known:
                self.skip(f"<{child.tag}> in <{element.tag}>")

    def skip_attributes_but(self, element: XmlElement, known: tuple[str, ...]) -> None:
        """Note the attributes of an element that its reader does not know."""
        for name in element.attributes:
            if name not in known:
                self.skip(f"{name}= of <{element.tag}>")

    def numbers(
        self, element: XmlElement, name: str, count: int, default: str | None = None
    ) -> tuple[sp.Rational, ...]:
        """So many numbers of an attribute, exact."""
        text = element.attributes.get(name, default)
        if text is None:
            self.refuse(element, f"<{element.tag}> has no {name}", f'write {name}="..."')
        words = text.split()
        if len(words) != count or not all(NUMBER.fullmatch(word) for word in words):
            wanted = "a number" if count == 1 else f"{count} numbers"
            self.refuse(element, f"{name}={text[:60]!r} should be {wanted}", "decimals with a point, spaces between")
        return tuple(sp.Rational(word) for word in words)

    def number(self, element: XmlElement, name: str, default: str | None = None) -> sp.Rational:
        return self.numbers(element, name, 1, default)[0]

    def name(self, element: XmlElement) -> str:
        """The name of an element that must have one."""
        found = element.get("name").strip()
        if not found:
            self.refuse(element, f"<{element.tag}> has no name", 'write name="..."')
        return found
