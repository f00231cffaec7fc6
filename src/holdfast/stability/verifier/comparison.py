"""The problem of a certificate against the one that is meant: the same statement, with the same numbers?"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np

from holdfast.stability.verifier.numbers.dag import Node, inputs_of
from holdfast.stability.verifier.numbers.evaluate import ball_values
from holdfast.stability.verifier.reading.file import Claims
from holdfast.stability.verifier.reading.law import Law
from holdfast.stability.verifier.reading.statement import Statement, statement
from holdfast.stability.verifier.refusal import Refused, require, understood

OF_EACH = 24  # points of each kind at which two statements are compared


def doubles(nodes: Mapping[str, Node], stated: Statement) -> dict[str, float]:
    """The double nearest to each number of the text; those that use parameters take theirs first."""
    import flint

    before, flint.ctx.prec = flint.ctx.prec, 200
    try:
        values = {name: ball_values([node], {})[0] for name, node in stated.parameters.items()}
        exact = {name: flint.arb(_double(value, name)) for name, value in values.items()}
        return {name: _double(ball_values([node], exact)[0], name) for name, node in nodes.items()}
    except KeyError as error:
        raise Refused(f"a parameter of the problem depends on {error}") from None
    finally:
        flint.ctx.prec = before


def _double(ball: Any, name: str) -> float:
    number = float(ball.mid())
    require(isfinite(number) and float(ball.rad()) <= 1e-30 * abs(number) + 1e-300, f"{name} is no number")
    return number


def same_problem(claims: Claims, text: str) -> list[str]:
    """In what the problem of a certificate differs from the one that is meant, as mathematics."""
    own, meant = understood(statement, claims.problem), understood(statement, text)
    for name in claims.widened:  # a parameter of the problem, of which the certificate speaks for a whole range
        if name in meant.parameters:
            value = doubles({name: meant.parameters[name]}, meant)[name]
            ranges = [block.proof.region.get(name) for block in claims.blocks if block.proof is not None]
            here = dict(zip(own.state_names, claims.start, strict=False)).get(name)
            along = any(block.claimed and block.proof is None for block in claims.blocks)  # of its own run alone
            if any(ends is None or not ends[0] <= value <= ends[1] for ends in ranges) or (along and value != here):
                return [f"{name} = {value:g} is not in the range that it speaks of"]
            del meant.parameters[name]
            meant.states[name] = meant.dag.zero
    found = [f"the data of {name} differ" for name in {*own.data, *meant.data} if not _same_data(own, meant, name)]
    if found:
        return found
    for stated in (own, meant):
        stated.take(claims.code.tables if claims.code is not None else {})
    for what in ("coordinates", "reactions"):
        if getattr(own, what) != getattr(meant, what):
            found.append(f"the {what} differ")
    if own.state_names != meant.state_names or own.constraints != meant.constraints:
        return [*found, "states or constraints differ"]
    ours, theirs = understood(Law, own), understood(Law, meant)
    parts = [
        ("parameter", own.parameters, meant.parameters), ("gain", ours.gains, theirs.gains),
        ("law of", ours.demand, theirs.demand), ("constraint", own.holonomic, meant.holonomic),
        ("constraint", own.nonholonomic, meant.nonholonomic), ("rate of", own.states, meant.states),
        ("force on", own.forces, meant.forces), ("limit of", _ends(own), _ends(meant)),
        ("energy", _energies(own), _energies(meant)),
    ]  # fmt: skip
    for name in {*own.controls, *meant.controls}:
        parts.append((f"control {name} along", own.controls.get(name, {}), meant.controls.get(name, {})))
    for name in {*own.noise, *meant.noise}:
        parts.append((f"noise {name} on", own.noise.get(name, {}), meant.noise.get(name, {})))
    points = [*_places(claims, own), *_anywhere()]
    for what, left, right in parts:
        found += _differences(what, left, right, points)
    if own.variable_masses != meant.variable_masses or _masses(claims.problem) != _masses(text):
        found.append("the points of variable mass differ")
    numbers = doubles({**meant.parameters, **theirs.gains}, meant)
    for name, value in claims.parameters.items():
        if name in numbers and numbers[name] != value:
            found.append(f"{name} is {value:g} in the certificate and {numbers[name]:g} in the problem")
    return found


def _same_data(own: Statement, meant: Statement, name: str) -> bool:
    return name in own.data and name in meant.data and own.data[name].same(meant.data[name])


def _energies(stated: Statement) -> dict[str, Node]:
    found = {"kinetic": stated.kinetic, "potential": stated.potential, "dissipation": stated.dissipation}
    return {name: node for name, node in found.items() if node is not None}


def _ends(stated: Statement) -> dict[str, Node]:
    """What limits each control, from below and from above."""
    lows = {f"{name} from below": low for name, (low, _) in stated.limits.items()}
    return lows | {f"{name} from above": high for name, (_, high) in stated.limits.items()}


def _masses(text: str) -> Any:
    return tomllib.loads(text).get("system", {}).get("masses")


Point = Callable[[str, int], float]  # the value of an input, by its name and its place among those of an expression


def _places(claims: Claims, stated: Statement) -> list[tuple[Point, bool]]:
    """States that the certificate speaks of, with its numbers: there both must be defined, or neither."""
    names, shake, states = ["t", *stated.state_names], np.random.default_rng(7), [[claims.begin, *claims.start]]
    for block in claims.blocks:
        if block.proof is not None and set(names) <= set(block.proof.region):
            low, high = np.array([block.proof.region[name] for name in names]).T
            states += shake.uniform(low, high, (OF_EACH, len(names))).tolist()
    for tube in claims.tubes:
        cells = shake.integers(len(tube.spans), size=OF_EACH)
        s, sides = shake.uniform(0, 1, OF_EACH), shake.uniform(-1, 1, (OF_EACH, len(tube.scales)))
        curves = np.einsum("nik,nk->ni", tube.curves[cells], np.vander(s, 4, increasing=True))
        (first, last), middle = tube.spans[cells].T, curves + sides * tube.halves[cells]
        states += np.column_stack([first + s * (last - first), middle]).tolist()
    return [(_at(dict(zip(names, state, strict=False)) | claims.parameters, k), True) for k, state in enumerate(states)]


def _at(known: Mapping[str, float], seed: int) -> Point:
    """Known values, and for deviations and the like, which have none, some of either sign."""
    return lambda name, k: known[name] if name in known else _some(seed, k)


def _anywhere() -> list[tuple[Point, bool]]:
    """Positive values, where both must be defined or neither; then others of either sign and of all sizes."""
    positive = [(_growing(shift), True) for shift in range(3)]
    return positive + [(_at({}, seed), False) for seed in range(OF_EACH)]


def _growing(shift: int) -> Point:
    return lambda name, k: (k * 13 + 7 + 5 * shift) / 31


def _some(seed: int, k: int) -> float:
    shake = np.random.default_rng([seed, k])
    return float(shake.choice([-1.0, 1.0]) * 2.0 ** shake.uniform(-8, 8))


def _differences(
    what: str, left: Mapping[str, Node], right: Mapping[str, Node], points: Sequence[tuple[Point, bool]]
) -> list[str]:
    """Expressions that differ at one of some points, in 200 bits."""
    import flint

    found = [f"the {what} {name} is in one only" for name in sorted(set(left) ^ set(right))]
    before, flint.ctx.prec = flint.ctx.prec, 200
    try:
        for name in sorted(set(left) & set(right)):
            inputs = sorted(inputs_of([left[name]]) | inputs_of([right[name]]))
            for point, defined in points if inputs else points[:1]:
                values = {key: flint.arb(point(key, k)) for k, key in enumerate(inputs)}
                a, b = ball_values([left[name]], values)[0], ball_values([right[name]], values)[0]
                both = a.is_finite() and b.is_finite()
                if (defined and a.is_finite() != b.is_finite()) or (both and not (a - b).contains(0)):
                    found.append(f"the {what} {name} differs")
                    break
    finally:
        flint.ctx.prec = before
    return found
