"""The quantities of mechanics as SymPy symbols that know their rates.

A coordinate ``x`` has the rate ``x.rate`` (named ``x_dot``) and the acceleration ``x.acceleration`` (``x_ddot``); a
deviation ``y_rod`` has the rate ``w_rod``. All of it follows from class and name, so no state is kept on a symbol and
copying, pickling and substitution work unaided.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection, Iterable
from functools import lru_cache, reduce
from typing import Any, ClassVar

import sympy as sp
from sympy.core.function import AppliedUndef

from holdfast.errors import BadExpression, BadStatement
from holdfast.problem.derivative import derivative

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,40}")
RESERVED_WORDS = frozenset({"t", "pi", "ddt", "dot", "cross"} | set(keyword.kwlist))
OTHER_WORDS = dict.fromkeys("dot velocity speed derivative".split(), "rate") | {"ddot": "acceleration"}
RESERVED_STARTS = ("lambda_", "y_", "w_", "R_", "law")
FUNCTIONS = (
    "sqrt exp log sin cos tan asin acos atan atan2 sinh cosh tanh abs sign min max".split()
)  # the functions of the problem file, in the order in which help lists them


MOST_SYMBOLS = 2**18  # kept at hand, some 300 bytes each: those of ten thousand links twice over
REAL: Any = sp.Symbol("real", real=True)  # what is assumed of a quantity


class NamedSymbol(sp.Symbol):
    """A symbol with a meaning: the parent of everything that can be named in a problem."""

    __slots__ = ()
    rank: ClassVar[int] = 0

    def __new__(cls, name: str, **assumptions: Any) -> NamedSymbol:
        if not assumptions and type(name) is str:
            kind: Any = cls
            return _plain_symbol(kind, name)
        assumptions.setdefault("real", True)
        return super().__new__(cls, name, **assumptions)

    @classmethod
    def class_key(cls) -> tuple[int, int, str]:
        """Parameters are printed before coordinates, and these before rates: m*g*x, not x*g*m."""
        return 2, cls.rank, "Symbol"

    def __xor__(self, other: Any) -> Any:
        raise BadExpression("'^' is not a power here", where=f"{self} ^ {other}", fix=f"write ** for powers: {self}**2")

    def __rxor__(self, other: Any) -> Any:
        raise BadExpression("'^' is not a power here", where=f"{other} ^ {self}", fix=f"write ** for powers: {self}**2")

    def _latex(self, printer: Any) -> str:
        return latex_name(self.name)

    def _pretty(self, printer: Any) -> Any:
        from sympy.printing.pretty.stringpict import prettyForm

        return prettyForm(pretty_name(self.name))


@lru_cache(maxsize=MOST_SYMBOLS)
def _plain_symbol(kind: Any, name: str) -> Any:
    """The symbol of a name of which nothing is assumed but that it is real (SymPy keeps a thousand at hand)."""
    made = sp.Expr.__new__(kind)
    made.name = name
    made._assumptions, made._assumptions_orig = REAL._assumptions, REAL._assumptions_orig
    made._assumptions0 = REAL._assumptions0
    return made


class Parameter(NamedSymbol):
    """A constant of the system whose value may be changed without deriving again."""

    __slots__ = ()
    rank = 0


class Coordinate(NamedSymbol):
    """A generalised coordinate q."""

    __slots__ = ()
    rank = 1

    def __getattr__(self, name: str) -> Any:
        """Other words for the rate and the acceleration are answered with ours."""
        ours = OTHER_WORDS.get(name)
        hint = f"; write {self.name}.{ours}" if ours else ""
        raise AttributeError(f"a coordinate has no {name!r}{hint}")

    @property
    def rate(self) -> Rate:
        return Rate(f"{self.name}_dot")

    @property
    def acceleration(self) -> Acceleration:
        return Acceleration(f"{self.name}_ddot")


class Rate(NamedSymbol):
    """The time derivative v of a coordinate."""

    __slots__ = ()
    rank = 2

    @property
    def coordinate(self) -> Coordinate:
        return Coordinate(self.name.removesuffix("_dot"))

    @property
    def rate(self) -> Acceleration:
        return self.coordinate.acceleration


class Acceleration(NamedSymbol):
    """The second time derivative a of a coordinate."""

    __slots__ = ()
    rank = 3

    @property
    def coordinate(self) -> Coordinate:
        return Coordinate(self.name.removesuffix("_ddot"))


class Momentum(NamedSymbol):
    """The generalised momentum p = ∂T/∂v of a coordinate, in the canonical form."""

    __slots__ = ()
    rank = 2


class State(NamedSymbol):
    """A first-order state: a quantity whose rate is stated, such as a mass that burns away."""

    __slots__ = ()
    rank = 1


class Control(NamedSymbol):
    """The value of a control of the program, as the rate of a first-order state may use it (fuel that thrust burns)."""

    __slots__ = ()
    rank = 2


class Deviation(NamedSymbol):
    """The deviation of a constraint as laws see it: y for its value (holonomic only), ``.rate`` for w."""

    __slots__ = ()
    rank = 1

    def __new__(cls, name: str, **assumptions: Any) -> Deviation:
        return super().__new__(cls, name if name.startswith("y_") else f"y_{name}", **assumptions)

    @property
    def constraint(self) -> str:
        return self.name.removeprefix("y_")

    @property
    def rate(self) -> DeviationRate:
        return DeviationRate(f"w_{self.constraint}")


class DeviationRate(NamedSymbol):
    """The rate w of a deviation: what a constraint's value does in time, or a nonholonomic function itself."""

    __slots__ = ()
    rank = 2

    @property
    def constraint(self) -> str:
        return self.name.removeprefix("w_")


class Multiplier(NamedSymbol):
    """The multiplier of a constraint that its reaction holds, as forces and losses may use it (friction)."""

    __slots__ = ()
    rank = 2

    def __new__(cls, name: str, **assumptions: Any) -> Multiplier:
        return super().__new__(cls, name if name.startswith("lambda_") else f"lambda_{name}", **assumptions)

    @property
    def constraint(self) -> str:
        return self.name.removeprefix("lambda_")


def deviation_chain(constraint: str, holonomic: bool, degree: int) -> tuple[str, ...]:
    """The names of a deviation and its rates, `degree` of them: y, w = y', w2 = y'', ...; w, w2, ... without a y."""
    rates = (f"w{k if k > 1 else ''}_{constraint}" for k in range(1, degree + 1 - holonomic))
    return (*((f"y_{constraint}",) if holonomic else ()), *rates)


class Definition(NamedSymbol):
    """A named helper expression, stated once and shared wherever it is used."""

    __slots__ = ()
    rank = 1


class Result(NamedSymbol):
    """Something that a run shows beside its state: a multiplier, a control, a deviation, an energy."""

    __slots__ = ()
    rank = 3


class Time(NamedSymbol):
    __slots__ = ()
    rank = 0


time = Time("t")


class RateOf(sp.Function):
    """The total time derivative of its argument, taken later on the graph (written ``ddt(...)`` in files)."""

    nargs = (1,)

    def _sympystr(self, printer: Any) -> str:
        return f"ddt({printer._print(self.args[0])})"

    def _latex(self, printer: Any) -> str:
        return r"\frac{d}{dt}\left(" + printer._print(self.args[0]) + r"\right)"


def _symbols(kind: type[NamedSymbol], names: tuple[str | Iterable[str], ...], assumptions: dict[str, Any]) -> Any:
    given: Any = names[0] if len(names) == 1 else names
    if isinstance(given, str):
        listed = given.replace(",", " ").split()
        single = len(listed) == 1 and "," not in given
    else:
        listed, single = list(given) if isinstance(given, Iterable) else [given], False
    wrong = [name for name in listed if not isinstance(name, str)]
    if wrong or not listed:
        what = f"{wrong[0]!r} is not a name" if wrong else "no name was given"
        raise BadStatement(what, fix='write the names in one string, e.g. hf.coordinates("x phi")')
    for name in listed:
        check_name(name)
    made = tuple(kind(name, **assumptions) for name in listed)
    return made[0] if single else made


def coordinates(*names: str | Iterable[str]) -> Any:
    """Generalised coordinates by name: one symbol for one name, a tuple for several, as in `sympy.symbols`."""
    return _symbols(Coordinate, names, {})


def parameters(*names: str | Iterable[str], **assumptions: Any) -> Any:
    """Parameters by name; assumptions such as ``positive=True`` help SymPy simplify what you write."""
    return _symbols(Parameter, names, assumptions)


def states(*names: str | Iterable[str]) -> Any:
    """First-order states by name, for `System(states={s: its rate})`."""
    return _symbols(State, names, {})


def controls(*names: str | Iterable[str]) -> Any:
    """The values of controls by the controls' names, for the rates of states: mdot = -sqrt(P2**2 + P3**2)/c."""
    return _symbols(Control, names, {})


def deviations(*names: str | Iterable[str]) -> Any:
    """The deviations y of constraints by the constraints' names, for writing laws; ``y.rate`` is w."""
    return _symbols(Deviation, names, {})


def multipliers(*names: str | Iterable[str]) -> Any:
    """The multipliers λ of constraints by the constraints' names, for friction in `forces` and `dissipation`.

    >>> N = multipliers("wire")  # forces={s: -mu*abs(N)*s.rate/sqrt(s.rate**2 + v0**2)}
    >>> N.name
    'lambda_wire'
    """
    return _symbols(Multiplier, names, {})


def check_name(name: str, *, where: str = "") -> None:
    """A name is an identifier of at most 41 letters that no part of the product already uses."""
    if not NAME.fullmatch(name):
        raise BadStatement(
            f"{name!r} is not a name",
            where=where,
            fix="use letters, digits and _ (at most 41), beginning with a letter",
        )
    if name in RESERVED_WORDS or name in FUNCTIONS:
        raise BadStatement(f"the name {name!r} is taken", where=where, fix=f"call it something else, e.g. {name}0")
    if name.endswith("dot"):
        raise BadStatement(
            f"the name {name!r} ends in 'dot', which is kept for rates", where=where, fix="choose another name"
        )
    for start in RESERVED_STARTS:
        if name.startswith(start):
            raise BadStatement(
                f"the name {name!r} starts with {start!r}, which is kept for results",
                where=where,
                fix="choose another name",
            )


def rate(expression: Any) -> Any:
    """The total time derivative of an expression in coordinates, their rates and time.

        d/dt e = Σ ∂e/∂q q' + Σ ∂e/∂q' q'' + ∂e/∂t

    Expressions with abs, sign, min, max, first-order states or definitions keep the derivative unevaluated; it is then
    taken on the graph.
    """
    if isinstance(expression, sp.MatrixBase):
        return expression.applyfunc(rate)
    if isinstance(expression, (list, tuple)):
        return type(expression)(rate(part) for part in expression)
    expression = sp.sympify(expression) if isinstance(expression, (int, float)) else expression
    if not isinstance(expression, sp.Expr):
        raise BadExpression(f"rate() cannot differentiate {type(expression).__name__}", fix="give a SymPy expression")
    if expression.has(sp.Abs, sp.sign, sp.Min, sp.Max, sp.Heaviside, RateOf, Definition, State, Result):
        return RateOf(expression)
    return derivative(expression, _rate_of)


def _rate_of(symbol: sp.Symbol) -> sp.Expr:
    if isinstance(symbol, (Coordinate, Rate)):
        return symbol.rate
    if isinstance(symbol, (Acceleration, Deviation, DeviationRate)):
        raise BadExpression(
            f"rate() does not know the rate of {symbol.name}", fix="differentiate coordinates and rates only"
        )
    return sp.S.One if symbol == time else sp.S.Zero


GREEK = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi "
    "omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega".split()
)


def plain_symbols(expression: sp.Expr, known: Collection[str]) -> sp.Expr:
    """An expression as SymPy's mechanics writes it, x(t) and Derivative(x(t), t), in our symbols, by known names."""
    functions = {f: Coordinate(f.func.__name__) for f in expression.atoms(AppliedUndef) if _of_time(f, known)}
    rates = {}
    for part in expression.atoms(sp.Derivative):
        inner = part.expr.xreplace(functions)
        if all(str(variable) == time.name for variable in part.variables):
            rates[part] = reduce(lambda e, _: rate(e), part.variables, inner)
    return expression.xreplace(rates).xreplace(functions) if rates or functions else expression


def _of_time(function: AppliedUndef, known: Collection[str]) -> bool:
    return [str(arg) for arg in function.args] == [time.name] and function.func.__name__ in known


SPUN = re.compile(r"(\w+)_turn_([xyz])")


def latex_name(name: str) -> str:
    """A name as LaTeX: Greek words become letters, digits and parts after _ become a subscript, rates carry dots.

    >>> latex_name("phi_dot"), latex_name("m1"), latex_name("lambda_rod")
    ('\\\\dot{\\\\varphi}', 'm_{1}', '\\\\lambda_{\\\\mathrm{rod}}')
    """
    for ending, accent in (("_ddot", r"\ddot"), ("_dot", r"\dot")):
        if name.endswith(ending):
            if spin := SPUN.fullmatch(name.removesuffix(ending)):  # the rates of a ball joint are a spin
                turning = latex_name(f"omega_{spin[1]}_{spin[2]}")
                return turning.replace(r"\omega", r"\dot{\omega}", 1) if ending == "_ddot" else turning
            stem, _, subscript = latex_name(name.removesuffix(ending)).partition("_")
            return f"{accent}{{{stem}}}" + (f"_{subscript}" if subscript else "")
    stem, *rest = name.split("_")
    letters = re.fullmatch(r"([A-Za-z]+?)([0-9]+)", stem)
    if letters:
        stem, rest = letters[1], [letters[2], *rest]
    head = _latex_word(stem)
    if not rest:
        return head
    subscript = r"\,".join(_latex_word(part) for part in rest if part)
    return f"{head}_{{{subscript}}}"


def _latex_word(word: str) -> str:
    if word in GREEK:
        return {"phi": r"\varphi", "epsilon": r"\varepsilon"}.get(word, "\\" + word)
    if len(word) == 1 or word.isdigit():
        return word
    return rf"\mathrm{{{word}}}"


def pretty_name(name: str) -> str:
    """A name for the terminal: a rate is written with primes, ``phi'`` and ``phi''``."""
    if name.endswith("_ddot"):
        return name.removesuffix("_ddot") + "''"
    if name.endswith("_dot"):
        return name.removesuffix("_dot") + "'"
    return name
