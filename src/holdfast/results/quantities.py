"""Quantities of a run: any expression in states, accelerations, forces, deviations, energies, definitions and points.

    run["tip.x"]   run["x_ddot"]   run["dot(ddt(tip), ddt(tip))"]   run["m*g*y + lambda_rod**2"]   run[x**2 + y**2]

Texts are read by the parser of problem files, in the words of the problem and the names of the run; `ddt` is the rate
along the motion, accelerations included.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from holdfast.equations.dynamics.bodies.reactions import joint_reaction, reaction_names
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest, BadStatement, HoldfastError
from holdfast.graph.arithmetics.arrays import ARRAYS
from holdfast.graph.arithmetics.tape import Evaluator, Tape
from holdfast.graph.derivatives import directional
from holdfast.graph.nodes import Node
from holdfast.graph.walk import Walker
from holdfast.problem.text.expression import parse
from holdfast.problem.text.spelling import WORD
from holdfast.problem.vocabulary import RESULT, Vocabulary

LONGEST = 60  # characters of an expression that an error shows


def quantity(equations: Equations, given: Any) -> Evaluator:
    """An expression, or its text, as a function of times, states and constants in the order of the field's inputs."""
    key = given if isinstance(given, str) else sp.srepr(sp.sympify(given))
    return equations.memo.once((quantity, key), lambda: _evaluator(equations, given))


def along(
    equations: Equations, given: Any, times: np.ndarray, states: Sequence[np.ndarray], constants: Sequence[Any]
) -> np.ndarray:
    """A quantity at each row; `states` one array per component."""
    with np.errstate(all="ignore"):
        (found,) = quantity(equations, given)([times, *states, *constants])
    return np.broadcast_to(np.asarray(found, dtype=float), np.shape(times)).copy()


def _evaluator(equations: Equations, given: Any) -> Evaluator:
    return Tape(equations.field.inputs, (quantity_node(equations, given),)).compiled(ARRAYS)


def quantity_node(equations: Equations, given: Any, where: str = "") -> Node:
    """An expression, or its text, on the graph of the equations."""
    words, walker = _with_output(equations, given)
    shown = str(given)[:LONGEST]
    try:
        value = parse(given, words, equations.problem.system.points) if isinstance(given, str) else given
        if isinstance(value, (tuple, list)):
            fix = f"ask for a component, e.g. {shown}.x, or for dot({shown}, {shown})"
            raise BadRequest(f"{shown!r} is a vector", fix=fix)
        return walker(words.admit(value, RESULT, where=shown))
    except BadRequest:
        raise
    except (BadStatement, HoldfastError) as error:
        what = f"{shown!r} is no quantity of this run: {error.what}"
        raise BadRequest(what, where=where, fix=error.fix) from None


def check_output_names(equations: Equations) -> None:
    """Every quantity that the problem's `output` asks for can be computed, or it is an error where it stands.

    In phases, one that knows it is enough; that is seen when it is asked for.
    """
    if not equations.problem.phases:
        for name, expression in equations.problem.output.items():
            quantity_node(equations, expression, where=f"output.{name}")


def _with_output(equations: Equations, given: Any) -> tuple[Vocabulary, Walker]:
    """Words and walker, with those quantities of the problem's `output` that the expression speaks of."""
    output, walker = equations.problem.output, _walker(equations)
    used = WORD.findall(given) if isinstance(given, str) else [s.name for s in getattr(given, "free_symbols", ())]
    asked = [name for name in dict.fromkeys(used) if name in output and output[name] != given]
    passed = reaction_names(equations.problem.system)
    for joint in dict.fromkeys(passed[name] for name in used if name in passed):
        found = equations.memo.once((joint_reaction, joint), partial(joint_reaction, equations, joint))
        walker = walker.beside(found)
    if not asked:
        return _words(equations), walker
    nodes = {name: quantity_node(equations, output[name], where=f"output.{name}") for name in asked}
    return _words(equations).with_results(asked), walker.beside(nodes)


def _words(equations: Equations) -> Vocabulary:
    """The words of the problem, and the names of what a run shows."""
    names = (*equations.observables, *equations.deviations.states, *(f"{name}_ddot" for name in equations.coordinates))
    own = reaction_names(equations.problem.system)
    return equations.memo.once(_words, lambda: equations.problem.names.with_results((*names, *own)))


def _walker(equations: Equations) -> Walker:
    def made() -> Walker:
        inputs = equations.inputs
        moving = inputs.direction | dict(zip(inputs.v, equations.solution.accelerations, strict=True))
        named = {
            f"{name}_ddot": a for name, a in zip(equations.coordinates, equations.solution.accelerations, strict=True)
        }
        if equations.friction is not None:  # definitions that use multipliers, at those that were found
            given = list(equations.problem.system.definitions)
            named |= dict(zip(given, equations.friction.solved([inputs.walk.names[d] for d in given]), strict=True))
        return inputs.walk.beside(
            {**named, **equations.deviations.states, **equations.observables},
            rate=lambda node: directional([node], moving)[0],
        )

    return equations.memo.once(_walker, made)
