"""Events, tables and figures of ensembles."""

import matplotlib as mpl
import numpy as np
import pytest

import holdfast as hf

mpl.use("Agg")
x = hf.coordinates("x")
k = hf.parameters("k")


@pytest.fixture(scope="module")
def runs() -> hf.Ensemble:
    """Oscillators of different stiffness, released at 1: x = cos(√k t)."""
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, potential=k * x**2 / 2, parameters={k: 1})
    problem = hf.Problem(
        system,
        start={x: 1},
        run=hf.Run(scheme="rk4", step=0.01, duration=6),
        events={"through": hf.Event(x, "falling")},
        output={"force": "-k*x"},
    )
    return hf.ensemble(hf.derive(problem), cases={"k": np.array([0.25, 1.0, 4.0])})


def test_events_are_found_in_every_case_as_in_a_run(runs):
    found = runs.event_times()["through"]
    for case, (rate, times) in enumerate(zip((0.5, 1.0, 2.0), found, strict=True)):
        wanted = np.arange(np.pi / 2, 6 * rate, 2 * np.pi) / rate
        assert times == pytest.approx(wanted, abs=1e-6)
        alone = hf.simulate(runs.equations, parameters={"k": runs.cases["k"][case]})
        assert np.array_equal(times, alone.events["through"])


def test_other_events_may_be_asked_for(runs):
    turning = runs.event_times({"turning": hf.Event("x_ddot", "rising")})["turning"]
    assert [len(times) for times in turning] == [1, 1, 2]


def test_an_event_that_ends_is_refused():
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2)
    problem = hf.Problem(
        system,
        start={x.rate: 1},
        run=hf.Run(scheme="rk4", step=0.1, duration=1),
        events={"wall": hf.Event("x - 1/2", terminal=True)},
    )
    with pytest.raises(hf.HoldfastError, match="'wall' ends a run"):
        hf.ensemble(hf.derive(problem), cases={"x": [0.0, 0.1]})


def test_tables_have_a_row_for_each_case(runs):
    table = runs.to_pandas()
    assert list(table["k"]) == [0.25, 1.0, 4.0]
    assert table["final(x)"].to_numpy() == pytest.approx(np.cos(6 * np.array([0.5, 1, 2])), abs=1e-6)
    assert set(table["outcome"]) == {"completed"}
    assert runs.to_xarray()["force"].shape == (3, 601)


def test_figures_show_what_they_say(runs):
    bands = runs.plot("x")
    assert bands.lines[0].get_ydata() == pytest.approx(np.median(runs["x"], axis=0))
    assert len(bands.collections) == 2
    histogram = runs.plot("max(abs(force))", "histogram")
    assert sum(patch.get_height() for patch in histogram.patches) == 3
    parallel = runs.plot("max(x_dot)", "parallel")
    assert len(parallel.lines) == 3 + 2  # the cases, and an axis for each column
    low, high = parallel.get_ylim()
    assert all(low < note.xy[1] < high for note in parallel.texts)  # the ends are written within the figure
    assert [note.get_text() for note in parallel.texts][:2] == ["4", "0.25"]
    assert [label.get_text() for label in parallel.get_xticklabels()] == ["k", "max(x_dot)"]
    with pytest.raises(hf.HoldfastError, match="no figure 'pie'"):
        runs.plot("x", "pie")
    mpl.pyplot.close("all")
