"""Problem files that were never meant to be: mutants of good ones, by the grammar and against it.

`Mutants(seed)` yields texts for ever. Each begins as a file of the corpus (the shipped examples, and what once broke
something) and suffers a few changes: expressions are replaced by others that the grammar allows, numbers by awkward
ones, words by words of other places, lines by lines of other files, and bytes by any.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

KEPT = Path(__file__).parent / "corpus"
NUMBERS = (
    "0", "1", "-1", "2", "0.5", "1e-7", "1e-300", "1e300", "1e308", "-0.0", "1/3", "189", "2**63", "9" * 30, "1e-320",
    "64", "65", "0.4321", "1e16", "3.141592653589793", "12345678901234567890123",
)  # fmt: skip
PLAIN = ("0", "1", "-1", "1e17", "1e-320", "9223372036854775808", "inf", "nan", "true", '"x"', "[]", "[1, 2]", "{}",
         "1e400", "[[[[1]]]]", "{ from = 0, to = 1, count = 400000000 }", "1979-05-27", "''", "0x7fffffffffffffff",
         "1e-9")  # fmt: skip
FUNCTIONS = "sqrt exp log sin cos tan asin acos atan sinh cosh tanh abs sign ddt".split()
PAIRS = "atan2 min max dot cross".split()
UNITS = (
    "m",
    "kg m^2",
    "N s/m",
    "1",
    "m^999999",
    "((m))",
    "rad/s",
    "kg/m/s",
    "m**-3",
    "EUR",
    "mm",
    "%",
    "m^",
    "(",
    "m" * 300,
)
HOSTILE = (
    "__import__('os').system('touch OWNED')", "eval(x)", "lambda: 0", "x.__class__", "().__class__", "\\u001b[2J",
    "\\u202e", "\\U0010ffff", "x" * 300, "(" * 60, "[" * 100, "a.b.c.d.e.f.g.h", '"""', "'''", "\\x00", "\\ud800",
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "]]></style><b>", "${x}", "\\\\input{a}",
)  # fmt: skip
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
QUOTED = re.compile(r'"[^"\n]*"')
EXPRESSION = re.compile(r'(?<=[=\[,] )"[^"\n]*[-+*/(][^"\n:]*"')  # a text that has an operation in it
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.])")


def corpus() -> list[str]:
    """The texts that mutants begin as."""
    shipped = resources.files("holdfast") / "examples"
    texts = [entry.read_text("utf-8") for entry in shipped.iterdir() if entry.name.endswith(".toml")]
    return sorted(texts) + [path.read_text("utf-8") for path in sorted(KEPT.glob("*.toml"))]


class Mutants:
    """An endless row of mutants, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.texts = corpus()
        self.lines = [line for text in self.texts for line in text.splitlines() if line.strip()]
        self.words = sorted({word for text in self.texts for word in WORD.findall(text)})

    def __iter__(self) -> Iterator[str]:
        while True:
            yield self.mutant()

    def mutant(self) -> str:
        text = self.random.choice(self.texts)
        for _ in range(self.random.choice((1, 1, 1, 2, 2, 3, 5, 8))):
            text = self.random.choice(CHANGES)(self, text)
        return text

    # ── by the grammar ────────────────────────────────────────────────────────────────────────────

    def expression(self, names: list[str], depth: int = 0) -> str:
        """An expression that the grammar allows, whatever it means."""
        pick, inner = self.random.random(), depth + 1
        if depth > 4 or pick < 0.2:
            return self.random.choice(names)
        if pick < 0.35:
            return self.random.choice(NUMBERS)
        if pick < 0.6:
            sign = self.random.choice(("+", "-", "*", "*", "/", "**"))
            return f"({self.expression(names, inner)}{sign}{self.expression(names, inner)})"
        if pick < 0.8:
            return f"{self.random.choice(FUNCTIONS)}({self.expression(names, inner)})"
        if pick < 0.95:
            return f"{self.random.choice(PAIRS)}({self.expression(names, inner)}, {self.expression(names, inner)})"
        return f"({self.expression(names, inner)})**{self.random.choice(NUMBERS)}"

    def names_in(self, text: str) -> list[str]:
        """Names that are likely to be quantities here: coordinates, their rates, and what has a plain number."""
        listed = re.search(r"coordinates = \[([^\]]*)\]", text)
        known = WORD.findall(listed[1]) if listed else ["x"]
        known += [f"{name}_dot" for name in known] + ["t", "pi"]
        return known + re.findall(r"^(\w+) = [\d.]+", text, re.MULTILINE)[1:8]

    def replaced(self, pattern: re.Pattern[str], text: str, by: str) -> str:
        found = list(pattern.finditer(text))
        if not found:
            return text
        chosen = self.random.choice(found)
        return text[: chosen.start()] + by + text[chosen.end() :]

    def new_expression(self, text: str) -> str:
        return self.replaced(EXPRESSION, text, f'"{self.expression(self.names_in(text))}"')

    def grown_expression(self, text: str) -> str:
        found = list(EXPRESSION.finditer(text))
        if not found:
            return text
        chosen = self.random.choice(found)
        old, more = chosen[0][1:-1], self.expression(self.names_in(text), 2)
        new = self.random.choice(
            (f"({old}) + {more}", f"({old})*{more}", f"sin({old})", f"({old})**{more}", f"{old}{old}")
        )
        return text[: chosen.start()] + f'"{new}"' + text[chosen.end() :]

    def new_number(self, text: str) -> str:
        return self.replaced(NUMBER, text, self.random.choice(NUMBERS))

    def new_value(self, text: str) -> str:
        return self.replaced(re.compile(r"(?<==) .*$", re.MULTILINE), text, f" {self.random.choice(PLAIN)}")

    def new_word(self, text: str) -> str:
        return self.replaced(WORD, text, self.random.choice(self.words))

    def definitions(self, text: str) -> str:
        """A chain of definitions that doubles at each link, used in place of a name."""
        length = self.random.choice((2, 4, 12, 30))
        body = self.random.choice(
            ("{0}*cos({0})", "{0}**2+{0}", "max({0}, sin({0}))", "{0}*1e30", "exp({0})/{0}", "-{0}")
        )
        chain = [f'c{k} = "{body.format(f"c{k - 1}" if k else "x")}"' for k in range(length)]
        lines = "\n".join(["[definitions]", *chain])
        return (
            self.replaced(EXPRESSION, text, f'"c{length - 1}*{self.random.choice(self.names_in(text))}"')
            + f"\n{lines}\n"
        )

    def units(self, text: str) -> str:
        names = {self.random.choice(self.names_in(text)) for _ in range(3)}
        return text + "\n[units]\n" + "".join(f'{name} = "{self.random.choice(UNITS)}"\n' for name in sorted(names))

    # ── against it ────────────────────────────────────────────────────────────────────────────────

    def without_line(self, text: str) -> str:
        lines = text.split("\n")
        lines.pop(self.random.randrange(len(lines)))
        return "\n".join(lines)

    def other_line(self, text: str) -> str:
        lines = text.split("\n")
        lines.insert(self.random.randrange(len(lines) + 1), self.random.choice(self.lines))
        return "\n".join(lines)

    def twice(self, text: str) -> str:
        start = self.random.randrange(len(text) + 1)
        return text[:start] + text[start : start + self.random.choice((1, 5, 40, 400))] * 2 + text[start:]

    def cut(self, text: str) -> str:
        start = self.random.randrange(len(text) + 1)
        return text[:start] + text[start + self.random.choice((1, 3, 20, 200)) :]

    def any_character(self, text: str) -> str:
        start = self.random.randrange(len(text) + 1)
        letter = chr(self.random.choice((self.random.randrange(128), self.random.randrange(0x3000), 0x1B, 0x202E)))
        return text[:start] + letter + text[start + 1 :]

    def hostile(self, text: str) -> str:
        return self.replaced(QUOTED, text, f'"{self.random.choice(HOSTILE)}"')

    def spliced(self, text: str) -> str:
        other = self.random.choice(self.texts)
        return text[: self.random.randrange(len(text) + 1)] + other[self.random.randrange(len(other) + 1) :]


CHANGES = (
    *[Mutants.new_expression] * 4, *[Mutants.grown_expression] * 4, *[Mutants.new_number] * 3, *[Mutants.new_value] * 3,
    *[Mutants.new_word] * 3, Mutants.definitions, Mutants.units, Mutants.without_line, Mutants.other_line,
    Mutants.twice, Mutants.cut, Mutants.any_character, Mutants.hostile, Mutants.spliced,
)  # fmt: skip
