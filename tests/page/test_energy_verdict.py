"""A motion whose energy changes although nothing does work is not called good."""

from dataclasses import replace
from importlib import resources

import pytest

import holdfast as hf

PENDULUM = resources.files("holdfast") / "examples" / "pendulum.toml"


def page(scheme, step):
    problem = hf.load(str(PENDULUM))
    equations = hf.derive(replace(problem, run=hf.Run(scheme=scheme.name, step=step, duration=1)))
    return hf.report(hf.simulate(equations))


def test_energy_that_nothing_can_change_must_stay():
    pumped = page(hf.Euler, 0.01)
    assert not pumped.good
    assert pumped.faults[0].startswith("The energy changed, though nothing does work.")
    assert page(hf.RK4, 0.01).good


def test_a_certificate_of_another_run_is_refused():
    problem = hf.load(str(PENDULUM))
    equations = hf.derive(problem)
    run = hf.simulate(equations, hf.RK4, step=0.01, duration=1)
    other = hf.certify(equations, hf.RK4, step=0.02, duration=1, effort=1e-9)
    with pytest.raises(hf.BadRequest, match="another step"):
        hf.report(run, other)
