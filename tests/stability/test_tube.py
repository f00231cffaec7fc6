"""Proofs in a tube along a run: what they hold, what they say, and what contradicts them."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from holdfast.engine.kernel import compiled
from holdfast.equations.values import parameter_vector
from holdfast.errors import BadRequest, InternalError
from holdfast.stability.certificate.certificate import made_here
from holdfast.stability.certificate.tube_proof import TubeProof, proof_from, tube_from
from holdfast.stability.tube.agreement import require_agreement
from holdfast.stability.tube.cells import Cells, outside
from holdfast.stability.tube.flow import tube_flow
from tests.stability.tube_truth import most_attained, random_state

EFFORT = 0.3  # Omega is too wide for these problems with any effort


def skate(scale=1.0, slope=0.35):
    """A knife edge on an incline; lengths in units of 1/scale metres."""
    x, y, phi = hf.coordinates("x y phi")
    kinetic = (x.rate**2 + y.rate**2) / 2 + scale**2 * phi.rate**2 / 6
    system = hf.System(coordinates=(x, y, phi), kinetic=kinetic, potential=-9.81 * scale * slope * x)
    edge = sp.sin(phi) * x.rate - sp.cos(phi) * y.rate
    program = hf.Program(nonholonomic={"edge": edge}, law=hf.critically_damped(10))
    start = {x.rate: 0.5 * scale, phi.rate: 2}
    return hf.derive(hf.Problem(system, program, start=start, run=hf.Run(scheme="rk4", step=0.01, duration=2.0)))


def pendulum_chain():
    """Two links in Cartesian coordinates."""
    a, b, c, d = hf.coordinates("a b c d")
    system = hf.System(
        coordinates=(a, b, c, d),
        kinetic=(a.rate**2 + b.rate**2 + c.rate**2 + d.rate**2) / 2,
        potential=9.81 * (b + d),
    )
    held = {"upper": (a**2 + b**2 - 1) / 2, "lower": ((c - a) ** 2 + (d - b) ** 2 - 1) / 2}
    program = hf.Program(holonomic=held, law=hf.critically_damped(10))
    start = {a: 0.6, b: -0.8, c: 1.4, d: -1.4}
    return hf.derive(hf.Problem(system, program, start=start, run=hf.Run(scheme="rk4", step=0.005, duration=1.0)))


@pytest.fixture(scope="module", autouse=True)
def no_region():
    """Omega is tried first, and some of these are proved there: here it is not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("holdfast.stability.promise.assess.prove", lambda *_, **__: None)
        yield


@pytest.fixture(scope="module")
def chain():
    equations = pendulum_chain()
    return equations, hf.certify(equations, effort=EFFORT)


@pytest.fixture(scope="module")
def edge():
    equations = skate()
    return equations, hf.certify(equations, effort=EFFORT)


@pytest.mark.parametrize("which", ["chain", "edge"])
def test_random_states_of_the_cells_add_no_more_than_is_proved(which, request):
    equations, certificate = request.getfixturevalue(which)
    assert most_attained(equations, certificate, 40) > 0.3  # and it is no idle bound


def test_every_row_of_the_run_lies_in_the_cells_and_a_moved_one_does_not(chain):
    _, certificate = chain
    tube, run = certificate.blocks[0].proof.tube, certificate.trajectory
    spans, curves, halves = ([cell[:2] for cell in tube.cells], *([cell[k] for cell in tube.cells] for k in (2, 3)))
    cells = Cells(np.array(spans), np.array(curves), np.array(halves))
    assert outside(cells, run) == []
    assert (cells.spans[1:, 0] == cells.spans[:-1, 1]).all()
    assert cells.spans[0, 0] == run.times[0]
    assert cells.spans[-1, 1] >= run.times[-1]
    moved = np.array(run.y)
    moved[2, 77] += 1.5 * cells.halves[:, 2].max()
    assert outside(cells, Rows(run.times, moved)) == [77]


class Rows:
    """Times and states, as `outside` reads them off a run."""

    def __init__(self, times, y):
        self.times, self.y = times, y


def test_halved_cells_hold_what_the_whole_ones_hold(chain):
    tube = chain[1].blocks[0].proof.tube
    whole = Cells(*(np.array([cell[k] if k else cell[:2] for cell in tube.cells[:5]]) for k in (0, 2, 3)))
    half, rng = whole.halved(), np.random.default_rng(1)
    for k in range(5):
        for _ in range(20):
            t, x = random_state(rng, tube.cells[k])
            part = k if t <= half.spans[k, 1] else 5 + k
            start, end = (Fraction(float(v)) for v in half.spans[part])
            s = (Fraction(float(t)) - start) / (end - start)
            for i, curve in enumerate(half.curves[part]):
                value = sum(Fraction(float(c)) * s**n for n, c in enumerate(curve))
                assert abs(Fraction(float(x[i])) - value) <= Fraction(float(half.halves[part, i]))


def test_the_bounds_hold_along_the_run_and_are_near_it(chain):
    _, certificate = chain
    for block in certificate.blocks:
        for name, bound in zip(block.names, block.bounds, strict=True):
            seen = float(np.abs(certificate.trajectory[name]).max())
            assert seen <= bound <= 100 * seen
        assert block.stayed


def test_it_says_its_width_and_what_it_does_not_say(chain):
    _, certificate = chain
    text = certificate.summary()
    assert "proved in a tube along this run" in text
    assert "within 0.1 % of each state's range of this run at the same time" in text
    assert "Nothing is said of runs that leave the tube" in text
    share = EFFORT / len(certificate.blocks)
    told = f"the region was not covered with {share:.3g}, its share of an effort of {EFFORT:.3g}; more effort"
    assert f"Omega is the stronger claim: {told}" in text
    assert "proved while in Omega" not in text
    labels = list(hf.Label)
    assert labels.index(hf.Label.proved) < labels.index(hf.Label.tube) < labels.index(hf.Label.checked)
    assert hf.Label.tube.positive
    assert hf.Label.tube.is_proof
    assert not hf.Label.checked.is_proof


def test_the_file_holds_the_cells_once_and_gives_them_back(chain):
    _, certificate = chain
    data = json.loads(json.dumps(certificate.to_dict()))
    assert len(data["tubes"]) == 1
    assert [block["proof"]["tube"] for block in data["blocks"]] == [0, 0]
    assert data["blocks"][0]["proof"]["kind"] == "tube"
    tubes = [tube_from(entry) for entry in data["tubes"]]
    for block, entry in zip(certificate.blocks, data["blocks"], strict=True):
        again = proof_from(entry["proof"], tubes)
        assert replace(block.proof, reaches=()) == again


def test_the_same_problem_gives_the_same_certificate(edge, tmp_path, monkeypatch):
    monkeypatch.setenv("HOLDFAST_CACHE", str(tmp_path / "another"))
    again = hf.certify(skate(), effort=EFFORT)
    assert json.dumps(again.to_dict()) == json.dumps(edge[1].to_dict())


def test_an_altered_tube_is_not_what_certify_made(edge):
    _, certificate = edge
    block = certificate.blocks[0]
    tube = block.proof.tube
    first = (*tube.cells[0][:3], tuple(2 * half for half in tube.cells[0][3]))
    wider = replace(block.proof, tube=replace(tube, cells=(first, *tube.cells[1:])))
    other = replace(certificate, blocks=(replace(block, proof=wider),))
    assert made_here(certificate)
    assert not made_here(other)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_a_mechanism_in_other_units_has_the_same_tube(scale, edge):
    made = hf.certify(skate(scale), effort=EFFORT)
    ours, theirs = edge[1].blocks[0], made.blocks[0]
    assert theirs.label is hf.Label.tube
    assert theirs.proof.tube.width == ours.proof.tube.width
    assert theirs.defect == pytest.approx(scale * ours.defect, rel=0.05)


def test_equations_that_do_not_solve_their_system_are_an_error_of_the_product():
    equations = skate()
    flow = tube_flow(equations, {})
    place = (0.0, list(hf.simulate(equations, duration=0.01).y[:, 0]))
    require_agreement(flow, [place])
    wrong = replace(flow, code_unknowns=(flow.code_unknowns[0] * 2, *flow.code_unknowns[1:]))
    with pytest.raises(InternalError, match="do not solve the system"):
        require_agreement(wrong, [place])


@pytest.mark.parametrize(("scheme", "step"), [(hf.Euler, 1e-3), (hf.Midpoint, 0.002), (hf.Kutta3, 0.004)])
def test_other_schemes_are_proved_in_a_tube_too(scheme, step):
    made = hf.certify(pendulum_chain(), scheme, step=step, duration=200 * step, effort=EFFORT)
    assert [block.label for block in made.blocks] == [hf.Label.tube] * 2


def test_what_forms_do_not_know_is_said_by_name():
    a, b = hf.coordinates("a b")
    system = hf.System(
        coordinates=(a, b), kinetic=(a.rate**2 + b.rate**2) / 2, potential=9.81 * b, forces={a: -sp.atan(a.rate)}
    )
    program = hf.Program(holonomic={"rod": (a**2 + b**2 - 1) / 2}, law=hf.critically_damped(10))
    problem = hf.Problem(system, program, start={a: 1}, run=hf.Run(scheme="rk4", step=0.005, duration=0.5))
    block = hf.certify(hf.derive(problem), effort=0.02).blocks[0]
    assert block.label is hf.Label.checked
    assert "do not know 'atan'" in block.reason
    assert not isinstance(block.proof, TubeProof)


def test_starts_within_the_proved_distance_stay_in_the_tube(edge):
    equations, certificate = edge
    starts, run, rng = hf.safe_starts(equations, certificate), certificate.trajectory, np.random.default_rng(8)
    assert starts.part >= 1 / 60
    tube = certificate.blocks[0].proof.tube
    cells = Cells(*(np.array([cell[k] if k else cell[:2] for cell in tube.cells]) for k in (0, 2, 3)))
    kernel, numbers = compiled(equations.field, hf.RK4), parameter_vector(equations, {})
    far = np.array([starts.distances[name] for name in run.state_names])
    widths, furthest = tube.width * np.array([scale for _, scale in tube.scales]), 0.0
    for _ in range(30):
        begin = run.y[:, 0] + np.sign(rng.uniform(-1, 1, len(far))) * far
        rows = kernel.run(begin, numbers, step=certificate.step, steps=len(run.times) - 1)
        assert outside(cells, Rows(rows.times, rows.states.T)) == []
        away = np.abs(rows.states.T - run.y) / widths[:, None]
        furthest = max(furthest, float(away.max()))
    assert starts.part < furthest <= 1  # they do go their own way
    assert "stays in the tube to the end" in str(starts)


def test_safe_starts_asks_for_a_certificate_in_a_tube_that_was_made_here(edge):
    equations, certificate = edge
    with pytest.raises(BadRequest, match="not made here"):
        hf.safe_starts(equations, replace(certificate, title="another"))
    with pytest.raises(BadRequest, match="takes Equations"):
        hf.safe_starts(certificate, equations)
    with pytest.raises(BadRequest, match="other equations"):
        hf.safe_starts(with_a_parameter(), certificate)


def with_a_parameter():
    a, (m,) = hf.coordinates("a"), (hf.parameters("m"),)
    system = hf.System(coordinates=(a,), kinetic=m * a.rate**2 / 2, parameters={m: 1})
    return hf.derive(hf.Problem(system, hf.Program(holonomic={"home": a}, law=hf.critically_damped(1))))
