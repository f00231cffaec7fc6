"""The equations linearised along a run: A(t), B(t), C(t) and D(t) at its rows, or at given times.

    δx' = A(t) δx + B(t) δu,      δy = C(t) δx + D(t) δu

One pass over all rows, of the same derivatives as at one state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from holdfast.equations.forms.linearised import Linearisation, LinearisedField
from holdfast.errors import BadRequest
from holdfast.graph.arithmetics.arrays import ARRAYS
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.nodes import Node

Array = np.ndarray


@runtime_checkable
class RunLike(Protocol):
    """What is asked of a run: its rows, states between them, and the values it was made with."""

    @property
    def times(self) -> Array: ...

    @property
    def y(self) -> Array: ...

    @property
    def parameters(self) -> Mapping[str, float]: ...

    @property
    def state_names(self) -> tuple[str, ...]: ...

    def sol(self, times: Any) -> Array: ...


@dataclass(frozen=True, eq=False, repr=False)
class LinearisationAlongRun:
    """Matrices by time: `A` is (times, states, states), and so on; ``found[k]`` is the `Linearisation` at the k-th."""

    times: Array
    A: Array
    B: Array
    C: Array
    D: Array
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    state: Array
    input_values: Array
    rates: Array
    values: Array

    def __len__(self) -> int:
        return len(self.times)

    def __getitem__(self, k: int) -> Linearisation:
        return Linearisation(
            self.A[k], self.B[k], self.C[k], self.D[k], self.states, self.inputs, self.outputs, self.state[k],
            self.input_values[k], float(self.times[k]), self.rates[k], self.values[k],
        )  # fmt: skip

    def __iter__(self) -> Iterator[Linearisation]:
        return (self[k] for k in range(len(self)))

    @property
    def roots(self) -> Array:
        """The eigenvalues of each A, (times, states), those that grow fastest first.

        Of a motion that is not at rest they tell growth at an instant, and promise nothing over a time.
        """
        return np.array([one.roots for one in self])

    def to_control(self) -> list[Any]:
        """A `control.StateSpace` of python-control for each time."""
        return [one.to_control() for one in self]

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        names = {"states": list(self.states), "inputs": list(self.inputs), "outputs": list(self.outputs)}
        matrices = {name: getattr(self, name).tolist() for name in "ABCD"}
        return {"schema": 1, **names, "times": self.times.tolist(), **matrices}

    def summary(self) -> str:
        """In words: sizes, times, and the root that grows fastest."""
        sizes = f"{len(self.states)} states, {len(self.inputs)} inputs, {len(self.outputs)} outputs"
        head = f"{sizes}, at {len(self)} times from {self.times[0]:g} to {self.times[-1]:g}\n"
        if not self.states:
            return head
        largest = self.roots[:, 0]
        k = int(largest.real.argmax())
        return head + f"largest real part of a root: {largest[k].real:.6g}, at t = {self.times[k]:g}\n"

    def __repr__(self) -> str:
        return f"<LinearisationAlongRun: {len(self)} times, {len(self.states)} states, {len(self.inputs)} inputs>"


def along_run(
    field: LinearisedField, run: RunLike, times: Any, outputs: Any, given: Mapping[str, float], parameters: Any
) -> LinearisationAlongRun:
    """The linearisation at the rows of a run, or at times within it."""
    if parameters:
        raise BadRequest(
            "a run has the parameters it was made with", where="linearise(parameters=...)", fix="make another run"
        )
    equations = field.equations
    if hasattr(run, "parts"):
        raise BadRequest(
            "the run was joined of several", where="linearise(at=run)", fix="take one of them, with its own equations"
        )
    missing = [name for name in equations.parameter_names if name not in run.parameters]
    if tuple(run.state_names) != equations.state_names or missing:
        raise BadRequest("the run is one of other equations", where="linearise(at=run)", fix="give its own")
    moments, rows = np.asarray(run.times, float), np.asarray(run.y, float).T
    if times is not None:
        moments = np.atleast_1d(np.asarray(times, dtype=float))
        rows = np.asarray(run.sol(moments)).T
    constants = [float(run.parameters[name]) for name in equations.parameter_names]
    shown, nodes = field.nodes(outputs)
    controls = _controls(field, moments, rows, constants, given)
    found = _evaluated(
        (*equations.field.inputs, *field.u.values()), nodes, [moments, *rows.T, *constants, *controls.values()]
    )
    parts = field.parts(found, len(shown))
    if not all(np.isfinite(parts[k]).all() for k in (0, 2)):
        bad = moments[~np.isfinite(parts[2]).all(axis=(1, 2)) | ~np.isfinite(parts[0]).all(axis=1)]
        raise BadRequest(
            f"the equations are not defined at t = {bad[0]:g}", where="linearise(at=run)", fix="times before it"
        )
    rates, values, A, B, C, D = parts
    named = dict(zip(equations.parameter_names, constants, strict=True))
    point = [np.broadcast_to(controls.get(name, named.get(name, np.nan)), moments.shape) for name in field.names]
    size = len(field.states)
    return LinearisationAlongRun(
        moments, A, B, C, D, field.states, field.names, shown, rows[:, :size],
        np.array(point).reshape(len(field.names), len(moments)).T, rates, values,
    )  # fmt: skip


def _controls(
    field: LinearisedField, times: Array, rows: Array, constants: Sequence[float], given: Mapping[str, float]
) -> dict[str, Any]:
    """The controls along the run: given, or those that hold the program there."""
    if not field.u:
        return {}
    if not set(field.u) <= set(given):
        field.equations.require_unsampled("linearise along a run")
    nodes = tuple(field.equations.controls_nodes[name] for name in field.u)
    found = _evaluated(field.equations.field.inputs, nodes, [times, *rows.T, *constants])
    return {name: given.get(name, found[:, k]) for k, name in enumerate(field.u)}


def _evaluated(inputs: tuple[Node, ...], nodes: Sequence[Node], numbers: Sequence[Any]) -> Array:
    """Nodes at all rows, (rows, nodes)."""
    rows = len(numbers[0])
    with np.errstate(all="ignore"):
        found = Tape(inputs, tuple(nodes)).compiled(ARRAYS)(list(numbers))
    return np.array([np.broadcast_to(x, rows) for x in found], dtype=float).reshape(len(nodes), rows).T
