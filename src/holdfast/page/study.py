"""The main job as a verb: from a problem to equations, gains, motion, promise, verdict and page.

    study = hf.study(hf.load("cart_rod.toml"))
    study.verdict.word          "proved", "checked", "no promise" or "failed"
    study.save("folder")        the page, the run, the certificate and the problem

One derivation serves all of it. What is proved is re-checked by the verifier, which shares no code with the search for
proofs, before it is shown: one that it contradicts is a fault of ours, and raised as such. What was finished when
somebody pressed Ctrl-C is kept, and said to be unfinished.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import comb
from pathlib import Path

from holdfast.common.arguments import clear_arguments
from holdfast.common.files import named
from holdfast.equations.derive import derive
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest, HoldfastError, InternalError
from holdfast.page.report import Report, report
from holdfast.page.verdict import PageVerdict
from holdfast.problem.file.load_dump import dump
from holdfast.problem.laws.linear import Law, Tuned
from holdfast.problem.problem import Problem
from holdfast.results.judgement.outcome import Outcome
from holdfast.results.runs.simulate import simulate
from holdfast.results.trajectory import Trajectory
from holdfast.stability.certificate.certificate import BlockCertificate, Certificate, Proof
from holdfast.stability.certificate.verify import Verification, verify
from holdfast.stability.own_steps import OwnStepBounds, own_step_bounds
from holdfast.stability.parts.phases import certify_phases
from holdfast.stability.parts.stretches import proved_stretches
from holdfast.stability.promise.certify import certify
from holdfast.stability.tuning.tracking import TrackingTuning
from holdfast.stability.tuning.tune import tune
from holdfast.stability.tuning.tuning import Tuning

Progress = Callable[[str, float], None]  # the part that is being done, and the fraction of it

RECHECK = 2000, 4  # boxes that the verifier is given for regions, and for each cell of their proofs
RECHECK_TUBES = 3_000_000  # operations of the code, each for each state: half a minute on two cores at 20 µs
RUBBING = 8  # times as long takes a cell whose friction is sought from its own reaction
SHARED = 4  # phases, or stretches, that are each re-checked as one certificate is; more of them share it
ADAPTIVE = "No certificate of the steps that the run chose."
LARGER = "a larger one may do it", "`holdfast verify` has a larger one"
MANY = 7  # variables of a region: with more of them a box takes far longer, and fewer are given


def _recheck(certificate: Certificate) -> int:
    """Boxes that the verifier is given within a study, by what each of them takes; `hf.verify` has more."""
    proofs = [block.proof for block in certificate.blocks if block.proof is not None]
    regions = [p for p in proofs if isinstance(p, Proof)]
    code = certificate.code or {"operations": (), "rates": ()}
    part = max(1, len(code["operations"]) * len(code["rates"]))  # of a tube: states are symbols of its forms
    run = certificate.trajectory
    rubs = run is not None and run.equations is not None and run.equations.friction is not None
    part *= RUBBING if rubs else 1
    along = RECHECK_TUBES // part if len(regions) < len(proofs) else 0
    wide = max((len(p.region) for p in regions), default=0)
    heavier = max(1.0, comb(wide + 3, 3) / comb(MANY + 3, 3)) ** 2  # monomials: what a product of two forms takes
    first, each = RECHECK
    boxes = (first + each * sum(p.cells for p in regions)) / heavier if regions else 0
    return int(boxes) + along


@dataclass(frozen=True, eq=False)
class Study:
    """All that follows from a problem, in the order in which it was made."""

    problem: Problem
    equations: Equations | None  # under the law that was chosen; none for a saved run, whose page derives them
    trajectory: Trajectory
    certificate: Certificate | None = None
    tuning: Tuning | TrackingTuning | None = None  # where gains were left open
    verification: Verification | None = None  # of what is proved
    remarks: tuple[str, ...] = ()
    interrupted: bool = False
    seconds: Mapping[str, float] = field(default_factory=dict)  # of each part
    command: str = ""  # the line that makes its page again
    live: bool | None = None  # whether its page runs its own equations; None: where their code is short
    by_phase: Mapping[str, Certificate] = field(default_factory=dict)  # of a run through phases, as `certify_phases`
    stretches: Mapping[str, Certificate] = field(default_factory=dict)  # that are proved where the whole run is not
    own_steps: tuple[OwnStepBounds, ...] = ()  # what is proved along the steps that the run chose

    def __repr__(self) -> str:
        title = " ".join(self.problem.title.split()) or "untitled"
        return f"<Study of {title[:60]!r}: {self.verdict.word}; summary() says more>"

    @property
    def law(self) -> Law:
        """The law of the run: the problem's own, or the one that was tuned for it."""
        return (self.problem if self.equations is None else self.equations.problem).program.law

    @cached_property
    def _page(self) -> Report:
        return report(
            self.trajectory, self.by_phase or self.certificate, self.tuning,
            command=self.command, remarks=self.remarks, state_error=not self.interrupted, live=self.live,
            stretches=self.stretches, own_steps=self.own_steps,
        )  # fmt: skip

    def report(self) -> Report:
        """The page, made once."""
        return self._page

    @property
    def verdict(self) -> PageVerdict:
        """One word, one line and the sentences behind it."""
        return self._page.found

    def summary(self) -> str:
        """What a terminal shows: title, verdict, gains, promises, and what to distrust."""
        page = self._page
        title = " ".join(self.problem.title.split()) or "A run of Holdfast"
        lines = [title, f"  {page.verdict}"]
        lines += [f"  {fault}" for fault in page.faults if fault not in page.verdict]
        if self.tuning is not None:
            lines.append("  " + self.tuning.summary().splitlines()[0])
        lines += [f"  {block.line()}" for block in (page.certificate.blocks if page.certificate else ())]
        for name, found in self.by_phase.items():
            lines += [f"  phase {name}: {block.line()}" for block in found.blocks]
        lines += [f"  {one}" for one in self.own_steps]
        count = len(self.stretches)
        lines += [f"  by {count} stretch{'es' * (count != 1)}: {block.line()}" for block in self._over_stretches()]
        if self.verification:
            lines.append(f"  {self.verification.words}")
        lines += [f"  note: {warning}" for warning in page.warnings if warning not in page.faults]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def _over_stretches(self) -> list[BlockCertificate]:
        """Each block that is proved by stretches, with the largest of their bounds, and of no one start among them."""
        found = dict[tuple[str, ...], BlockCertificate]()
        for block in (block for one in self.stretches.values() for block in one.blocks if block.label.is_proof):
            known = found.setdefault(block.constraints, block)
            worst = tuple(map(max, known.bounds, block.bounds))
            settles = known.settles or block.settles
            found[block.constraints] = replace(known, bounds=worst, settles=settles, start_size=None)
        return list(found.values())

    def save(self, folder: str | Path) -> tuple[Path, ...]:
        """Write page, run, problem and, where there is one, the certificate into a folder; their paths."""
        target = named(folder)
        try:
            target.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise BadRequest(f"cannot make the folder {target}: {why}", fix="choose another place") from None
        written = [self._page.save(target / "study.html"), *self.trajectory.save(target / "run.npz")]
        written.append(target / "problem.toml")
        dump(self.problem if self.equations is None else self.equations.problem, written[-1])
        if self.certificate is not None:
            written.append(target / "certificate.json")
            self.certificate.save(written[-1])
        for name, found in {**self.by_phase, **self.stretches}.items():
            written.append(target / f"certificate.{name.replace(' ', '-')}.json")
            found.save(written[-1])
        return tuple(written)


@clear_arguments
def study(
    problem: Problem,
    *,
    effort: float | None = None,
    certified: bool = True,
    equations: Equations | None = None,
    progress: Progress | None = None,
) -> Study:
    """Derive, choose gains where the law leaves them open, run, and certify, as the problem's own tables ask.

    `effort` is the work that proofs may take, 1 is about a second (the file's ``[certificate] effort``, else 5);
    without `certified` there are none. `equations` saves the derivation where it was made before. `progress` is called
    with the part that is being done and the fraction of it. Ctrl-C ends the part; what was finished is kept.
    """
    if not isinstance(problem, Problem):
        raise BadRequest(
            f"study() takes a Problem, not {type(problem).__name__}", fix='hf.load("problem.toml") gives one'
        )
    return _Desk(progress).study(problem, effort, certified, equations)


class _Desk:
    """Makes the parts one after the other, and looks at the clock."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self.seconds: dict[str, float] = {}
        self.remarks: list[str] = []

    @contextmanager
    def _part(self, name: str) -> Iterator[None]:
        begun = time.perf_counter()
        if self._progress is not None:
            self._progress(name, 0.0)
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begun

    def study(self, problem: Problem, effort: float | None, certified: bool, known: Equations | None) -> Study:
        with self._part("derive"):
            equations = derive(problem) if known is None else known
        tuning = None
        if isinstance(problem.program.law, Tuned) and equations.constraints:
            with self._part("tune"):
                tuning = tune(equations)
            equations = tuning.equations
        with self._part("simulate"):  # a page shows more than rows `at` times
            run = simulate(equations, every=problem.run.every, progress=self._shown("simulate"))
        interrupted, certificate, own_steps = run.outcome is Outcome.interrupted, None, tuple[OwnStepBounds, ...]()
        by_phase: dict[str, Certificate] = {}
        if certified and not interrupted and problem.phases:
            with self._part("certify"):
                by_phase = self._by_phase(equations, run, effort)
        elif certified and not interrupted and equations.constraints and run.step is None:
            with self._part("certify"):
                certificate, own_steps, interrupted = self._along_own_steps(equations, run, effort)
        elif certified and not interrupted and equations.constraints:
            with self._part("certify"):
                certificate, interrupted = self._certificate(equations, run, effort)
        stretches = self._proved_stretches(certificate, effort)
        if certificate is None:
            verification = self._verified_parts(by_phase)
        elif stretches:
            verification = self._verified_parts({"whole run": certificate, **stretches})
        else:
            verification = self._verified_whole(certificate)
        return Study(
            problem, equations, run, certificate, tuning, verification, tuple(self.remarks), interrupted,
            dict(self.seconds), by_phase=by_phase, stretches=stretches, own_steps=own_steps,
        )  # fmt: skip

    def _by_phase(self, equations: Equations, run: Trajectory, effort: float | None) -> dict[str, Certificate]:
        """A certificate for each phase, where there can be one."""
        whole = run if run.every == 1 else None
        try:
            return certify_phases(equations, trajectory=whole, effort=effort, progress=self._shown("certify"))
        except InternalError:
            raise  # a fault of our own is never a remark
        except HoldfastError as error:
            self.remarks.append(f"No certificate: {error.what.rstrip('.')}.")
        except KeyboardInterrupt:
            self.remarks.append("Interrupted before the certificates were finished.")
        return {}

    def _proved_stretches(self, whole: Certificate | None, effort: float | None) -> dict[str, Certificate]:
        """What is proved between the steps that keep the whole from being so."""
        if whole is None:
            return {}
        try:
            with self._part("certify"):
                return proved_stretches(whole, effort=effort, progress=self._shown("certify"))
        except KeyboardInterrupt:
            self.remarks.append("Interrupted before the stretches were certified.")
        return {}

    def _verified_parts(self, found: Mapping[str, Certificate]) -> Verification | None:
        """What the verifier says of all phases, or stretches, together: so many share what one certificate may take."""
        share = len(found) if len(found) > SHARED else 1
        each = {name: checked for name, one in found.items() if (checked := self._verified(one, share)) is not None}
        if not each:
            return None
        said = [tuple(f"{name}: {line}" for line in v.findings) for name, v in each.items()]
        doubts = [
            tuple(f"{name}: {line}" for line in v.doubts or v.findings) for name, v in each.items() if not v.holds
        ]
        if doubts:
            first = doubts[0][0].replace(*LARGER)
            self.remarks.append(f"Of {len(each)} parts that are proved {len(doubts)} are not re-checked here: {first}.")
        return Verification(not doubts, sum(said, ()), doubts=sum(doubts, ()))

    def _shown(self, part: str) -> Callable[[float], None] | None:
        told = self._progress
        return None if told is None else lambda share: told(part, share)

    def _verified(self, certificate: Certificate, share: int = 1) -> Verification | None:
        """What the verifier says of the proved blocks."""
        if not any(block.label.is_proof for block in certificate.blocks):
            return None
        with self._part("verify"):
            found = verify(certificate, cells=_recheck(certificate) // share)
        if found.contradicts:
            raise InternalError(f"the verifier contradicts a proof: {found.words}", where="certify")
        return found

    def _verified_whole(self, certificate: Certificate) -> Verification | None:
        """The same of the whole run, with a remark where it can say nothing."""
        found = self._verified(certificate)
        if found is not None and not found.holds:
            words = found.words.replace(*LARGER)
            self.remarks.append(f"{words[0].upper()}{words[1:]}.")
        return found

    def _along_own_steps(
        self, equations: Equations, run: Trajectory, effort: float | None
    ) -> tuple[Certificate | None, tuple[OwnStepBounds, ...], bool]:
        """A certificate of the steps that a run chose; where it proves nothing, bounds of blocks whose steps contract:
        their controls may be other than the law asks for. And whether its making was interrupted.
        """
        certificate, interrupted = self._certificate(equations, run, effort)
        if interrupted or (certificate is not None and any(block.label.is_proof for block in certificate.blocks)):
            return certificate, (), interrupted
        return None, *self._own_steps(equations, run)

    def _own_steps(self, equations: Equations, run: Trajectory) -> tuple[tuple[OwnStepBounds, ...], bool]:
        """What is proved along the steps that a run chose, and whether its making was interrupted."""
        try:
            whole = run if run.every == 1 else simulate(equations, every=1)
            found = own_step_bounds(equations, whole)
        except InternalError:
            raise  # a fault of our own is never a remark
        except HoldfastError as error:
            self.remarks.append(f"{ADAPTIVE} Nothing is proved along its own: {error.what.rstrip('.')}.")
            return (), False
        except KeyboardInterrupt:
            self.remarks.append("Interrupted before anything was proved along its own steps.")
            return (), True
        why = [f"{name}: nothing is proved: {why}." for name, why in found.items() if isinstance(why, str)]
        self.remarks.extend(why)
        return tuple(one for one in found.values() if isinstance(one, OwnStepBounds)), False

    def _certificate(
        self, equations: Equations, run: Trajectory, effort: float | None
    ) -> tuple[Certificate | None, bool]:
        """The certificate, where there can be one, and whether its making was interrupted."""
        try:
            whole = run if run.every == 1 else simulate(equations, every=1)  # a check needs every step of this very run
            made = certify(equations, trajectory=whole, effort=effort, progress=self._shown("certify"))
            return made, made.interrupted
        except InternalError:
            raise  # a fault of our own is never a remark
        except HoldfastError as error:
            self.remarks.append(f"No certificate: {error.what.rstrip('.')}.")
        except KeyboardInterrupt:
            self.remarks.append("Interrupted before the certificate was finished.")
            return None, True
        return None, False
