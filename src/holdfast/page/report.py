"""One page about one run: a single HTML file that needs nothing else, now or in ten years."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any

from holdfast.common.arguments import clear_arguments
from holdfast.common.files import write
from holdfast.errors import BadRequest, HoldfastError
from holdfast.page.facts import PageFacts, readable
from holdfast.page.in_order import SECTIONS
from holdfast.page.living.model import LivingModel, why_not
from holdfast.page.living.section import living_of, living_section
from holdfast.page.markup.html import Markup, document, element, joined, paragraph
from holdfast.page.rows import rows_of
from holdfast.page.sections.warnings import warnings_of
from holdfast.page.verdict import PageVerdict, verdict_of
from holdfast.problem.file.load_dump import dumps, loads
from holdfast.problem.problem import Problem
from holdfast.results.runs.joined import JoinedRun
from holdfast.results.trajectory import Trajectory
from holdfast.stability.certificate.certificate import Certificate, Label, certificate_from, made_here
from holdfast.stability.certificate.verify import verify
from holdfast.stability.own_steps import OwnStepBounds, made_along
from holdfast.stability.parts.phases import WHOLE
from holdfast.stability.parts.stretches import stretch_of
from holdfast.stability.verifier.comparison import same_problem
from holdfast.stability.verifier.reading.file import claims

FONTS = {"text": ("Holdfast Text", 400), "text-semibold": ("Holdfast Text", 600), "math": ("Holdfast Math", 400)}


@clear_arguments
def report(
    trajectory: Trajectory,
    certificate: Certificate | Mapping[str, Certificate] | None = None,
    tuning: Any = None,
    *,
    command: str = "",
    remarks: Sequence[str] = (),
    state_error: bool = True,
    live: bool | None = None,
    stretches: Mapping[str, Certificate] | None = None,
    own_steps: Sequence[OwnStepBounds] = (),
) -> Report:
    """The page of a run, with its certificate (of a run through phases, those that `certify_phases` just made) and its
    tuning where there are any; `stretches` are those that `certify_stretches` just made of it, `own_steps` the bounds
    that `own_step_bounds` just proved along the steps that it chose.

    `command` is the line that makes this page again, `remarks` are further sentences for its list of warnings. The
    verdict takes in the error of the states, for which the run is made once more, unless `state_error` is False. With
    `live` the page runs its own equations as sliders are moved, without it it does not; where it is left open, it does
    if its code is short. A page that cannot (`Report.not_alive` says why) is as it was.
    """
    if not isinstance(trajectory, Trajectory):
        raise BadRequest(
            f"report() takes a Trajectory, not {type(trajectory).__name__}", fix="hf.simulate(equations, ...) gives one"
        )
    if trajectory.problem is None:
        raise BadRequest(
            "this run does not know its problem", where="report", fix="runs made by hf.simulate, or saved by it, do"
        )
    by_phase = dict(certificate) if isinstance(certificate, Mapping) else {}
    certificate = None if isinstance(certificate, Mapping) else certificate
    _require_phases(trajectory, by_phase)
    _require_stretches(trajectory, stretches or {})
    proved = {name: one for name, one in (stretches or {}).items() if one.attracted.is_proof}
    _require_own_steps(trajectory, own_steps)
    if certificate is not None:
        _require_own(trajectory, certificate)
    if len(trajectory.times) < 1:
        raise BadRequest("the run has no rows", where="report", fix="run it again with every=1")
    shown, doubt = (None, "") if certificate is None else _confirmed(trajectory, certificate)
    drawn, remark = readable(trajectory)
    said = (*remarks, *remark)
    stopped = float(trajectory.times[-1])
    facts = PageFacts(
        drawn, trajectory.problem, shown, tuning, command, said, stopped, state_error, doubt, by_phase,
        proved, tuple(own_steps),
    )  # fmt: skip
    return Report(facts, live)


def _confirmed(trajectory: Trajectory, certificate: Certificate) -> tuple[Certificate | None, str]:
    """The certificate if it may be shown, and the words where it may not: nothing is shown that was not just checked.

    One that `certify` made in this process has just been established. Any other, out of a file, is a claim: each of
    its blocks is proved to the verifier, for the problem of this run, or nothing of it is shown.
    """
    nothing_held = trajectory.problem is not None and not trajectory.problem.program.constraints
    if made_here(certificate) or (nothing_held and not certificate.blocks):
        return certificate, ""
    claimed = [block for block in certificate.blocks if block.label is not Label.refused or block.bounds]
    unproved = [name for block in claimed if not block.label.is_proof for name in block.constraints]
    if certificate.blocks and not claimed:
        return certificate_from(certificate.to_dict()), ""  # it promises nothing, and its words are marked
    if unproved:
        why = f"nothing is proved of {', '.join(unproved)}, and what was measured once cannot be re-checked"
        return None, f"The certificate is not verified: {why}."
    try:
        found = verify(certificate, trajectory.problem)
    except HoldfastError as error:
        return None, f"The certificate is not verified: {error.what}."
    if found.holds:
        return certificate_from(certificate.to_dict()), ""  # what was verified, and no word more
    return None, f"The certificate is not verified: {(found.doubts or found.findings)[0]}."


def _require_phases(trajectory: Trajectory, found: Mapping[str, Certificate]) -> None:
    """Certificates of phases stand on the page of their own run only, and only if they were just made."""
    if not found:
        return
    if not isinstance(trajectory, JoinedRun) or not trajectory.phases:
        raise BadRequest(
            "the run did not go through phases",
            where="report(certificate=...)",
            fix="give the certificate of the whole run",
        )
    parts = {f"{k} {name}": p for k, (name, p) in enumerate(zip(trajectory.phases, trajectory.parts, strict=True), 1)}
    for name, certificate in found.items():
        if not made_here(certificate):
            raise BadRequest(
                f"the certificate of phase {name!r} was not just made", where="report(certificate=...)",
                fix="certify the phases of this very run",
            )  # fmt: skip
        part = parts.get(name)
        if part is None or not _of_phase(certificate, part):
            raise BadRequest(
                f"the certificate of phase {name!r} was made for another run", where="report(certificate=...)",
                fix="certify the phases of this very run",
            )  # fmt: skip


def _require_stretches(trajectory: Trajectory, found: Mapping[str, Certificate]) -> None:
    """Certificates of stretches stand on the page of their own run only, and only if they were just made."""
    if not isinstance(found, Mapping) or not all(isinstance(one, Certificate) for one in found.values()):
        raise BadRequest("stretches are certificates by their names", where="report(stretches=...)",
                         fix="hf.certify_stretches gives them")  # fmt: skip
    for name, certificate in found.items():
        if not made_here(certificate):
            raise BadRequest(
                f"the certificate of the stretch {name} was not just made", where="report(stretches=...)",
                fix="certify the stretches of this very run",
            )  # fmt: skip
        if not stretch_of(certificate, trajectory):
            raise BadRequest(
                f"the certificate of the stretch {name} was made for another run", where="report(stretches=...)",
                fix="certify the stretches of this very run",
            )  # fmt: skip
    spans = sorted((one.begin, one.begin + one.duration) for one in found.values())
    for (_, end), (begin, _) in pairwise(spans):
        if begin < end - WHOLE * (trajectory.step or 0.0):
            raise BadRequest(
                f"two stretches hold the time {begin:g}", where="report(stretches=...)", fix="give each of them once",
            )  # fmt: skip


def _require_own_steps(trajectory: Trajectory, found: Sequence[OwnStepBounds]) -> None:
    """Bounds along a run's own steps stand on its own page only, and only if they were just made."""
    if not isinstance(found, Sequence):
        raise BadRequest("own_steps are several bounds, in a list", where="report(own_steps=...)")
    if not all(isinstance(one, OwnStepBounds) and made_along(one, trajectory) for one in found):
        raise BadRequest(
            "these bounds were not just made of this run", where="report(own_steps=...)",
            fix="make them along the steps of this very run",
        )  # fmt: skip


def _of_phase(certificate: Certificate, part: Trajectory) -> bool:
    """Whether it speaks of all whole steps of this part of a run, made by its scheme, numbers and program."""
    if part.step is None or part.equations is None:
        return False
    if not certificate.blocks:
        return not part.equations.constraints
    told = (certificate.scheme, certificate.step, certificate.begin, certificate.start)
    made = (part.scheme, part.step, float(part.times[0]), tuple(part.y[:, 0].tolist()))
    short = certificate.begin + certificate.duration <= part.times[-1] - (1 - WHOLE) * part.step
    same = told == made and dict(certificate.parameters) == dict(part.parameters) and not short
    return same and _about(certificate, part.equations.problem)


def _require_own(trajectory: Trajectory, certificate: Certificate) -> None:
    """A certificate stands on the page of its own problem, scheme, step, start and duration only."""
    start, numbers = certificate.own_run
    facts = {
        "scheme": (certificate.scheme, trajectory.scheme),
        "step": (certificate.step, trajectory.step),
        "begin": (certificate.begin, float(trajectory.times[0])),
        "start": (start or tuple(trajectory.start.state), tuple(trajectory.start.state)),
    }
    wrong = [name for name, (said, made) in facts.items() if said != made]
    if certificate.times and not set(trajectory.times.tolist()) <= set(certificate.times):
        wrong.append("choice of steps")
    if certificate.duration < trajectory.times[-1] - trajectory.times[0] - 1e-9:
        wrong.append("duration")
    if certificate.problem and trajectory.problem is not None and not _about(certificate, trajectory.problem):
        wrong.insert(0, "problem")
    if numbers != dict(trajectory.parameters):
        wrong.append("parameters")
    if wrong:
        raise BadRequest(
            f"the certificate was made for another {wrong[0]}", where="report(certificate=...)", fix="certify this run"
        )


def _about(certificate: Certificate, made: Problem) -> bool:
    """Whether its text states this very system and program; it is read only if it is not the problem's own."""
    if certificate.problem == made.memo.kept(dumps):
        return True
    if certificate.widened:  # its text has parameters with a range among the states
        return not same_problem(claims(certificate.to_dict()), dumps(made))
    stated = loads(certificate.problem, "the certificate's problem")
    return (stated.system, stated.program) == (made.system, made.program)


@dataclass(frozen=True, eq=False)
class Report:
    """A finished page: `html` is its text, `verdict` its first line, `word` the word that line begins with.

    `word` is "proved", "checked", "no promise" or "failed"; `good` says that nothing failed.
    """

    subject: PageFacts
    live: bool | None = None

    @property
    def not_alive(self) -> str:
        """Why the page cannot run its own equations; nothing where it can."""
        return why_not(self.subject)

    @cached_property
    def _living(self) -> LivingModel | None:
        return living_of(self.subject, self.live)

    @cached_property
    def found(self) -> PageVerdict:
        """The verdict with its parts: word, line, faults."""
        return verdict_of(self.subject)

    @property
    def certificate(self) -> Certificate | None:
        """The certificate that the page shows: the one given, if it was just made or has just been verified."""
        return self.subject.certificate

    @property
    def good(self) -> bool:
        return self.found.good

    @property
    def word(self) -> str:
        return self.found.word

    @property
    def verdict(self) -> str:
        return self.found.line

    @property
    def faults(self) -> tuple[str, ...]:
        """Why the verdict is not a better one; empty if nothing speaks against it."""
        return self.found.faults

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Caveats shown on the page, a sentence each."""
        return tuple(warnings_of(self.subject))

    @cached_property
    def html(self) -> str:
        title = self.subject.problem.title or "A run of Holdfast"
        parts = [section.of(self.subject) for section in SECTIONS]
        alive = None if self._living is None else living_section(self._living)
        before = 1 + next(k for k, section in enumerate(SECTIONS) if section.name == "motion")
        body = joined(
            element("a", "Skip to the content", href="#content", class_="skip"),
            element("header", element("h1", title), self._banner()),
            self._contents(parts),
            element(
                "main", *parts[:before], alive, *parts[before:], id="content", data_rows=rows_of(self.subject, parts)
            ),
            element("footer", paragraph("Made by Holdfast. This file is complete: it opens without a network.")),
        )
        return document(title=title, style=_style(), script=self._script, body=body)

    @property
    def _script(self) -> str:
        """The page's own, and that of its equations where it is alive."""
        own = "".join(map(_resource, ("script.js", "player.js", "figures.js")))
        if self._living is None:
            return own
        return own + self._living.code + _resource("living/roots.js") + _resource("living/living.js")

    def _banner(self) -> Markup:
        found = self.found
        more = [paragraph(self.subject.prose(fault)) for fault in found.faults if fault not in found.line]
        kind = found.word.replace(" ", "-")
        return element(
            "div",
            paragraph(element("b", self.subject.prose(found.line))),
            *more,
            class_=f"verdict {kind}",
            role="status",
            id="verdict",
        )

    def _contents(self, parts: Sequence[Markup]) -> Markup:
        links = [
            element("a", section.title, href=f"#{section.name}")
            for section, part in zip(SECTIONS, parts, strict=True)
            if part
        ]
        if self._living is not None:
            links.insert(min(2, len(links)), element("a", "Try it", href="#live", hidden=True))
        return element("nav", *links, aria_label="Sections")

    def save(self, path: str | Path) -> Path:
        """Write the page: as a whole, or not at all."""
        return write(path, self.html)

    def __repr__(self) -> str:
        return f"<Report {self.verdict}>"


def _resource(name: str) -> str:
    return (resources.files("holdfast.page") / name).read_text("utf-8")


def _style() -> str:
    """The style with its fonts inside."""
    return "".join(map(_face, FONTS)) + _resource("style.css")


def _face(name: str) -> str:
    family, weight = FONTS[name]
    data = b64encode((resources.files("holdfast.page") / "fonts" / f"{name}.woff2").read_bytes()).decode()
    source = f"url(data:font/woff2;base64,{data})"
    return f'@font-face{{font-family:"{family}";font-weight:{weight};src:{source} format("woff2")}}\n'
