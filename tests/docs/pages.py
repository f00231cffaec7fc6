"""Pages of documentation as tests see them: their snippets, run in order, and what these say they print."""

import re
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
SNIPPET = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SAID = re.compile(r"^(?:print\(.*)?\)  # (.+)$", re.MULTILINE)  # of a print on one line or on several
FENCED = re.compile(r"^(?:> )?```.*?^(?:> )?```$", re.MULTILINE | re.DOTALL)
DISPLAYED = re.compile(r"^(?:> )?```math\n(.*?)^(?:> )?```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"\$([^$]+)\$")
TABLE = re.compile(r"(?:^\|.*\|\n)+", re.MULTILINE)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Page:
    """One page of Markdown."""

    file: Path

    @property
    def text(self) -> str:
        return self.file.read_text("utf-8")

    @property
    def prose(self) -> str:
        """The text without its code."""
        return FENCED.sub("", self.text)

    @property
    def formulas(self) -> list[str]:
        return DISPLAYED.findall(self.text) + INLINE.findall(self.prose)

    @property
    def tables(self) -> list[list[str]]:
        return [table.splitlines() for table in TABLE.findall(self.prose)]

    @property
    def headings(self) -> list[str]:
        return HEADING.findall(self.prose)

    @property
    def anchors(self) -> set[str]:
        """What a link may name: headings in small letters, without punctuation, with dashes for spaces."""
        return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in self.headings}

    def unkept(self, printed_by, remarks: tuple[str, ...] = ()) -> list[str]:
        """What the snippets say they print and do not; `printed_by` returns what was printed since the last call.

        What begins with one of the `remarks` is a remark, not output.
        """
        namespace, unkept = {"__name__": "page"}, []
        for found in SNIPPET.finditer(self.text):
            above = "\n" * self.text.count("\n", 0, found.start(1))  # errors then name the line of the page
            exec(compile(above + found[1], self.file.name, "exec"), namespace)
            lines = printed_by().splitlines()
            told = [said for said in SAID.findall(found[1]) if not said.startswith(remarks or ("\0",))]
            unkept += [f"{said!r} is not in {lines}" for said in told if not _is_printed(said, lines)]
        return unkept


def _is_printed(said: str, lines: list[str]) -> bool:
    """Whether a line is as said, or begins so where that ends in dots."""
    start = said.removesuffix("...")
    return said in lines or (start != said and any(line.startswith(start) for line in lines))
