"""How to make this page again: command, problem hash, versions, environment, seed."""

from __future__ import annotations

import platform
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version

from holdfast.page.facts import PageFacts, counted
from holdfast.page.markup.html import Child, Markup, details, element, joined, paragraph, table
from holdfast.page.section import Section

PACKAGES = "holdfast numpy sympy scipy llvmlite python-flint matplotlib latex2mathml".split()


def write(subject: PageFacts) -> Markup:
    run = subject.trajectory
    rows: list[list[Child]] = [
        ["problem hash", element("code", _hash(subject))],
        ["equations", element("code", subject.equations.fingerprint)],
        ["seed", "none: the run has no random part"],
        ["evaluations", f"{run.nfev:,} in {counted(run.steps, 'step')}, {run.rejected:,} rejected"],
        ["versions", ", ".join(f"{name} {_version(name)}" for name in PACKAGES)],
        ["machine", f"Python {platform.python_version()}, {platform.system()}, {platform.machine()}"],
    ]
    facts = table(["what", "value"], rows, class_="wrap")
    return joined(_again(subject), details("Hash, versions and machine", facts))


def _again(subject: PageFacts) -> Markup:
    if subject.command:
        text, words = subject.command, "This page was made by"
    else:
        text, words = (
            _python(subject),
            "Save the problem file above as problem.toml; this makes the run and the page again:",
        )
    button = element("button", "Copy", type="button", class_="copy", data_copy=text, title="Copy the command")
    return joined(paragraph(words), element("div", element("pre", text, tabindex="0"), button, class_="source"))


def _python(subject: PageFacts) -> str:
    run, stated = subject.trajectory, subject.equations.stated_values
    size = f"step={run.step!r}" if run.step is not None else f"tolerance={run.tolerance!r}"
    duration = float(run.times[-1] - run.times[0])
    changed = {name: float(value) for name, value in run.parameters.items() if stated.get(name) != float(value)}
    further = f", parameters={changed!r}" if changed else ""
    return (
        "import holdfast as hf\n"
        'equations = hf.derive(hf.load("problem.toml"))\n'
        f'run = hf.simulate(equations, "{run.scheme}", {size}, duration={duration!r}{further}, '
        f"start={list(run.start.state)!r}"
        f"{', start_policy=' + repr(run.start.policy) if run.start.policy != 'default' else ''})\n"
        'hf.report(run).save("page.html")'
    )


def _hash(subject: PageFacts) -> str:
    return "sha256:" + sha256(subject.text.encode()).hexdigest() if subject.text else "none (stated in Python)"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


SECTION = Section("provenance", "How to make this page again", write)
