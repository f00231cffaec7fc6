"""Proofs for every two-stage scheme: its name is all that a verifier needs."""

from dataclasses import replace
from fractions import Fraction as F

import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdfast as hf
from holdfast.schemes.by_name import is_named, scheme_named
from holdfast.stability.verifier.schemes import tableau_named

x, y = hf.coordinates("x y")


def pendulum():
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=9.81 * y)
    law = hf.SpringDamper(stiffness=25, damping=10)
    program = hf.Program(holonomic={"rod": (x**2 + y**2 - 1) / 2}, law=law)
    return hf.derive(hf.Problem(system, program, start={x: 1}))


places = st.fractions(min_value="1/50", max_value=5, max_denominator=10**9)


@given(places)
def test_a_name_and_its_scheme_are_one(place):
    scheme = hf.two_stage(place)
    assert scheme_named(scheme.name) == scheme
    assert is_named(scheme)
    written = tableau_named(scheme.name)
    assert written is not None
    assert (written.stages, written.weights, written.order) == (scheme.stages, scheme.weights, scheme.order)
    assert sum(written.weights) == 1
    assert sum(b * c for b, c in zip(written.weights, written.nodes, strict=True)) == F(1, 2)


@pytest.mark.parametrize(
    "name",
    ["two-stage(0)", "two-stage(1/0)", "two-stage(-1/2)", "two-stage(3/4", "two-stage(0.75)", "two-stage(3/4)x",
     "two-stage(" + "9" * 61 + ")"],
)  # fmt: skip
def test_other_names_mean_nothing(name):
    assert tableau_named(name) is None
    with pytest.raises(hf.BadRequest, match="there is no scheme"):
        scheme_named(name)


def test_a_two_stage_scheme_is_proved_and_verified():
    equations = pendulum()
    certificate = hf.certify(equations, hf.two_stage("3/4"), step=0.01, duration=1, effort=4)
    assert certificate.label is hf.Label.proved
    assert certificate.scheme == "two-stage(3/4)"
    assert hf.verify(certificate).holds
    assert not hf.verify(replace(certificate, scheme="euler")).holds
    run = hf.simulate(equations, "two-stage(3/4)", step=0.01, duration=1)
    assert abs(run["y_rod"]).max() <= certificate["rod"].bounds[0]


def test_another_tableau_under_this_name_is_not_proved():
    """A claimed order, and a borrowed name: neither counts."""
    odd = hf.RungeKutta(name="two-stage(3/4)", order=1, stages=((), ("1/2",)), weights=("1/2", "1/2"))
    assert not is_named(odd)
    found = hf.certify(pendulum(), odd, step=0.01, duration=0.5, effort=1)
    assert found.label is hf.Label.checked
    assert "not one of the schemes" in found["rod"].reason
