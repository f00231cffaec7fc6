"""Values that are affine in the state: exactly, in fractions; and what doubles add where code computes them.

    value = c₀ + Σ cᵢ xᵢ,        |computed − value| ≤ e₀ + Σ eᵢ |xᵢ|

Errors are fractions, too, rounded up to 64 bits: no double enters a bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from holdfast.stability.verifier.numbers.dag import MOST_BITS, Node, ordered
from holdfast.stability.verifier.reading.code import Code
from holdfast.stability.verifier.refusal import Refused, Unconfirmed

ROUNDED = Fraction(1, 2**51)  # of one operation, beside its result
LEAST = Fraction(1, 2**1000)  # far above what underflow takes from a result
ERROR_BITS = 64
Row = tuple[Fraction, ...]
NOT_AFFINE = "the step is not an affine map of its deviations, which alone is re-checked under noise"


@dataclass(frozen=True)
class Affine:
    """c and e for (1, x₁ … x_n)."""

    exact: Row
    error: Row

    @property
    def fixed(self) -> bool:
        """Whether neither the value nor its error depends on the state."""
        return not any(self.exact[1:]) and not any(self.error[1:])

    @property
    def reach(self) -> Row:
        """|c| + e: what the computed value may be, at most."""
        return tuple(abs(c) + e for c, e in zip(self.exact, self.error, strict=True))


def number(value: Fraction, size: int) -> Affine:
    """A number that is known exactly."""
    return Affine((Fraction(value), *[Fraction(0)] * size), (Fraction(0),) * (size + 1))


def variable(place: int, size: int) -> Affine:
    """x_place itself, exactly."""
    return Affine(tuple(Fraction(k == place + 1) for k in range(size + 1)), (Fraction(0),) * (size + 1))


def rounded_up(value: Fraction) -> Fraction:
    """A fraction of few digits, not below one that is not negative."""
    if not value:
        return value
    shift = ERROR_BITS - value.numerator.bit_length() + value.denominator.bit_length()
    scale = Fraction(2) ** shift
    return Fraction(-(-(value * scale) // 1)) / scale


def computed(exact: Sequence[Fraction], carried: Sequence[Fraction]) -> Affine:
    """The result of one operation in doubles whose operands bring these errors."""
    if any(max(c.numerator.bit_length(), c.denominator.bit_length()) > MOST_BITS for c in exact):
        raise Unconfirmed("the numbers of the step are too long to be re-checked")
    errors = [rounded_up(e + ROUNDED * (abs(c) + e)) for c, e in zip(exact, carried, strict=True)]
    return Affine(tuple(exact), (errors[0] + LEAST, *errors[1:]))


def plus(a: Affine, b: Affine, sign: int = 1) -> Affine:
    exact = [x + sign * y for x, y in zip(a.exact, b.exact, strict=True)]
    return computed(exact, [x + y for x, y in zip(a.error, b.error, strict=True)])


def times(a: Affine, b: Affine) -> Affine:
    """|âb̂ − ab| ≤ |a| e_b + e_a |b| + e_a e_b, for one factor that does not depend on the state."""
    if not a.fixed:
        a, b = b, a
    if not a.fixed:
        raise Unconfirmed(f"{NOT_AFFINE}: a product is not")
    factor, off = a.exact[0], a.error[0]
    carried = [abs(factor) * e + off * (abs(c) + e) for c, e in zip(b.exact, b.error, strict=True)]
    return computed([factor * c for c in b.exact], carried)


def over(a: Affine, b: Affine) -> Affine:
    """|â/b̂ − a/b| ≤ (e_a + |a/b| e_b)/(|b| − e_b), for a divisor that does not depend on the state."""
    if not b.fixed:
        raise Unconfirmed(f"{NOT_AFFINE}: a quotient is not")
    divisor, off = b.exact[0], b.error[0]
    if not abs(divisor) > off:
        raise Refused("the code divides by what may vanish")
    least = abs(divisor) - off
    carried = [(e + abs(c / divisor) * off) / least for c, e in zip(a.exact, a.error, strict=True)]
    return computed([c / divisor for c in a.exact], carried)


def raised(a: Affine, exponent: int) -> Affine:
    """A whole power by repeated squaring, lowest bit first, as it is run."""
    found: Affine | None = None
    while True:
        if exponent & 1:
            found = a if found is None else times(found, a)
        exponent >>= 1
        if not exponent:
            assert found is not None
            return found
        a = times(a, a)


def of_text(nodes: Sequence[Node], places: Mapping[str, int]) -> list[Row]:
    """Nodes of a problem as (c₀, c), in the states with these places; `Unconfirmed` where one is not affine in them."""
    size, known = len(places), dict[int, Affine]()
    for node in ordered(nodes):
        args = [known[arg.index] for arg in node.args]
        match node.op:
            case "const":
                assert isinstance(node.data, Fraction)
                known[node.index] = number(node.data, size)
            case "input":
                name = str(node.data)
                if name not in places:
                    raise Unconfirmed(f"{NOT_AFFINE}: it depends on {name}, which no deviation determines")
                known[node.index] = variable(places[name], size)
            case "add":
                known[node.index] = _exact(plus(args[0], args[1]))
            case "mul":
                known[node.index] = _exact(times(*args))
            case "div":
                known[node.index] = _exact(over(*args))
            case "power":
                known[node.index] = _exact(raised(args[0], int(str(node.data))))
            case _:
                raise Unconfirmed(f"{NOT_AFFINE}: it holds {node.op}")
    return [known[node.index].exact for node in nodes]


def _exact(value: Affine) -> Affine:
    """Values of a text have no error, whatever operations make them."""
    return Affine(value.exact, (Fraction(0),) * len(value.exact))


def of_code(
    code: Code, wanted: Sequence[int], places: Mapping[str, int], numbers: Mapping[str, float], reach: list[Fraction]
) -> list[Affine]:
    """Some places of the code, followed operation by operation; `reach` is raised to what any of them may be."""
    size, first = len(places), len(code.inputs)
    known: dict[int, Affine] = {}
    for place in sorted(needed(code, wanted)):
        if place < first:
            name = code.inputs[place]
            if name in numbers:
                known[place] = number(Fraction(numbers[name]), size)
            elif name in places:
                known[place] = variable(places[name], size)
            else:
                raise Unconfirmed(f"{NOT_AFFINE}: the code reads {name}, which no deviation determines")
        else:
            op, *args = code.operations[place - first]
            known[place] = _applied(op, args, known, size)
        reach[:] = map(max, reach, known[place].reach)
    return [known[place] for place in wanted]


def _applied(op: str, args: list[Any], known: Mapping[int, Affine], size: int) -> Affine:
    match op:
        case "const":
            exact = number(args[0], size)
            return exact if Fraction(float(args[0])) == args[0] else computed(exact.exact, exact.error)
        case "neg":
            a = known[args[0]]
            return Affine(tuple(-c for c in a.exact), a.error)
        case "add" | "sub":
            return plus(known[args[0]], known[args[1]], 1 if op == "add" else -1)
        case "mul":
            return times(known[args[0]], known[args[1]])
        case "div":
            return over(known[args[0]], known[args[1]])
        case "power":
            return raised(known[args[0]], args[1])
    raise Unconfirmed(f"{NOT_AFFINE}: the code has the operation {op!r}")


def needed(code: Code, wanted: Sequence[int]) -> set[int]:
    """The places on which some depend, with these."""
    found, waiting = set[int](), list(wanted)
    while waiting:
        place = waiting.pop()
        if place in found:
            continue
        found.add(place)
        if place >= len(code.inputs):
            op, *args = code.operations[place - len(code.inputs)]
            waiting += [] if op in ("const", "pi") else args[:1] if op in ("power", "table") else args
    return found
