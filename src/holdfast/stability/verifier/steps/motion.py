"""The motion of one block over a batch of cells: rates and deviations as forms.

A block whose constraints are affine, y = J q + e(t) with a constant J, moves by itself in X = (J q, J v, z): z are the
states that a controller adds, one for each further rate,

    ψ = X + (e(t), e'(t), 0),     X' = H ψ − (e'(t), γ(t), 0)

and a Runge-Kutta step is linear in ψ, so that the defect is that of e(t) alone: it is taken on the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from holdfast.stability.verifier.numbers.dag import Node, inputs_of
from holdfast.stability.verifier.numbers.evaluate import Forms, times
from holdfast.stability.verifier.numbers.forms import Form, Space
from holdfast.stability.verifier.reading.equations import Equations
from holdfast.stability.verifier.refusal import Unconfirmed
from holdfast.stability.verifier.steps.friction import UNKNOWN
from holdfast.stability.verifier.steps.unknowns import System, solved

Values = Mapping[str, Form]


class WholeMotion:
    """dx/dt of all states that matter for a block, or are asked for, with accelerations by Krawczyk's operator."""

    def __init__(self, equations: Equations, names: list[str], more: Iterable[str] = ()) -> None:
        self.equations, self.names = equations, names
        stated = equations.stated
        solved_already = equations.solved
        self._unknown = {} if solved_already else {f"{name}_dot": k for k, name in enumerate(stated.coordinates)}
        self._system = None if solved_already else System(equations)
        needed = self._closure({*more, *inputs_of([equations.psi[name] for name in names])})
        self.states = [name for name in stated.state_names if name in needed]
        self.variables = [name for name in equations.inputs if name in needed]
        unknown = [self._unknown[name] for name in self.states if name in self._unknown]
        self.parts = self.system.needed(unknown) if unknown else []
        if self.parts:
            self.system.nodes(self.parts)

    @property
    def system(self) -> System:
        assert self._system is not None
        return self._system

    def _closure(self, found: set[str]) -> set[str]:
        """The inputs on which deviations depend, now or after a while."""
        equations, waiting = self.equations, list(found)
        while waiting:
            name = waiting.pop()
            if name in self._unknown:
                nodes = self.system.nodes(self.system.needed([self._unknown[name]]))
                new = {word for word in inputs_of(nodes) if not word.startswith(UNKNOWN)}
            elif name in equations.state_rates:
                new = inputs_of([equations.state_rates[name]])
            elif name.startswith("control "):
                raise Unconfirmed(f"a state that the {name} drives moves its deviations, which is not re-checked")
            else:
                new = {f"{name}_dot"} if name != "t" else set()
            waiting += list(new - found)
            found |= new
        return found

    def rates(self, space: Space, cells: int, values: Values) -> dict[str, Form]:
        forms = Forms(space, cells, values)
        unknowns = solved(self.system, self.parts, forms) if self.parts else {}
        found = {}
        for name in self.states:
            if name in self._unknown:
                found[name] = unknowns[self._unknown[name]]
            elif name in self.equations.state_rates:
                (found[name],) = forms.of([self.equations.state_rates[name]])
            else:
                found[name] = values[f"{name}_dot"]
        return found

    def psi(self, space: Space, cells: int, values: Values) -> list[Form]:
        return Forms(space, cells, values).of([self.equations.psi[name] for name in self.names])

    def begin(self, space: Space, cells: int, values: Values) -> dict[str, Form]:
        return dict(values)


class AffineMotion:
    """The reduced motion of an affine block."""

    def __init__(
        self,
        equations: Equations,
        names: list[str],
        matrix: list[list[Fraction]],
        data: Mapping[Node, Node] | None = None,
    ) -> None:
        """`data`: what takes the place of each that is read, a polynomial of time."""
        self.equations, self.names, self.matrix = equations, names, matrix
        dag = equations.dag
        still = {dag.input(name): dag.zero for name in equations.stated.state_names} | dict(data or {})
        self._psi: list[Node] = dag.substituted([equations.of_time(name)[0] for name in names], still)
        self._rise: list[Node] = dag.substituted([equations.of_time(name)[1] for name in names], still)
        self._next = [self._alone(i) for i in range(len(names))]
        self.states = list(names)
        self.variables = ["t"] if "t" in inputs_of([*self._psi, *self._rise]) else []

    def _alone(self, i: int) -> str | None:
        """The X that is the rate of another, where that is all: ψ of the one less e' of the other."""
        followed = [j for j, entry in enumerate(self.matrix[i]) if entry]
        if len(followed) != 1 or self.matrix[i][followed[0]] != 1 or self._psi[followed[0]] is not self._rise[i]:
            return None
        return self.names[followed[0]]

    def psi(self, space: Space, cells: int, values: Values) -> list[Form]:
        own = Forms(space, cells, values).of(self._psi)
        return [values[name] + form for name, form in zip(self.names, own, strict=True)]

    def rates(self, space: Space, cells: int, values: Values) -> dict[str, Form]:
        psi, rise = self.psi(space, cells, values), Forms(space, cells, values).of(self._rise)
        found = {}
        for i, (name, following) in enumerate(zip(self.names, self._next, strict=True)):
            if following is not None:
                found[name] = values[following]
                continue
            total = -rise[i]
            for entry, form in zip(self.matrix[i], psi, strict=True):
                if entry:
                    product = times(entry, form)
                    assert isinstance(product, Form)
                    total = total + product
            found[name] = total
        return found

    def begin(self, space: Space, cells: int, values: Values) -> dict[str, Form]:
        """On the program, ψ = 0: X = −(e(t), e'(t), 0)."""
        own = Forms(space, cells, values).of(self._psi)
        return {**values, **{name: -form for name, form in zip(self.names, own, strict=True)}}
