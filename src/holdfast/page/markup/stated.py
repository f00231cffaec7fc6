"""Expressions as they were written, typeset: the user's order, the user's products, the user's names.

SymPy sorts terms and multiplies out; a reader looks for what was stated. The text is parsed, never run: what this file
does not know raises `Unwritten`, and the caller falls back on the expression itself.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from holdfast.problem.quantities import latex_name

LONGEST = 4000  # letters of an expression that is set as stated
SUM, DOT, PRODUCT, SIGN, POWER, ATOM = range(6)  # how tightly a written expression holds together
BACKSLASH = {"asin": r"\arcsin", "acos": r"\arccos", "atan": r"\arctan"}
BACKSLASH |= {name: f"\\{name}" for name in "sin cos tan sinh cosh tanh exp log min max".split()}
OTHERS = {name: rf"\operatorname{{{name}}}" for name in ("sign", "atan2")}


class Unwritten(ValueError):
    """Something that has no form here."""


def stated_latex(text: object) -> str:
    """An expression of a problem file as LaTeX, in the order in which it was written.

    >>> stated_latex("r - R"), stated_latex("m*dot(ddt(P2), ddt(P2))/2")
    ('r - R', '\\\\frac{m \\\\left(\\\\dot{P}_{2} \\\\cdot \\\\dot{P}_{2}\\\\right)}{2}')
    """
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        text = str(text)
    if not isinstance(text, str) or not 0 < len(text.strip()) <= LONGEST:
        raise Unwritten("no expression, or too long a one")
    try:
        return _set(ast.parse(f"({text.strip()})", mode="eval").body)[0]
    except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
        raise Unwritten(str(error)) from None


def _set(node: ast.expr) -> tuple[str, int]:
    """LaTeX, and how tightly it holds together."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        return _number(node), ATOM
    if isinstance(node, ast.Name):
        return (r"\pi" if node.id == "pi" else latex_name(node.id)), ATOM
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.attr}_{{{latex_name(node.value.id)}}}", ATOM
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        return f"{'-' if isinstance(node.op, ast.USub) else '+'} {_in(node.operand, PRODUCT)}", SIGN
    if isinstance(node, ast.BinOp):
        return _operation(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return _call(node.func.id, node.args)
    if isinstance(node, (ast.List, ast.Tuple)):
        return rf"\left({', '.join(_set(part)[0] for part in node.elts)}\right)", ATOM
    raise Unwritten(type(node).__name__)


def _number(node: ast.Constant) -> str:
    mantissa, _, power = f"{node.value!r}".partition("e")
    return rf"{mantissa} \cdot 10^{{{int(power)}}}" if power else mantissa


def _in(node: ast.expr, least: int) -> str:
    """In brackets where it holds together less tightly than its place asks for."""
    text, kind = _set(node)
    return text if kind >= least else _bracketed(text)


def _bracketed(text: str) -> str:
    return rf"\left({text}\right)"


def _operation(node: ast.BinOp) -> tuple[str, int]:
    left, right = node.left, node.right
    if isinstance(node.op, (ast.Add, ast.Sub)):
        sign = "+" if isinstance(node.op, ast.Add) else "-"
        behind = _set(right)
        tight = behind[1] in (DOT, PRODUCT, POWER, ATOM) or (sign == "+" and behind[1] == SUM)
        return f"{_set(left)[0]} {sign} {behind[0] if tight else _bracketed(behind[0])}", SUM
    if isinstance(node.op, ast.Mult):
        first, second = _in(left, PRODUCT), _in(right, POWER if _starts_with_sign(right) else PRODUCT)
        dot = r" \cdot " if second[:1].isdigit() else " "
        return f"{first}{dot}{second}", PRODUCT
    if isinstance(node.op, ast.Div):
        return rf"\frac{{{_set(left)[0]}}}{{{_set(right)[0]}}}", PRODUCT
    if isinstance(node.op, ast.Pow):
        return _power(left, right), POWER
    raise Unwritten(type(node.op).__name__)


def _starts_with_sign(node: ast.expr) -> bool:
    while isinstance(node, ast.BinOp):
        node = node.left
    return isinstance(node, ast.UnaryOp)


def _power(base: ast.expr, exponent: ast.expr) -> str:
    raised = _set(exponent)[0]
    if isinstance(base, ast.Call) and isinstance(base.func, ast.Name) and base.func.id in BACKSLASH:
        return rf"{BACKSLASH[base.func.id]}^{{{raised}}}\left({', '.join(_set(a)[0] for a in base.args)}\right)"
    below, kind = _set(base)
    fraction = isinstance(base, ast.BinOp) and isinstance(base.op, ast.Div)
    word = below.startswith((r"\mathrm", r"\dot{\mathrm")) or (kind == ATOM and r"\cdot" in below)
    plain = kind == ATOM and not word and not fraction
    return f"{below}^{{{raised}}}" if plain else rf"\left({below}\right)^{{{raised}}}"


def _call(name: str, args: list[ast.expr]) -> tuple[str, int]:
    if name in SPECIAL and len(args) == SPECIAL[name][0]:
        return SPECIAL[name][1](*args)
    word = BACKSLASH.get(name) or OTHERS.get(name) or latex_name(name)
    return rf"{word}\left({', '.join(_set(part)[0] for part in args)}\right)", ATOM


def _rate(part: ast.expr) -> tuple[str, int]:
    """ẋ for a letter, d/dt before anything else."""
    if isinstance(part, ast.Name):
        return latex_name(f"{part.id}_dot"), ATOM
    return rf"\frac{{d}}{{dt}} {_in(part, ATOM)}", PRODUCT


SPECIAL: dict[str, tuple[int, Callable[..., tuple[str, int]]]] = {
    "sqrt": (1, lambda part: (rf"\sqrt{{{_set(part)[0]}}}", ATOM)),
    "abs": (1, lambda part: (rf"\left|{_set(part)[0]}\right|", ATOM)),
    "ddt": (1, _rate),
    "dot": (2, lambda a, b: (rf"{_in(a, POWER)} \cdot {_in(b, POWER)}", DOT)),
    "cross": (2, lambda a, b: (rf"{_in(a, POWER)} \times {_in(b, POWER)}", DOT)),
}
