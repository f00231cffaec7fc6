"""The part of a page that lives: its sliders, hidden until its script has found them."""

from __future__ import annotations

import json

from holdfast.page.facts import PageFacts
from holdfast.page.living.model import LARGEST, LivingModel, why_not
from holdfast.page.living.sliders import Slider, sliders_of
from holdfast.page.markup.html import Child, Markup, details, element, paragraph
from holdfast.page.markup.mathml import mathml
from holdfast.page.section import heading
from holdfast.problem.quantities import latex_name

OPEN = 8  # sliders that stand there at once; the rest is folded away
HEADS = {"gain": "Gains", "parameter": "Parameters", "start": "Start", "step": "Step"}
FIXED = ("deviation_norm", "kinetic", "potential", "energy", "power_correction")


def living_of(subject: PageFacts, wanted: bool | None) -> LivingModel | None:
    """The model of a living page; None where it cannot be one, is not wanted, or is too large unless it is wanted."""
    if wanted is False or why_not(subject):
        return None
    equations = subject.equations
    names = (*equations.state_names, *equations.observables, *FIXED, *_of_bodies(subject))
    model = LivingModel(subject, tuple(dict.fromkeys(names)))
    return model if wanted or len(model.code) <= LARGEST else None


def _of_bodies(subject: PageFacts) -> list[str]:
    """The columns that turn wheels and draw arrows."""
    bodies = subject.motion.bodies if subject.motion is not None else ()
    return [name for body in bodies for name in body.get("columns", {}).values() if isinstance(name, str)]


def living_section(model: LivingModel) -> Markup:
    """Sliders, what they did, and the way back."""
    sliders = sliders_of(model.subject)
    rows = [_row(k, slider) for k, slider in enumerate(sliders)]
    first = element("div", *rows[:OPEN], class_="sliders")
    rest = details("More", element("div", *rows[OPEN:], class_="sliders")) if len(rows) > OPEN else None
    buttons = element(
        "p",
        element("button", "Reset", type="button", id="live-reset"),
        " ",
        element("button", "Copy link", type="button", id="live-link"),
    )
    return element(
        "section",
        heading("Try it", "live"),
        paragraph("Every move runs the equations again, here in this page. What was judged, proved or tabulated is "
                  "about the run as stated, and turns grey.", class_="quiet"),
        first,
        rest,
        buttons,
        element("output", "", id="live-said", aria_live="polite"),
        id="live",
        hidden=True,
        data_live=json.dumps(model.data),
        data_sliders=json.dumps([slider.data for slider in sliders]),
    )  # fmt: skip


def _label(slider: Slider) -> Child:
    """A name as formulas set it; gains by their words, as the file states them."""
    if slider.kind == "gain" or slider.kind == "step":
        return slider.name.removeprefix("law.").replace(".", " ").replace("_", " ")
    return mathml(latex_name(slider.name))


def _row(number: int, slider: Slider) -> Markup:
    name = f"{HEADS[slider.kind]}: {slider.name}"
    unit = element("span", f" [{slider.unit}]", class_="quiet") if slider.unit else None
    return element(
        "div",
        element("label", _label(slider), unit, for_=f"slider-{number}"),
        element(
            "input", type="range", id=f"slider-{number}", min="0", max="1", step="any", value="0.5",
            data_slider=str(number), aria_label=name,
        ),
        element("input", type="number", step="any", data_number=str(number), aria_label=f"{name}, as a number"),
        class_="slider",
    )  # fmt: skip
