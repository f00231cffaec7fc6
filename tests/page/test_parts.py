"""The parts of a page: elements that escape, formulas that read well, figures without styles, motion drawn to scale."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import holdfast as hf
from holdfast.page.facts import counted
from holdfast.page.figures.chart import figure
from holdfast.page.figures.curve import even_groups, thinned
from holdfast.page.figures.outline import outlines
from holdfast.page.figures.scale import Scale, limits
from holdfast.page.markup.figure_text import quantity
from holdfast.page.markup.html import Markup, document, element, table
from holdfast.page.markup.mathml import formula, mathml
from holdfast.results.motion import motion_of
from tests.page.pages import EXAMPLES

TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=40)


# ── elements ──────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=60)
@given(TEXTS, TEXTS)
def test_any_text_comes_back_as_it_was(text, value):
    made = ElementTree.fromstring(element("p", text, title=value))
    assert (made.text or "") == text
    assert made.get("title") == value


def test_markup_is_left_alone_and_nothing_else():
    assert element("p", Markup("<b>x</b>"), "<i>") == "<p><b>x</b>&lt;i&gt;</p>"
    assert (
        element("input", type="range", disabled=True, hidden=False, id=None)
        == '<input type="range" disabled="disabled"/>'
    )
    assert "<td>&lt;</td>" in table(["a", "b"], [["x", "<"]])


def test_a_page_refuses_a_script_that_would_end_early():
    with pytest.raises(ValueError, match="script"):
        document(title="t", style="", script="x = '</script>'", body=Markup(""))


# ── formulas ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("latex", "wanted"),
    [
        (r"\dot{x}", "\U0001d465\u0307"),
        (r"\ddot{\varphi}", "\U0001d711\u0308"),
        (r"\dot{V}", 'accent="true"'),
        (r"\lambda_{\mathrm{rod}}", "<mi>rod</mi>"),
        (r"\left(\begin{matrix}1 & 0\\0 & 1\end{matrix}\right)", 'stretchy="true"'),
    ],
)
def test_formulas_read_well(latex, wanted):
    made = mathml(latex)
    assert wanted in made
    assert "xmlns" not in made
    ElementTree.fromstring(made)


@pytest.mark.parametrize(
    ("latex", "spaces"),
    [
        (r"m \sin{\left(x\right)}", 1),
        (r"\mathrm{mass} g", 1),
        (r"g \mathrm{mass} z", 2),
        (r"a b", 0),
        (r"\mathrm{mass}_{0} + b", 0),
        (r"\sin^{2}{\left(x\right)}", 0),
    ],
)
def test_words_stand_apart(latex, spaces):
    assert mathml(latex).count('width="0.22em"') == spaces


def test_the_formulas_of_examples_are_well_formed():
    for file in EXAMPLES[::3]:
        lines = re.findall(r"\\\[(.*?)\\\]", hf.derive(hf.load(file)).latex())[:12]
        assert len(lines) > 1
        for line in lines:
            shown = ElementTree.fromstring(formula(line.strip()))
            assert shown.find(".//math") is not None or "to be copied" in "".join(shown.itertext())


def test_a_formula_offers_its_latex():
    latex = r"x < \left(\frac{a}{b}\right) & \"quoted\""
    button = ElementTree.fromstring(formula(latex)).find("button")
    assert button.get("data-copy") == latex


# ── figures ───────────────────────────────────────────────────────────────────────────────────────


def test_a_figure_has_classes_for_colours_and_nothing_from_outside():
    made = figure("one", 'A "caption" & <more>', lambda axes: axes.plot([0, 1], [0, 1], label="x"))
    tree = ElementTree.fromstring(made)
    assert not [part for part in tree.iter() if "style" in part.attrib]
    assert any("s-s0" in part.get("class", "") for part in tree.iter())
    assert "http" not in made
    assert "".join(tree.find("figcaption").itertext()) == 'A "caption" & <more>'
    assert re.search(r'fill="#0[0-9a-f]{5}"', made) is None


def test_a_curve_is_where_its_values_are():
    """The corners of the axes, then a point in the middle; on the paper, up is down."""

    def draw(axes):
        axes.set_xlim(0, 10)
        axes.set_ylim(-1, 1)
        axes.plot([0, 5, 10], [-1, 0, 1], color="C2")

    (curve,) = re.findall(r'<path d="(M[^"]*)" class="s-s2"', figure("one", "", draw))
    points = np.array([[float(x) for x in pair.split()] for pair in re.split("[ML]", curve)[1:]])
    (left, low), middle, (right, high) = points
    assert left < right
    assert high < low
    assert_allclose(middle, [(left + right) / 2, (low + high) / 2], atol=0.1)


def test_what_is_not_a_number_leaves_a_gap():
    made = figure("gap", "", lambda axes: axes.plot([0, 1, 2, 3, 4], [0, 1, np.nan, 1, 0], color="C0"))
    (curve,) = re.findall(r'<path d="(M[^"]*)" class="s-s0"', made)
    assert curve.count("M") == 2
    assert "nan" not in made


@pytest.mark.parametrize(
    "bad", [[], [np.nan], [np.inf, -np.inf], [0.0], [1e300, 1e300], [-5.0, -5.0], [1e-320, 2e-320]]
)
@pytest.mark.parametrize("log", [False, True])
def test_every_axis_has_ends_and_ticks(bad, log):
    low, high = limits([np.array(bad)], 0.05, log=log)
    assert np.isfinite([low, high]).all()
    assert low < high
    values, labels, _ = Scale(low, high, 0.0, 100.0, log).ticks(6)
    assert len(values) == len(labels) <= 20


@given(st.floats(-1e12, 1e12), st.floats(1e-4, 1e12))
@settings(max_examples=60)
def test_ticks_are_few_even_and_within(low, part):
    width = part * max(1e-9, abs(low))
    values, _labels, _ = Scale(low, low + width, 0.0, 100.0).ticks(6)
    assert len(values) <= 8
    assert all(low - 1e-6 * width <= value <= low + width * (1 + 1e-6) for value in values)
    steps = np.diff(values)
    assert len(values) < 2 or np.allclose(steps, steps[0], rtol=1e-6)


def test_numbers_beside_an_axis_say_what_it_is():
    values, labels, factor = Scale(0.0, 2.5e-7, 0.0, 100.0).ticks(6)
    assert factor is not None
    assert "".join(span.text for span in factor.spans) == "×10−7"
    scaled = [float(label.spans[0].text.replace("−", "-")) for label in labels]
    assert_allclose(np.array(scaled) * 1e-7, values, rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "text"),
    [("x", "𝑥"), ("phi_dot", "𝜑\u0307"), ("h", "ℎ"), ("m1", "𝑚|1"), ("lambda_rod", "𝜆|rod"), ("Omega", "𝛺"),
     ("y_a_b", "𝑦|𝑎 𝑏"), ("alpha_ddot", "𝛼\u0308"), ("epsilon", "𝜀"), ("omega", "𝜔"), ("heat", "heat")],
)  # fmt: skip
def test_names_are_set_as_formulas_have_them(name, text):
    assert "|".join(span.text for span in quantity(name).spans) == text


def test_a_label_cannot_be_markup():
    made = figure("bad", "", lambda axes: axes.plot([0, 1], [0, 1], label="<script>x</script>") or axes.legend())
    assert "<script" not in made


def test_outlines_go_round_a_region():
    x = y = np.linspace(-2, 2, 201)
    (ring,) = outlines(x, y, 1 - np.hypot(*np.meshgrid(x, y)))
    assert_allclose(np.hypot(*ring), 1, atol=1e-3)
    assert (ring[0][0], ring[1][0]) == (ring[0][-1], ring[1][-1])
    area = 0.5 * abs(np.sum(ring[0][:-1] * ring[1][1:] - ring[0][1:] * ring[1][:-1]))
    assert area == pytest.approx(np.pi, rel=1e-3)
    assert len(outlines(x, y, np.full((201, 201), 1.0))) == 1  # all of it: along the border
    assert outlines(x, y, np.full((201, 201), -1.0)) == []
    apart = np.maximum(0.5 - np.hypot(*np.meshgrid(x - 1, y)), 0.5 - np.hypot(*np.meshgrid(x + 1, y)))
    assert len(outlines(x, y, apart)) == 2


@given(st.integers(2, 5000), st.integers(0, 10))
@settings(max_examples=30)
def test_thinning_keeps_ends_and_extremes(count, seed):
    values = np.random.default_rng(seed).normal(size=count)
    times, kept = thinned(np.arange(count), values, 200)
    assert len(times) <= 202
    assert (kept.min(), kept.max()) == (values.min(), values.max())
    assert (times[0], times[-1]) == (0, count - 1)


# ── motion ────────────────────────────────────────────────────────────────────────────────────────


def example(name, **asked):
    equations = hf.derive(hf.load(next(file for file in EXAMPLES if file.stem == name)))
    return hf.simulate(equations, **asked)


def test_points_are_where_the_problem_says():
    run = example("cart_rod")
    motion = motion_of(run)
    assert motion.names == ("O", "C")
    assert motion.links == ((0, 1),)
    assert len(motion.times) == 600
    rows = np.searchsorted(run.times, motion.times)
    x, phi = run["x"][rows], run["phi"][rows]
    assert_allclose(motion.frames[:, 1], np.array([x + np.cos(phi), np.sin(phi)]).T, rtol=1e-13)


def test_space_is_drawn_on_a_plane_and_fixed_points_are_known():
    motion = motion_of(example("bead_on_hoop", duration=1.0))
    assert motion.spatial
    assert motion.frames.shape[2] == 2
    assert motion.fixed == (0,)
    assert motion.traces == (1,)
    left, bottom, right, top = motion.box
    assert left < right
    assert bottom < top


def test_without_points_there_is_no_motion_to_draw():
    run = example("rlc")
    assert motion_of(run) is None
    with pytest.raises(hf.BadRequest, match="nothing to draw"):
        run.animate("x.gif")


def test_a_moving_picture_is_written(tmp_path):
    from PIL import Image

    path = example("cart_rod", duration=10.0).animate(tmp_path / "cart.gif", frames=12)
    with Image.open(path) as image:
        assert image.n_frames == 12
        first = np.asarray(image.convert("L"))
        image.seek(8)
        assert (np.asarray(image.convert("L")) != first).any()
    with pytest.raises(hf.BadRequest, match="not a GIF"):
        example("cart_rod", duration=1.0).animate(tmp_path / "cart.mp4")


def test_figures_for_python_users_return_axes():
    run = example("cart_rod", duration=5.0)
    axes = run.phase("x", "phi")
    assert_allclose(axes.lines[0].get_xdata(), run["x"])
    assert run.phase("x").get_ylabel() == r"$\dot{x}$"
    assert run.plot_deviation().get_yscale() == "log"
    with pytest.raises(hf.BadRequest, match="nothing to hold"):
        example("rlc").plot_deviation()


def test_the_rate_of_a_coordinate_called_y_is_no_deviation():
    run = example("skate", duration=0.5)
    assert run.deviation.shape[1] == 0
    assert run.deviation_rate.shape[1] == 1
    assert len(run.plot_deviation().lines) == 1


# ── counts and groups ─────────────────────────────────────────────────────────────────────────────


@given(st.integers(0, 40), st.integers(1, 6))
def test_curves_are_grouped_evenly(count, most):
    names = [str(k) for k in range(count)]
    groups = even_groups(names, most)
    assert [name for group in groups for name in group] == names
    sizes = [len(group) for group in groups]
    assert max(sizes, default=0) <= most
    assert max(sizes, default=0) - min(sizes, default=0) <= 1
    assert len(groups) == -(-count // most)


def test_nouns_follow_their_numbers():
    assert [counted(k, "step") for k in (0, 1, 2, 1000)] == ["0 steps", "1 step", "2 steps", "1,000 steps"]


EXTREME = [
    [1e-320, 1e308],
    [-1e308, 1e308],
    [1.7e308] * 2,
    [0, 5e-324],
    [1e16, 1e16 + 2],
    [np.inf, 1],
    [0, 0],
    [np.nan] * 2,
]


@pytest.mark.parametrize("values", EXTREME, ids=str)
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("equal", [False, True])
def test_whatever_a_run_gives_can_be_drawn(values, log, equal):
    def draw(axes):
        axes.log = log
        axes.plot(values, values, label="curve")
        axes.plot(values, values, "o")
        axes.axhline(values[0], color="C1")
        axes.legend()

    made = figure("extreme", "", draw, equal=equal)
    ElementTree.fromstring(made)
    assert not re.search(r"\b(nan|inf)\b", made)


def test_a_block_says_where_its_run_stayed():
    """In Omega, or in the tube: a proof along a run says nothing of Omega."""
    found = {}
    for name, tube in (("pendulum", False), ("pendulum", True)):
        problem = hf.load(next(file for file in EXAMPLES if file.stem == name))
        equations = hf.derive(problem)
        run = hf.simulate(equations, duration=1, every=1)
        found[tube] = hf.report(run, hf.certify(equations, trajectory=run, effort=1, tube=tube)).html
    assert "this run stayed in Omega." in found[False]
    assert "this run stayed in the tube." in found[True]
    assert "stayed in Omega" not in found[True]
