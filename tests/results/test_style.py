"""Figures of matplotlib look like those of the page, unless somebody chose another style."""

import matplotlib as mpl
import pytest
from matplotlib.colors import to_hex

import holdfast as hf
from holdfast.results.style import COLOURS

mpl.use("Agg")


@pytest.fixture(scope="module")
def run():
    x = hf.coordinates("x")
    problem = hf.Problem(hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, potential=x**2 / 2), start={x: 1.0})
    return hf.simulate(hf.derive(problem), hf.RK4, step=0.1, duration=1.0)


def colour(axes):
    axes.figure.canvas.draw()
    return to_hex(axes.lines[0].get_color())


def test_a_plot_has_the_colours_of_the_page(run):
    axes = run.plot("x")
    assert colour(axes) == COLOURS[0]
    assert not axes.spines["top"].get_visible()


def test_nothing_of_the_style_stays_behind(run):
    before = dict(mpl.rcParams)
    run.plot("x")
    assert dict(mpl.rcParams) == before


def test_a_style_that_somebody_chose_is_kept(run):
    with mpl.rc_context({"axes.prop_cycle": mpl.cycler(color=["#123456"])}):
        assert colour(run.plot("x")) == "#123456"
