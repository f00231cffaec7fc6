"""Forces by their cause, the exhaust and the norm of the deviation, on a page."""

import pytest

import holdfast as hf
from tests.equations.mechanisms import example


@pytest.fixture(scope="module")
def rocket():
    run = hf.simulate(example("rocket_ascent"), hf.Euler, step=0.1, duration=5, start_policy="keep")
    return str(hf.report(run).html)


def section(html, name):
    begin = html.index(f'<section id="{name}"')
    return html[begin : html.index("</section>", begin)]


def test_the_parts_of_each_force_are_written_and_drawn(rocket):
    forces = section(rocket, "forces")
    assert "By cause" in forces
    for name in ("lambda_plane", "P2", "P3"):
        assert f"The parts of {name}" in forces
    assert "of second order in them" in forces
    assert "(0)" in forces
    assert "(1)" in forces
    assert "(2)</" not in forces  # a linear law has no part of second order to draw


def test_the_exhaust_has_formulas_and_curves(rocket):
    exhaust = section(rocket, "exhaust")
    assert "The exhaust leaves with" in exhaust
    assert exhaust.count("<math") >= 7
    assert "Velocity of the exhaust of rocket" in exhaust
    assert "<svg" in exhaust


def test_nothing_is_said_of_exhaust_where_there_is_no_thrust():
    run = hf.simulate(example("pendulum"), hf.RK4, step=0.01, duration=0.2)
    assert '<section id="exhaust"' not in str(hf.report(run).html)


def test_the_norm_of_the_deviation_is_a_headline_and_a_curve():
    run = hf.simulate(example("adaptive_optics"), hf.RK4, step=0.001, duration=1)
    html = str(hf.report(run).html)
    deviation = section(html, "deviation")
    assert "Norm of the deviation, ‖z‖" in deviation
    assert "starts at 0.02484" in deviation
    verdict = hf.report(run).verdict
    assert "‖z‖ 0.025" in verdict
    assert "never exceeded 0.012" in verdict  # the largest |y| stays beside it
