"""One step from the states of a tube's cells: its coefficient c, with what each solution leaves carried as symbols.

ψ(Φ_τ(x)) has the Taylor coefficient c_(p+1)(ξ), ξ ∈ [0, step]:   τ = ξ + s, ξ one more direction of the cell
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from holdfast.stability.verifier.numbers.evaluate import Forms, times
from holdfast.stability.verifier.numbers.forms import GROWTH, Array, Form, combination
from holdfast.stability.verifier.reading.equations import Equations
from holdfast.stability.verifier.refusal import Unconfirmed
from holdfast.stability.verifier.schemes import Tableau
from holdfast.stability.verifier.steps.friction import UNKNOWN
from holdfast.stability.verifier.steps.motion import WholeMotion
from holdfast.stability.verifier.steps.step import after
from holdfast.stability.verifier.steps.unknowns import Part
from holdfast.stability.verifier.tube.cells import TubeCells
from holdfast.stability.verifier.tube.friction import left_by_newton, solved_with_friction
from holdfast.stability.verifier.tube.solving import lessened, solved
from holdfast.stability.verifier.tube.space import LONG, SymbolSpace, TubeSpace

Lost = dict[int, Array]  # of unknowns by their columns: a bound a cell
ACROSS = 0.02  # of what is left over a whole cell: so much is laid to each state, until cell and step are short


class TubeMotion(WholeMotion):
    """Rates of all that matters, with symbols for what solving leaves: a new set of them at each call."""

    def __init__(self, equations: Equations, names: list[str], more: Iterable[str] = ()) -> None:
        super().__init__(equations, names, more)
        self._eliminated = [name for name in self.states if equations.solved and not self._plain(name)]
        self.rows = sum(len(part.rows) for part in self.parts) + len(self._eliminated)
        self._next = 0

    def _plain(self, name: str) -> bool:
        """Whether a rate is an input itself."""
        return self.equations.state_rates[name].op in ("input", "const")

    def begin_step(self) -> None:
        self._next = 0

    def rates(self, space: SymbolSpace, cells: int, values: Mapping[str, Form]) -> dict[str, Form]:  # type: ignore[override]
        return self.both(space, cells, values)[0]

    @property
    def unknown_of(self) -> dict[str, int]:
        """Of a state whose rate is an unknown of the system: which one."""
        return self._unknown

    def both(
        self, space: SymbolSpace, cells: int, values: Mapping[str, Form]
    ) -> tuple[dict[str, Form], dict[int, Form]]:
        """Rates by their states, and the unknowns of the system by their columns."""
        forms = Forms(space, cells, values)
        unknowns = self._solved(space, forms)
        found = {}
        for name in self.states:
            if name in self._unknown:
                found[name] = unknowns[self._unknown[name]]
            elif name in self.equations.state_rates:
                (found[name],) = forms.of([self.equations.state_rates[name]])
            else:
                found[name] = values[f"{name}_dot"]
        for name in self._eliminated:
            found[name] = _as_symbols(found[name], space, space.first_symbol + self._next * space.terms)
            self._next += 1
        return found, unknowns

    def _solved(self, space: SymbolSpace, forms: Forms) -> dict[int, Form]:
        found: dict[int, Form] = {}
        if not self.parts:
            return found
        for part in self.parts:
            matrix, known, less = self._rows_of(part, forms, found)
            first = space.first_symbol + self._next * space.terms
            if self.system.bends(part):
                z = solved_with_friction(self.system, part, matrix, known, less, first)
            else:
                z = solved(matrix, lessened(known.of([self.system.right[i] for i in part.rows]), less), space, first)
            found |= dict(zip(part.columns, z, strict=True))
            self._next += len(part.rows)
        return found

    def _rows_of(
        self, part: Part, forms: Forms, found: Mapping[int, Form]
    ) -> tuple[list[list[Form | Fraction]], Forms, dict[int, Form]]:
        """The matrix of a part, forms that know the unknowns before it, and what these take of each row."""
        system = self.system
        matrix = [forms.raw([system.matrix[i][j] for j in part.columns]) for i in part.rows]
        less: dict[int, Form] = {}
        for k, i in enumerate(part.rows):
            for j, value in found.items():
                if system.matrix[i][j] is not self.equations.dag.zero:
                    (entry,) = forms.raw([system.matrix[i][j]])
                    product = times(entry, value)
                    assert isinstance(product, Form)
                    less[k] = product if k not in less else less[k] + product
        if not system.slopes:
            return matrix, forms, less
        more = {f"{UNKNOWN}{j}": form for j, form in found.items()}
        return matrix, forms.beside(more, [system.right[i] for i in part.rows]), less

    def left(self, space: SymbolSpace, cells: int, values: Mapping[str, Form], unknowns: Mapping[int, Form]) -> Lost:
        """How far the unknowns of the code are from those of the motion, where it finds reactions by Newton's steps."""
        lost: Lost = {}
        found: dict[int, Form] = {}
        forms = Forms(space, cells, values)
        for part in self.parts if self.parts and self.system.slopes else ():
            matrix, known, less = self._rows_of(part, forms, found)
            self._require_at_once(part, lost)
            if self.system.bends(part):
                off = left_by_newton(self.system, part, matrix, known, less, unknowns)
                lost |= dict(zip(part.columns, off.T, strict=True))
            found |= {j: unknowns[j] for j in part.columns}
        return lost

    def _require_at_once(self, part: Part, lost: Lost) -> None:
        """Reactions that forces bend with are found together, and decide nothing after them."""
        system = self.system
        later = any(system.pattern[i][j] for i in part.rows for j in lost)
        earlier = any(i in part.rows and j not in part.columns for i, j in system.slopes)
        if later or (earlier and system.bends(part)):
            raise Unconfirmed("forces bend with reactions that are found one after the other, which is not re-checked")


def _as_symbols(form: Form, space: SymbolSpace, first: int) -> Form:
    """The form with a symbol for each power in the place of its remainder: later stages carry it on as one number."""
    usable = np.isfinite(form.r).all(axis=1)
    c = form.c.copy()
    for k in range(space.terms):
        c[:, first + k, k] = np.where(usable, form.r[:, k], 0.0)
    return Form(space, c, np.where(usable[:, None], 0.0, np.inf))


class TubeStep:
    """Lᵀc of several blocks over parts of cells."""

    def __init__(
        self, equations: Equations, blocks: Sequence[list[str]], tableau: Tableau, step: float, across: int = 0
    ) -> None:
        """`across`: directions of the cells beside those of time and states."""
        self.blocks, self.tableau, self.step = blocks, tableau, step
        self.names = [name for block in blocks for name in block]
        self.motion = TubeMotion(equations, self.names)
        self.used = [name for name in self.motion.variables if name != "t"]
        self.terms = tableau.order + 2
        symbols = len(tableau.weights) * self.motion.rows * self.terms
        self.space = TubeSpace(len(self.used) + across, symbols, self.terms)

    def coefficients(self, cells: TubeCells) -> list[Form]:
        """The coefficient of s^(p+1) of every deviation after the step."""
        space, count = self.space, len(cells)
        self.motion.begin_step()
        low, high = cells.low[:, 1], cells.high[:, 1]
        tau = Form.constant(space, self.step * (low + high) / 2, np.full(count, self.step * 2.0**-50))
        tau.c[:, space.long(0, 1), 0], tau.c[:, 0, 1] = self.step * (high - low) / 2 * GROWTH, 1.0
        with np.errstate(all="ignore"):
            forms = after(self.motion, self.tableau, tau, cells.values(space, self.used))
        return [_alone(form, self.tableau.order + 1) for form in forms]

    def judged(self, cells: TubeCells, factors: Sequence[Array]) -> tuple[Array, Array]:
        """Bounds of ‖Lᵀc‖ for each block (blocks, cells), and how much s and each state add to the worst: shares."""
        forms, bounds, first = self.coefficients(cells), [], 0
        shares = np.zeros_like(cells.low)
        for names, factor in zip(self.blocks, factors, strict=True):
            own = forms[first : first + len(names)]
            first += len(names)
            turned = combination(np.broadcast_to(factor.T, (len(cells), *factor.shape)), own)
            sizes = np.array([form.bound()[:, 0] for form in turned])
            found = np.sqrt((sizes**2).sum(axis=0)) * (1 + 1e-12)
            bounds.append(np.where(np.isnan(found), np.inf, found))
            shares += sum(self._shares(form, cells) for form in turned)
        return np.array(bounds), shares

    def _shares(self, form: Form, cells: TubeCells) -> Array:
        """How much each variable moves a form; what is left is laid to the cell and to the step first."""
        size, space = np.abs(form.c[:, :, 0]), self.space
        found = np.zeros_like(cells.low)
        for place, (a, b) in enumerate(LONG):
            found[:, 0] += size[:, place] * (a > 0)
            found[:, 1] += size[:, place] * (b > 0)
        columns = [2 + cells.names.index(name) for name in self.used]
        columns += [found.shape[1] - 1] * cells.across
        for k, column in enumerate(columns):
            with_time, with_step = size[:, space.across(k, 0)], size[:, space.across(k, 1)]
            found[:, column] = size[:, space.across(k)] + with_time + with_step
            found[:, 0] += with_time
            found[:, 1] += with_step
        for k, (i, j) in enumerate(space.squares):
            for one in {i, j}:
                found[:, columns[one]] += size[:, space.square(k)]
        left = size[:, space.first_symbol :].sum(axis=1) + form.r[:, 0]
        spread = cells.high - cells.low
        used = [0, 1, *columns]
        spread[:, 2:] *= ACROSS
        found[:, used] += (left / spread[:, used].sum(axis=1))[:, None] * spread[:, used]
        return np.nan_to_num(found, posinf=0.0)


def _alone(form: Form, power: int) -> Form:
    c, r = np.zeros_like(form.c), np.zeros_like(form.r)
    c[:, :, 0], r[:, 0] = form.c[:, :, power], form.r[:, power]
    return Form(form.space, c, r)
