"""Schemes that a user makes: proved where their order is shown, and re-checked from the tableau in the file."""

import json
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest

import holdfast as hf
from holdfast.schemes.algebra.order_conditions import trees
from holdfast.schemes.by_name import ALL_SCHEMES, scheme_meant
from holdfast.stability.promise.tableau import stated_tableau, unshown_order
from holdfast.stability.verifier.reading.file import digest
from holdfast.stability.verifier.refusal import Refused
from holdfast.stability.verifier.schemes import TABLEAUS, _trees, is_taken
from holdfast.stability.verifier.schemes import stated_tableau as checked_tableau
from tests.stability.held import pendulum

SSP33 = hf.RungeKutta(name="ssp33", order=3, stages=((), (1,), ("1/4", "1/4")), weights=("1/6", "1/6", "2/3"))
SSP42 = hf.RungeKutta(
    name="ssp42", order=2, stages=((), ("1/3",), ("1/3", "1/3"), ("1/3", "1/3", "1/3")), weights=("1/4",) * 4
)
BUTCHER5 = hf.RungeKutta(
    name="butcher5", order=5,
    stages=((), ("1/4",), ("1/8", "1/8"), (0, "-1/2", 1), ("3/16", 0, 0, "9/16"),
            ("-3/7", "2/7", "12/7", "-12/7", "8/7")),
    weights=("7/90", 0, "32/90", "12/90", "32/90", "7/90"),
)  # fmt: skip


@pytest.fixture(scope="module", params=[SSP33, SSP42, BUTCHER5], ids=lambda scheme: scheme.name)
def made(request):
    asked = {"step": 0.01, "duration": 0.6, "effort": 1}
    return request.param, hf.certify(hf.derive(pendulum(0.05)), request.param, **asked)


def test_a_user_s_tableau_is_proved_and_verified_from_its_file(made, tmp_path):
    scheme, certificate = made
    assert certificate.label is hf.Label.proved, certificate["rod"].reason
    certificate.save(tmp_path / "c.json")
    assert hf.Certificate.load(tmp_path / "c.json").tableau == stated_tableau(scheme)
    found = hf.verify(tmp_path / "c.json")
    assert found.holds, found.findings
    stated = f"{scheme.name} is the tableau that it states, of order {scheme.order} with {scheme.stage_count} stages"
    assert stated in found.findings


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t["weights"].reverse(), "is not of order"),
        (lambda t: t.update(order=t["order"] + 1), "is not of order"),
        (lambda t: t["stages"][0].append("1"), "is not explicit"),
        (lambda t: t["stages"].pop(), "no shape"),
        (lambda t: t["weights"].__setitem__(0, "1/0"), "is no ratio"),
        (lambda t: t["weights"].__setitem__(0, 0.5), "is no ratio"),
    ],
)
def test_an_altered_tableau_is_refused(made, tmp_path, change, words):
    data = made[1].to_dict()
    change(data["tableau"])
    if data["tableau"]["weights"] == made[1].tableau["weights"][::-1] == list(made[1].tableau["weights"]):
        pytest.skip("the same either way")
    data["digest"] = digest(data)
    (tmp_path / "c.json").write_text(json.dumps(data))
    found = hf.verify(tmp_path / "c.json")
    assert not found.holds
    assert words in found.findings[0]


@pytest.mark.parametrize("name", ["rk4", "RK4", "rk4 ", "dop853", "DOPRI5", "Two_Stage(3/4)", "\uff52\uff4b4"])
def test_a_known_name_is_not_given_to_another_tableau(made, tmp_path, name):
    """However it is written: "every run of DOPRI5 with step 0.01" was confirmed of a tableau of Euler's."""
    data = made[1].to_dict() | {"scheme": name}
    data["digest"] = digest(data)
    (tmp_path / "c.json").write_text(json.dumps(data))
    assert "another tableau" in hf.verify(tmp_path / "c.json").findings[0]


def test_every_name_that_means_a_scheme_is_taken():
    for scheme in ALL_SCHEMES:
        for name in (scheme.name, scheme.name.upper(), scheme.name.replace("-", " ")):
            assert scheme_meant(name) == scheme
            assert is_taken(name)
    assert scheme_meant("mine") is None
    assert not is_taken("mine")


def test_why_an_order_is_not_shown():
    borrowed = hf.RungeKutta(name="RK4", order=SSP33.order, stages=SSP33.stages, weights=SSP33.weights)
    assert "name of another" in unshown_order(borrowed)
    assert "not exact" in unshown_order(hf.RungeKutta(name="a", order=1, stages=((),), weights=(1,), digits=10))
    claimed = hf.RungeKutta(name="b", order=4, stages=TABLEAUS["rk4"].stages, weights=TABLEAUS["rk4"].weights)
    object.__setattr__(claimed, "order", 5)
    assert "not of the order" in unshown_order(claimed)
    object.__setattr__(claimed, "order", 7)
    assert "above 6" in unshown_order(claimed)
    assert unshown_order(SSP33) is None
    assert "name of another" in unshown_order(
        hf.RungeKutta(name="heun", order=1, stages=((), ("1/2",)), weights=("1/2", "1/2"))
    )


def test_the_verifier_knows_as_many_trees():
    assert [len(_trees(n)) for n in range(1, 7)] == [len(trees(n)) for n in range(1, 7)] == [1, 1, 2, 4, 9, 20]


def test_the_verifier_s_own_conditions_are_those_of_known_schemes():
    for tableau in TABLEAUS.values():
        rows, weights = [list(row) for row in tableau.stages], list(tableau.weights)
        assert checked_tableau(rows, weights, tableau.order).order == tableau.order
        with pytest.raises(Refused, match="not of order"):
            checked_tableau(rows, weights, tableau.order + 1)
    with pytest.raises(Refused, match="an order that is not checked"):
        checked_tableau([[]], [F(1)], 0)


def test_stages_beyond_the_order_are_proved_for_affine_programs_too():
    """y = x under R = 1 + z + z²/2 + ..., of which only z² is the order's: the rest acts on the deviation itself."""
    x = hf.coordinates("x")
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2)
    program = hf.Program(holonomic={"home": x}, controls={"u": {x: 1}}, law=hf.SpringDamper(stiffness=9, damping=6))
    problem = hf.Problem(system, program, start={x: 0.3}, run=hf.Run(start_policy="keep"))
    equations = hf.derive(problem)
    certificate = hf.certify(equations, SSP42, step=0.1, duration=4, effort=1)
    block = certificate["home"]
    assert block.label in (hf.Label.proved, hf.Label.tube), block.reason
    run = hf.simulate(equations, SSP42, step=0.1, duration=4)
    seen = np.abs(np.array([run[name] for name in block.names]))
    assert (seen <= block.envelope(np.arange(len(run.times)))).all()
    exact, truncated = np.array(SSP42.propagator(np.array(block.matrix), 0.1)), np.array(block.matrix) * 0.1
    truncated = np.eye(2) + truncated + truncated @ truncated / 2
    missed = np.linalg.norm(np.array(block.proof.factor).T @ (exact - truncated) @ run_start(run, block))
    assert 1e-3 * block.defect < missed <= block.defect  # the first step of this very run
    assert hf.verify(certificate), hf.verify(certificate).findings


def test_gains_that_are_no_doubles_are_refused_whatever_the_stages():
    """4 stages of order 2: the doubles of H are not the law, which is no fault of the equations."""
    T = hf.parameters("T")
    problem = pendulum(0.05)
    system = replace(problem.system, parameters={**problem.system.parameters, T: 1.3})
    law = hf.SpringDamper(stiffness=25 * T, damping=10)
    equations = hf.derive(replace(problem, system=system, program=replace(problem.program, law=law)))
    certificate = hf.certify(equations, SSP42, step=0.005, duration=0.3, effort=1)
    assert "not exact in double precision" in certificate["rod"].reason
    assert certificate.label in (hf.Label.tube, hf.Label.checked)


def run_start(run, block):
    return np.array([run[name][0] for name in block.names])


def test_a_run_of_another_tableau_of_the_same_name_speaks_for_no_certificate():
    impostor = hf.RungeKutta(name="rk4", order=1, stages=((), ("1/2",)), weights=("1/2", "1/2"))
    equations = hf.derive(pendulum(0.05))
    run = hf.simulate(equations, impostor, step=0.01, duration=0.3)
    with pytest.raises(hf.BadRequest, match="another scheme that is called rk4"):
        hf.certify(equations, hf.RK4, trajectory=run)
    with pytest.raises(hf.BadRequest, match="another scheme that is called rk4"):
        hf.certify_stretches(equations, trajectory=run)
    with pytest.raises(hf.BadRequest, match="another scheme that is called rk4"):
        hf.own_step_bounds(equations, run)


def test_a_saved_run_keeps_the_fingerprint_of_its_scheme(tmp_path):
    equations = hf.derive(pendulum(0.05))
    run = hf.simulate(equations, hf.RK4, step=0.01, duration=0.3)
    run.save(tmp_path / "run.npz")
    again = hf.Trajectory.load(tmp_path / "run.npz")
    assert again.scheme_fingerprint == run.scheme_fingerprint == hf.RK4.fingerprint
    assert hf.certify(equations, hf.RK4, trajectory=again, effort=1e-9)
