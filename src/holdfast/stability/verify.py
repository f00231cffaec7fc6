"""Re-checking a certificate without trusting the search that found it.

The problem is derived anew from the certificate's own text. Then, in ball arithmetic: one step contracts; the cells
cover the region (a box is cut in the middle, or shown to miss the region); over each cell the defect is no larger than
stated; rounding is no larger than stated; and what one step adds is forgiven by the contraction within the tube.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from holdfast.equations.derive import derive
from holdfast.errors import BadRequest, HoldfastError, Undecided
from holdfast.graph.balls import precision
from holdfast.graph.taylor import range_of
from holdfast.problem.file import loads
from holdfast.results.simulate import simulate
from holdfast.schemes.by_name import scheme_named
from holdfast.schemes.runge_kutta import RungeKutta
from holdfast.stability.block import blocks_of
from holdfast.stability.certificate import BlockCertificate, Certificate, Label, Proof
from holdfast.stability.checked import stays
from holdfast.stability.defect import DefectModel, terms_of
from holdfast.stability.enclosure import Ball, Box, halves, hull, norm
from holdfast.stability.prove import BITS, Setting, rounding_pieces, total_defect, widened


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether a certificate holds, and what was found, line by line."""

    holds: bool
    findings: tuple[str, ...]

    def __bool__(self) -> bool:
        return self.holds


class _Fails(Exception):
    """A claim that does not hold."""


def verify(certificate: Certificate | str | Path) -> Verification:
    """Re-check every proved block of a certificate, given itself or as its file."""
    if not isinstance(certificate, Certificate) and not Path(certificate).exists():
        return Verification(False, (f"there is no file {certificate}",))
    try:
        stated = certificate if isinstance(certificate, Certificate) else Certificate.load(certificate)
    except BadRequest as error:
        return Verification(False, (error.what,))
    proved = [block for block in stated.blocks if block.label is Label.proved]
    if not proved:
        return Verification(False, ("nothing in it is proved, so there is nothing to verify",))
    findings, holds = [], True
    for block in proved:
        names = ", ".join(map(str, block.constraints))
        try:
            cells = _check(stated, block)
            findings.append(f"{names}: holds, {cells} cell{'s' if cells != 1 else ''} re-checked")
        except _Fails as failure:
            holds = False
            findings.append(f"{names}: does not hold: {failure}")
        except HoldfastError as error:
            holds = False
            findings.append(f"{names}: cannot be checked: {error.what}")
        except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
            holds = False
            findings.append(f"{names}: does not hold: it is not readable ({type(error).__name__})")
    rest = [str(name) for block in stated.blocks if block not in proved for name in block.constraints]
    if rest:
        findings.append(f"{', '.join(rest)}: nothing is proved, so nothing was re-checked")
    silent = _left_out(stated)
    if silent:
        findings.append(f"{', '.join(silent)}: left out, so nothing is said of it")
    return Verification(holds, tuple(findings))


def _left_out(stated: Certificate) -> list[str]:
    """The constraints of the problem that no block of the certificate speaks of."""
    try:
        program = loads(stated.problem, "the certificate's problem").program
    except HoldfastError:
        return []  # each block says so
    told = {name for block in stated.blocks for name in block.constraints}
    return [name for name in program.constraints if name not in told]


def _check(stated: Certificate, block: BlockCertificate) -> int:
    proof = block.proof
    _require(proof is not None, "there is no proof in it")
    assert proof is not None
    setting = _setting(stated, block, proof)
    factor = np.array(proof.factor)
    with precision(BITS, terms_of(setting.scheme)):
        contraction = setting.contraction(factor, proof.gamma)
        _require(contraction.holds(), "one step does not contract as stated")
        motion = setting.motion()
        model = DefectModel(motion, setting.scheme, setting.step, factor)
        limits = setting.limit_balls(motion, contraction, proof.tube)
        cells = _covered(
            proof.cover,
            setting.box(motion.variable_names),
            cut=lambda box: _cut(model, box, limits),
            bound=lambda box, _: _defect(model, box, limits),
            stated=proof.coefficient,
            what="defect",
        )
        cut, region, rounding = rounding_pieces(setting, factor, proof.tube, contraction)
        _covered(
            proof.rounding_cover,
            region,
            cut=cut,
            bound=lambda _, balls: float(rounding(balls)),
            stated=proof.rounding,
            what="rounding",
        )
        defect = total_defect(proof.coefficient, proof.rounding, setting.scheme, setting.step)
        _require(bool(stated.start), "there is no start")
        begun = setting.begun(factor, stated.begin, stated.start)
        radius = contraction.radius(defect)
        _require(block.settles == (begun > proof.radius), "it is not said rightly whether the start deviates")
        share = 0.0 if block.settles else begun
        shown = [widened(a, share, b) for a, b in zip(contraction.settled(defect), contraction.widths(), strict=True)]
    _require(radius <= proof.radius <= proof.tube, "the radius is smaller than the defect allows, or beyond the tube")
    _require(block.gamma == proof.gamma, "the contraction is not the one of the proof")
    _require(_number(block.defect) >= defect, "the defect is smaller than what was shown")
    _require(_number(block.epsilon) >= radius, "epsilon is smaller than what was shown")
    for name, claimed, least in zip(block.names, block.bounds, shown, strict=True):
        _require(claimed >= least, f"the bound of {name} is smaller than what was shown")
    _require(cells > 0, "no state of its region lies near the program")
    _require(cells == proof.cells, "the number of cells is not the stated one")
    if block.stayed:
        _require(_stays(stated, block, proof, setting), "the run it speaks of does not stay in the region")
    return cells


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _stays(stated: Certificate, block: BlockCertificate, proof: Proof, setting: Setting) -> bool:
    """Whether the run of the certificate, made again, stays in the region: a check, in doubles."""
    run = simulate(
        setting.equations,
        setting.scheme,
        step=setting.step,
        duration=stated.duration,
        start=stated.start,
        start_policy="keep",
        parameters=stated.parameters,
        every=1,
    )
    return float(run.times[0]) == stated.begin and stays(block.names, proof, run)


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise _Fails(otherwise)


def _setting(stated: Certificate, block: BlockCertificate, proof: Proof) -> Setting:
    """The problem of the certificate, derived anew."""
    _require(bool(stated.problem), "the certificate holds no problem text")
    problem = loads(stated.problem, "the certificate's problem")
    equations = derive(problem)
    known = {name: float(value) for name, value in stated.parameters.items()}
    _require(set(known) == set(equations.parameter_names), "its parameters are not those of the problem")
    scheme = scheme_named(stated.scheme)
    _require(isinstance(scheme, RungeKutta) and scheme.explicit, "the scheme is not an explicit tableau")
    assert isinstance(scheme, RungeKutta)
    own = next((b for b in blocks_of(equations, known) if b.names == block.names), None)
    _require(own is not None and own.constant, "the problem has no such block with constant coefficients")
    assert own is not None
    _require(own.constraints == block.constraints, "the block is of other constraints")
    _require(own.matrix.tolist() == [list(row) for row in block.matrix], "the law is not the one of the problem")
    _require(stated.step is not None and stated.step > 0, "there is no step")
    region = {name: (low, high) for name, low, high in proof.region}
    limits = {name: (low, high) for name, low, high in proof.limits}
    _require(set(region) == {"t", *equations.state_names}, "the region does not bound time and the whole state")
    ends = [x for low, high in (*region.values(), *limits.values()) for x in (low, high)]
    _require(all(isinstance(x, float) and math.isfinite(x) for x in ends), "the region is not made of finite numbers")
    return Setting(equations, own, scheme, float(stated.step or 0), known, region, limits)


def _cut(model: DefectModel, box: Box, limits: Sequence[Ball]) -> list[Ball] | None:
    cell = model.cell(box, limits)
    return None if cell is None else cell.box


def _defect(model: DefectModel, box: Box, limits: Sequence[Ball]) -> float:
    cell = model.cell(box, limits)
    if cell is None:
        return 0.0
    try:
        return norm([range_of(form) for form in model.enclosed(cell)])
    except Undecided:
        return float("inf")


def _covered(
    tree: str,
    region: Box,
    *,
    cut: Callable[[Box], list[Ball] | None],
    bound: Callable[[Box, list[Ball]], float],
    stated: float,
    what: str,
) -> int:
    """Walk the tree over the region: every leaf is empty, or bounded as stated; the number of cells."""
    words: Iterator[str] = iter(tree.split())
    waiting, cells = [region], 0
    while waiting:
        box = waiting.pop()
        word = next(words, None)
        _require(word is not None, f"the cover of the {what} ends too early")
        inside = cut(box)
        if word == "e":
            _require(inside is None, f"a box called empty is not ({what})")
        elif word == "c":
            cells += 1
            if inside is not None:
                _require(bound(box, inside) <= stated, f"the {what} is larger than stated in a cell")
        else:
            _require(str(word).isdigit() and int(str(word)) < len(region), f"the cover of the {what} is not readable")
            tight = box if inside is None else hull(inside)
            waiting.extend(reversed(halves(tight, int(str(word)))))
    _require(next(words, None) is None, f"the cover of the {what} has words left over")
    return cells
