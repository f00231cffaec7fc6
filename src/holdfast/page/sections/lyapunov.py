"""The function V of the problem's [lyapunov] table: its rate, its signs, and the theorems on this run."""

from __future__ import annotations

from holdfast.equations.writing.text import formula as latex
from holdfast.errors import HoldfastError, InternalError
from holdfast.page.facts import PageFacts, bound, limit, number, sentence
from holdfast.page.markup.html import Child, Markup, details, element, joined, paragraph, table
from holdfast.page.markup.mathml import formula
from holdfast.page.section import Section
from holdfast.problem.quantities import latex_name
from holdfast.stability.theory.lyapunov_study import LyapunovStudy, lyapunov
from holdfast.stability.theory.run_theorems import TheoremAnswers, theorems
from holdfast.stability.theory.step_rules import StepRule, step_rule
from holdfast.stability.theory.theorems import NEVER
from holdfast.stability.theory.words import decay

LONGEST = 3000  # letters of LaTeX: a longer formula is not shown


def write(subject: PageFacts) -> Markup:
    if "function" not in subject.problem.lyapunov or not subject.held:
        return Markup("")
    try:
        study = lyapunov(subject.equations, parameters=dict(subject.trajectory.parameters))
        return joined(_formulas(study), _signs(study), _theorems(subject, study), _rule(subject, study))
    except InternalError:
        raise
    except HoldfastError as error:
        return paragraph(f"V is not judged: {error.what}.")


def _formulas(study: LyapunovStudy) -> Markup:
    z = ", ".join(latex_name(name) for name in study.names)
    lines = [rf"V = {latex(study.V)}", rf"\dot V = {latex(study.rate)}"]
    forms = [rf"z = ({z}), \quad V = \tfrac12 z^T G z, \quad G = {latex(study.matrix)}"]
    rest = f" + V_3, \\quad V_3 = {latex(study.rest)}" if study.rest != 0 else ""
    forms.append(rf"\dot V = z^T G' z{rest}, \quad G' = {latex(study.rate_matrix)}")
    shown = [formula(line) for line in lines if len(line) <= LONGEST]
    return joined(*shown, details("The quadratic forms", *(formula(line) for line in forms if len(line) <= LONGEST)))


def _signs(study: LyapunovStudy) -> Markup:
    rows: list[list[Child]] = [
        [verdict.claim, verdict.label, sentence(verdict.reason)] for verdict in (study.positive, study.decreasing)
    ]
    more = [paragraph(sentence(decay(study)))] if study.positive and study.decreasing else []
    note = [paragraph(f"Of the region: {study.note}.", class_="quiet")] if study.note else []
    return joined(table(["claim", "label", "what is shown"], rows), *more, *note)


def _theorems(subject: PageFacts, study: LyapunovStudy) -> Markup:
    run, epsilon = subject.trajectory, subject.problem.lyapunov.get("epsilon")
    kept = run.scheme == "euler" and len(run.times) == run.steps + 1
    if epsilon is None or not kept or not study.positive:
        return Markup("")
    found: TheoremAnswers = theorems(run, study, epsilon)
    rows: list[list[Child]] = [
        [answer.theorem, answer.word, sentence(answer.why.replace(NEVER, "as below")), answer.label] for answer in found
    ]
    ball = any(NEVER in answer.why for answer in found)
    return joined(
        element("h3", f"Theorems on ‖z‖ ≤ ε = {bound(found.epsilon, 6)}, Euler's scheme"),
        table(["theorem", "answer", "because", "label"], rows),
        paragraph(f"Why a ball of z cannot be kept: {NEVER}.", class_="quiet") if ball else None,
    )


def _rule(subject: PageFacts, study: LyapunovStudy) -> Markup:
    stated, run = subject.problem.lyapunov, subject.trajectory
    kept = run.step is not None and len(run.times) == run.steps + 1
    if "curvature" not in stated or not kept or not study.constant or not study.decreasing:
        return Markup("")
    options = {"curvature": stated["curvature"], "alpha": stated.get("alpha"), "epsilon": stated.get("epsilon")}
    found: StepRule = step_rule(study, start=float(study.along(run).norms[0]), **options)
    rows: list[list[Child]] = [
        [f"Theorem A, W = {number(found.curvature)} ({found.label})", limit(found.step, 6)],
        ["by the start alone", limit(found.step_by_start, 6)],
        ["limit of α", limit(found.alpha_limit, 6)],
    ]
    if found.tau_1 is not None and found.tau_2 is not None:
        rows.append([f"τ₁ at α = {number(found.alpha or 0.0)}", number(found.tau_1, 6)])
        rows.append([f"τ₂ at α = {number(found.alpha or 0.0)}", number(found.tau_2, 6)])
    return joined(element("h3", "Steps by the theorems"), table(["rule", "step at most"], rows))


SECTION = Section("lyapunov", "A function that falls", write)
