"""What may be promised: certificates, block by block, with labels that mean what they say."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from enum import Enum
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from holdfast.common.files import named, write
from holdfast.common.rounded import exactly, rounded_down, rounded_up, written_range
from holdfast.errors import BadRequest
from holdfast.stability.certificate.mean_square import MeanSquareProof, mean_square_from
from holdfast.stability.certificate.problem_text import ProblemText
from holdfast.stability.certificate.tube_proof import (
    OrderedProof,
    Tube,
    TubeProof,
    proof_entry,
    proof_from,
    tube_entry,
    tube_from,
    tubes_of,
)
from holdfast.stability.verifier.reading.file import claims, read
from holdfast.stability.verifier.refusal import Refused, Unconfirmed

if TYPE_CHECKING:
    import numpy as np

    from holdfast.results.trajectory import Trajectory

SCHEMA = 2
_MADE_HERE: WeakKeyDictionary[Certificate, str] = WeakKeyDictionary()  # and what each said then
INTERRUPTED = "the search for a proof was interrupted"
AS_STATED = "As stated in the file, not verified: "
NOT_IN_FILE = ("reason", "observed", "slack")  # of a proved block: what a verifier cannot re-check is not written


class Label(Enum):
    """What was established, from most to least."""

    nothing = "nothing to hold"
    proved = "proved while in Omega"
    tube = "proved in a tube along this run"
    mean_square = "proved in the mean square"
    checked = "checked"
    estimated = "estimated"
    neutral = "neutral"
    refused = "refused"

    @property
    def meaning(self) -> str:
        return MEANINGS[self]

    @property
    def positive(self) -> bool:
        return self not in (Label.estimated, Label.refused)

    @property
    def is_proof(self) -> bool:
        """Whether a sure bound is shown for more than the run that was made: in Omega, or in a tube along the run."""
        return self in (Label.proved, Label.tube)


MEANINGS = {
    Label.nothing: "There is no constraint.",
    Label.proved: "Shown in ball arithmetic for every state of the region, truncation and rounding both bounded.",
    Label.tube: "Shown for every run near this one, at the times and speeds that it tells, truncation and rounding "
    "both bounded; nothing is said of runs that leave the tube, nor that a neighbour stays in it.",
    Label.mean_square: "Shown of the average over all paths under the noise, rounding bounded; a single path may go "
    "beyond.",
    Label.checked: "The defect was measured at every step of this run, and the theorem's two conditions held along it.",
    Label.estimated: "The defect was sampled; nothing is shown for the states between.",
    Label.neutral: "Kept, not attracted: no root lies in Re > 0, but not all lie in Re < 0.",
    Label.refused: "No promise can be given.",
}


def _bounded(names: Sequence[str], bounds: Iterable[float]) -> str:
    return ", ".join(f"|{name}| <= {rounded_up(float(bound))}" for name, bound in zip(names, bounds, strict=True))


@dataclass(frozen=True, slots=True)
class Proof:
    """The numbers of a proof, all that a verifier needs beside the problem; where to cut cells it finds by itself.

    ‖Lᵀψ‖ ≤ radius is kept and, once reached, never left, while the state stays in the region:
    ‖R(step·H)‖_P ≤ gamma,   ‖Lᵀd‖ ≤ coefficient·step^(p+1) + rounding ≤ (1 − gamma)·radius,   radius ≤ tube
    """

    factor: tuple[tuple[float, ...], ...]  # L, with P = L Lᵀ
    gamma: float
    tube: float
    coefficient: float
    rounding: float
    radius: float
    region: tuple[tuple[str, float, float], ...]  # time and state
    limits: tuple[tuple[str, float, float], ...]  # other deviations, and further functions of the state
    cells: int = 0  # how many it took to find; not part of the claim


@dataclass(frozen=True, slots=True)
class BlockCertificate:
    """What is promised of one decoupled block of constraints."""

    constraints: tuple[str, ...]
    label: Label
    reason: str
    names: tuple[str, ...] = ()
    matrix: tuple[tuple[float, ...], ...] = ()  # H; none where a law that varies is proved, which has more than one
    gamma: float | None = None
    defect: float | None = None  # in the norm of the certificate
    epsilon: float | None = None  # ‖ψ‖_P never exceeds it, and settles below
    bounds: tuple[float, ...] = ()  # of each deviation, for a run that starts on the program
    observed: tuple[float, ...] = ()  # largest value of each deviation along the run
    stayed: bool | None = None  # checked: this run stayed in Omega
    slack: float | None = None  # smallest of 1 − ‖U‖/((1 − gamma) epsilon) along the run
    settles: bool = False  # the run starts further off than epsilon: bounds are for what remains of that
    start_size: float | None = None  # ‖ψ‖_P, not below, at the first step that the proof covers
    from_step: int = 0  # that step: the start, or where its deviation has entered the tube
    proof: Proof | TubeProof | OrderedProof | None = None
    mean_square: MeanSquareProof | None = None  # under noise, in the place of bounds and proof, which are sure ones

    def line(self) -> str:
        text = f"{', '.join(self.constraints)}: {self.label.value}"
        if self.mean_square is not None:
            return f"{text} (once settled {self.mean_square.bounded(self.names)})"
        if self.bounds and self.settles:
            first = self.bounded_at_first()
            return f"{text} (once settled {self.bounded()}{first and f'; {first} from the start on'})"
        return f"{text} ({self.bounded()})" if self.bounds else text

    def bounded(self) -> str:
        """The bounds in words, rounded up."""
        return _bounded(self.names, self.bounds)

    def bounded_at_first(self) -> str:
        """The same from the start on, where a proof covers a start that deviates; else nothing."""
        covered = self.proof is not None and self.start_size is not None and self.from_step == 0
        return _bounded(self.names, self.envelope(0)[:, 0]) if covered else ""

    def omega(self) -> str:
        """The region of the proof in words, ranges rounded inward; nothing where there is no proof."""
        if self.proof is None:
            return ""
        if not isinstance(self.proof, Proof):
            from holdfast.stability.certificate.statement import tube_words

            return tube_words(self.proof.tube)
        parts = []
        for name, low, high in (*self.proof.region, *self.proof.limits):
            if -low == high:
                parts.append(f"|{name}| <= {rounded_down(high)}")
            else:
                parts.append(f"{name} in {written_range(low, high)}")
        return ", ".join(parts)

    def envelope(self, steps: Any) -> np.ndarray:
        """The bound of each deviation (rows) after so many steps of the run (columns), its start included, while it
        stays in Omega or in the tube.

        Rounded up; infinite before the first step that the proof covers (`from_step`) and after the last one that is
        followed in the order of time, the plain bounds where there is no proof.
        `certificate["rod"].envelope([0, 10, 100])`.
        """
        from holdfast.stability.certificate.from_start import envelope

        return envelope(self, steps)

    def promise(self, scheme: str, step: float | None) -> str:
        """What is proved, in a sentence; nothing where there is no proof. Without a step, along the run's own."""
        from holdfast.stability.certificate.statement import promise

        return promise(self, scheme, step)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Certificate:
    """The promises for one problem, scheme and step, block by block."""

    problem: ProblemText = ProblemText()  # noqa: RUF009 - a text, or a `Problem` that is written when it is asked for
    title: str
    scheme: str
    step: float | None
    begin: float
    duration: float
    blocks: tuple[BlockCertificate, ...]
    times: tuple[float, ...] = field(default=(), repr=False)  # of the rows of a run that chose its own steps
    parameters: Mapping[str, float] = field(default_factory=dict)
    start: tuple[float, ...] = ()  # the state of the run that was checked
    overrides: tuple[str, ...] = ()  # parameters and gains whose value is not the problem's own
    code: Mapping[str, Any] | None = field(default=None, repr=False)  # the operations that are run
    tableau: Mapping[str, Any] | None = field(default=None, repr=False)  # of a scheme whose name does not tell it
    widened: tuple[str, ...] = ()  # parameters of the problem that are states here, with a range in Omega
    trajectory: Trajectory | None = field(default=None, repr=False)  # that run, where it is at hand
    starts: Mapping[str, float] | None = None  # how far off others may start, state by state, and stay in the tube

    def __repr__(self) -> str:
        told = ", ".join(f"{'+'.join(block.constraints)} {block.label.name}" for block in self.blocks)
        return f"<Certificate: {told or 'nothing to hold'}; print it for its bounds>"

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the search for proofs."""
        return any(INTERRUPTED in block.reason.lower() for block in self.blocks)

    @property
    def stepping(self) -> str:
        """The step, or the steps that the run chose, in words behind the name of the scheme."""
        if self.step is not None:
            return f", step {exactly(self.step)}"
        if len(self.times) < 2:
            return ""
        steps = [later - time for time, later in pairwise(self.times)]
        low, high = rounded_down(min(steps)), rounded_up(max(steps))
        return f", {len(steps)} steps of its own choice, {low} to {high}"

    @property
    def own_run(self) -> tuple[tuple[float, ...], dict[str, float]]:
        """Start and numbers of the run as the problem has them: parameters with a range are states at the end here."""
        count = len(self.start) - len(self.widened)
        wide = dict(zip(self.widened, self.start[count:], strict=False))
        return self.start[:count], {**self.parameters, **wide}

    @property
    def label(self) -> Label:
        """The weakest label among the blocks, neutral ones included: a proof of one block does not cover another."""
        return max((block.label for block in self.blocks), key=list(Label).index, default=Label.nothing)

    @property
    def attracted(self) -> Label:
        """The weakest label among the blocks that the law attracts; neutral ones count only where there is no other."""
        labels = [block.label for block in self.blocks if block.label is not Label.neutral]
        return max(labels, key=list(Label).index) if labels else self.label

    def __getitem__(self, constraint: str) -> BlockCertificate:
        for block in self.blocks:
            if constraint in block.constraints:
                return block
        known = ", ".join(name for block in self.blocks for name in block.constraints)
        raise BadRequest(f"there is no constraint {constraint!r} in this certificate", fix=f"known: {known}")

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """The certificate in a few lines."""
        lines = [f"{self.title or 'Certificate'}: {self.scheme}{self.stepping}"]
        if not self.blocks:
            lines.append(f"  {Label.nothing.value}")
        for block in self.blocks:
            lines.append(f"  {block.line()}")
            lines.append(f"    {block.reason}")
            if block.mean_square is not None and self.step is not None:
                lines.append(f"    {block.promise(self.scheme, self.step)}")
            if block.proof is not None:
                lines.append(f"    {block.promise(self.scheme, self.step)}")
                place = "tube" if block.label is Label.tube else "Omega"
                lines.append(f"    {place}: {block.omega()}")
            if block.stayed is not None:
                place = "the tube" if block.label is Label.tube else "Omega"
                lines.append("    checked: this run " + (f"stayed in {place}" if block.stayed else f"LEFT {place}"))
        if self.starts is not None:
            told = ", ".join(f"{name} +- {rounded_down(size, 2)}" for name, size in self.starts.items())
            lines.append(f"  stated, for hf.verify: every run that starts within {told} of this one stays in the tube")
        return "\n".join(lines) + "\n"

    def statement(self) -> str:
        """The certificate as a page for a referee: claims, where, norm, constants, software and hashes."""
        from holdfast.stability.certificate.referee import statement

        return statement(self)

    def plot(self) -> Any:
        """Every deviation of the checked run on a logarithmic scale, with its bound; returns the axes."""
        from holdfast.stability.certificate.plot import plot

        return plot(self)

    def with_starts(self, distances: Mapping[str, float]) -> Certificate:
        """The same, stating that runs from within these distances of its start stay in its tube: `hf.safe_starts` finds
        them, and `hf.verify` re-checks them with the rest.

            certificate.with_starts(hf.safe_starts(equations, certificate).distances).save("certificate.json")
        """
        found = dict(distances) if isinstance(distances, Mapping) else {"": distances}
        for name, size in found.items():
            if isinstance(size, bool) or not isinstance(size, int | float) or not 0 <= size < math.inf:
                where = f"with_starts({name})"
                raise BadRequest(f"{str(size)[:40]} is no distance", where=where, fix="those of safe_starts, by state")
        return replace(self, starts=found or None)

    # ── as a file ─────────────────────────────────────────────────────────────────────────────────

    def to_dict(self) -> dict[str, Any]:
        tubes = tubes_of(self.blocks)
        body: dict[str, Any] = {
            "schema": SCHEMA,
            "problem": self.problem,
            "problem_hash": sha256(self.problem.encode()).hexdigest(),
            "title": self.title,
            "scheme": self.scheme,
            "step": self.step,
            "begin": self.begin,
            "duration": self.duration,
            "parameters": dict(self.parameters),
            "start": list(self.start),
            "overrides": list(self.overrides),
            "code": self.code,
            "blocks": [_entry(block, tubes) for block in self.blocks],
        }
        if self.times and tubes:
            body["times"] = list(self.times)
        if tubes:
            body["tubes"] = [tube_entry(tube) for tube in tubes]
        if self.tableau is not None:
            body["tableau"] = self.tableau
        if self.widened:
            body["widened"] = list(self.widened)
        if self.starts is not None:
            body["starts"] = dict(self.starts)
        plain = json.loads(json.dumps(body))
        return {**plain, "digest": digest(plain)}

    def save(self, path: str | Path) -> None:
        """Write the certificate as a small text file that `hf.verify` re-checks."""
        write(path, json.dumps(self.to_dict(), indent=1, allow_nan=False))

    @staticmethod
    def load(path: str | Path) -> Certificate:
        """A certificate from its file. Its checksum tells accidents, not forgeries: that is what `hf.verify` is for."""
        try:
            data = read(named(path))
        except Refused as refusal:
            raise BadRequest(
                f"{path} is not a certificate: {refusal}",
                fix="hf.certify(...).save(path) and holdfast certify -o write one",
            ) from None
        return certificate_from(data)


def established(certificate: Certificate) -> Certificate:
    """Note that `certify` has just made this object, and what it says; a copy, or what a file says, is not noted."""
    _MADE_HERE[certificate] = _whole_content(certificate)
    return certificate


def made_here(certificate: Certificate) -> bool:
    """Whether `certify` made this object in this process, and it still says, word for word, what it said then."""
    return _MADE_HERE.get(certificate) == _whole_content(certificate)


def _whole_content(certificate: Certificate) -> str:
    """A hash of every field, those too that are not written to a file; of its run, which one it is."""
    values = {name.name: vars(certificate)[name.name] for name in fields(certificate)}
    values |= {"parameters": dict(certificate.parameters), "trajectory": id(certificate.trajectory)}
    if not isinstance(values["problem"], str):
        values["problem"] = id(values["problem"])  # a `Problem` never changes, nor does its text
    values["cells"] = [tube.cells for tube in tubes_of(certificate.blocks)]
    return sha256(repr(values).encode("utf-8", "surrogatepass")).hexdigest()


def _entry(block: BlockCertificate, tubes: Sequence[Tube]) -> dict[str, Any]:
    """A block as data; of a proved one only what is claimed, not how it was found."""
    plain = block if isinstance(block.proof, Proof) else replace(block, proof=None)
    entry = {**asdict(plain), "label": block.label.name}
    if block.mean_square is None:
        del entry["mean_square"]
    if isinstance(block.proof, TubeProof | OrderedProof):
        entry["proof"] = proof_entry(block.proof, tubes)
    for name in ("gamma", "defect", "epsilon", "slack"):  # what is not finite is no number of a file
        entry[name] = entry[name] if entry[name] is not None and math.isfinite(entry[name]) else None
    for name in ("bounds", "observed"):
        entry[name] = entry[name] if all(map(math.isfinite, entry[name])) else ()
    if block.proof is not None:
        entry = {name: value for name, value in entry.items() if name not in NOT_IN_FILE}
        entry["proof"] = {name: value for name, value in entry["proof"].items() if name != "cells"}
    return entry


def digest(body: Mapping[str, Any]) -> str:
    """A checksum of everything a certificate says: against accidents, not a seal, since anyone can write it anew."""
    plain = {key: value for key, value in body.items() if key != "digest"}
    return sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def certificate_from(data: Any) -> Certificate:
    """A certificate from its data, if every field has its type and range and the checksums fit."""
    try:
        claims(data)
    except (Refused, Unconfirmed) as trouble:
        raise BadRequest(f"the certificate is refused: {trouble}", fix="certify again") from None
    tubes = [tube_from(entry) for entry in data.get("tubes", ())]
    blocks = tuple(_block(entry, tubes) for entry in data["blocks"])
    names = ("problem", "title", "scheme", "step", "begin", "duration", "parameters", "start", "overrides")
    values = {name: _tuples(data[name]) for name in names}
    return Certificate(
        blocks=blocks,
        code=data["code"],
        tableau=data.get("tableau"),
        widened=tuple(data.get("widened", ())),
        times=tuple(data.get("times", ())),
        starts=data.get("starts"),
        **values,
    )


def _block(entry: Mapping[str, Any], tubes: Sequence[Tube] = ()) -> BlockCertificate:
    """A block from its data: the reason of a proof is made anew from its numbers, others are marked as stated."""
    values = {name: _tuples(value) for name, value in entry.items() if name not in ("label", "proof", "reason")}
    proof = entry["proof"]
    made: Proof | TubeProof | OrderedProof | None = None
    if proof is not None and "kind" in proof:
        made = proof_from(proof, tubes)
    elif proof is not None:
        made = Proof(**{name: _tuples(value) for name, value in proof.items()})
    if values.get("mean_square") is not None:
        values["mean_square"] = mean_square_from(entry["mean_square"])
        reason = values["mean_square"].reason()
    elif isinstance(made, OrderedProof):
        reason = (
            f"Steps are followed in the order of time, {made.steps} of them; no step is shown to contract by itself."
        )
    elif made is not None:
        place = "tube" if isinstance(made, TubeProof) else "region"
        reason = (
            f"One step contracts by {rounded_up(made.gamma, 6)} and adds at most {rounded_up(values['defect'])} "
            f"({rounded_up(made.rounding)} of it rounding) for every state of the {place}."
        )
    else:
        reason = AS_STATED + str(entry["reason"]).removeprefix(AS_STATED)
    return BlockCertificate(**values, label=Label[entry["label"]], reason=reason, proof=made)


def _tuples(value: Any) -> Any:
    return tuple(_tuples(part) for part in value) if isinstance(value, list) else value
