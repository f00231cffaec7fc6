"""Figures of a run, a certificate: what is drawn, where, and under which name."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

import holdfast as hf
from tests.stability.held import pendulum


@pytest.fixture(scope="module")
def run():
    return hf.simulate(hf.derive(pendulum(0.5)), hf.RK4, step=0.01, duration=0.2)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def drawn(axes):
    return {
        line.get_label().strip("$"): (np.asarray(line.get_xdata()), np.asarray(line.get_ydata())) for line in axes.lines
    }


def with_column(run, name, values):
    """The run with one column put in the place of its own."""
    return replace(run, columns={**run.columns, name: np.asarray(values, dtype=float)})


def test_coordinates_stand_above_deviations(run):
    upper, lower = run.plot()
    assert set(drawn(upper)) == {"x", "y"}
    for name in ("x", "y"):
        assert drawn(upper)[name][1].tolist() == run[name].tolist()
        assert drawn(upper)[name][0].tolist() == run.times.tolist()
    assert lower.get_ylabel() == "deviation"
    assert lower.get_xlabel() == "time"
    assert upper.get_xlabel() == ""
    assert len(lower.lines) == 2
    assert upper.get_legend() is not None


def test_quantities_that_are_asked_for_stand_on_one_pair_of_axes(run):
    axes = run.plot("energy", "kinetic")
    assert [line.get_ydata().tolist() for line in axes.lines] == [run["energy"].tolist(), run["kinetic"].tolist()]
    assert axes.get_xlabel() == "time"
    assert axes.get_legend() is not None


def test_a_deviation_is_drawn_where_it_is_not_zero(run):
    """On a logarithmic scale 0 has no place: rows of 0 are gaps, and a deviation that is always 0 is not drawn."""
    some = np.array(run["y_rod"])
    some[:5] = 0.0
    some[7] = -1e-9
    axes = with_column(run, "y_rod", some).plot_deviation()
    (shown,) = [line for line in axes.lines if "y" in line.get_label() and line.get_ydata()[7] == 1e-9]
    assert np.isnan(shown.get_ydata()[:5]).all()
    assert shown.get_ydata()[6:].tolist() == np.abs(some[6:]).tolist()
    assert axes.get_yscale() == "log"
    assert axes.get_xlabel() == "time"
    none = with_column(run, "y_rod", np.zeros_like(some)).plot_deviation()
    assert len(none.lines) == 1
    tiny = with_column(run, "y_rod", np.full_like(some, 1e-300)).plot_deviation()
    assert len(tiny.lines) == 2


def test_where_nothing_is_held_there_is_one_panel_and_no_deviation():
    x = hf.coordinates("x")
    free = hf.derive(hf.Problem(hf.System(coordinates=x, kinetic=x.rate**2 / 2), start={x.rate: 1}))
    run = hf.simulate(free, hf.RK4, step=0.1, duration=1)
    (axes,) = run.plot()
    assert axes.get_xlabel() == "time"
    with pytest.raises(hf.BadRequest, match="nothing deviates"):
        run.plot_deviation()


def test_a_phase_portrait_marks_start_and_end(run):
    axes = run.phase("x")
    lines = drawn(axes)
    assert (lines["start"][0].tolist(), lines["start"][1].tolist()) == ([run["x"][0]], [run["x_dot"][0]])
    assert (lines["end"][0].tolist(), lines["end"][1].tolist()) == ([run["x"][-1]], [run["x_dot"][-1]])
    path = axes.lines[0]
    assert path.get_xdata().tolist() == run["x"].tolist()
    assert path.get_ydata().tolist() == run["x_dot"].tolist()
    other = run.phase("x", "y")
    assert other.lines[0].get_ydata().tolist() == run["y"].tolist()
    assert (other.get_xlabel(), other.get_ylabel()) == ("$x$", "$y$")


# ── certificates ──────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def certificate(run):
    return hf.certify(run.equations, trajectory=run, effort=1e-9)


def test_a_certificate_draws_each_deviation_and_its_bound(certificate, run):
    (axes,) = certificate.plot()
    (block,) = certificate.blocks
    assert block.label is hf.Label.checked
    assert axes.get_title(loc="left") == "rod: checked"
    curves = [line for line in axes.lines if len(line.get_ydata()) == len(run.times)]
    bounds = [line for line in axes.lines if len(line.get_ydata()) == 2]
    assert [line.get_ydata()[0] for line in bounds] == list(block.bounds)
    assert {line.get_linestyle() for line in bounds} == {"--"}
    assert [line.get_color() for line in curves] == [line.get_color() for line in bounds]
    assert len({line.get_color() for line in curves}) == 2
    for line, name in zip(curves, block.names, strict=True):
        size = np.abs(run[name])
        assert line.get_ydata()[size > 0].tolist() == size[size > 0].tolist()
        assert np.isnan(line.get_ydata()[size == 0]).all()
    assert axes.get_xlabel() == "time"
    assert axes.get_ylabel() == "deviation"


def test_a_certificate_of_a_run_that_never_deviates_draws_its_bounds(certificate, run):
    (block,) = certificate.blocks
    still = type("Still", (), {"times": run.times, "__getitem__": lambda self, name: np.zeros_like(run.times)})()
    (axes,) = replace(certificate, trajectory=still).plot()
    assert [line.get_ydata()[0] for line in axes.lines] == list(block.bounds)


def test_a_certificate_without_a_run_cannot_be_drawn(certificate):
    with pytest.raises(hf.BadRequest, match="it was loaded from a file"):
        replace(certificate, trajectory=None).plot()
    with pytest.raises(hf.BadRequest, match="nothing is held"):
        replace(certificate, blocks=()).plot()
