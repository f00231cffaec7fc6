"""Bounds in phase: what they hold, how near they are, and for whom."""

import numpy as np
import pytest

import holdfast as hf
from holdfast.engine.kernel import compiled
from holdfast.equations.values import parameter_vector
from holdfast.graph.arithmetics.balls import precision
from holdfast.stability.proof.contraction import Contraction
from holdfast.stability.proof.enclosure import ball_matrix
from holdfast.stability.tube.cells import Cells, outside
from holdfast.stability.tube.in_phase import phase_bounds

SKATE = """schema = 1
[system]
coordinates = ["x", "y", "phi"]
kinetic = "(x_dot**2 + y_dot**2)/2 + phi_dot**2/6"
potential = "-3*x"
[program.nonholonomic]
edge = "x_dot*sin(phi) - y_dot*cos(phi)"
[program.law]
kind = "critically-damped"
rate = 10
[start]
x_dot = 0.5
phi_dot = 2
[run]
scheme = "rk4"
step = 0.01
duration = 3
"""


@pytest.fixture(scope="module")
def skate():
    equations = hf.derive(hf.loads(SKATE))
    certificate = hf.certify(equations, tube=True, effort=1)
    return equations, certificate, hf.in_phase(equations, certificate)["edge"]


def test_any_defects_within_their_ranges_stay_within_the_bounds():
    rng, steps = np.random.default_rng(5), 400
    turn = 0.97 * np.array([[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]])
    middle = np.column_stack([np.sin(0.02 * np.arange(steps)), np.cos(0.05 * np.arange(steps))])
    spread = 0.1 * rng.random((steps, 2))
    with precision(80):
        contraction = Contraction(np.eye(2), 0.9701, ball_matrix(turn))
        assert contraction.holds()
        found = phase_bounds(contraction, ("a", "b"), middle - spread, middle + spread, 2.0, 1e-3, 0.5)
    furthest = 0.0
    for _ in range(30):
        sign = np.sign(rng.uniform(-1, 1, (steps, 2))) if rng.random() < 0.5 else np.ones((steps, 2))
        psi = 0.5 * np.array([np.cos(angle := rng.uniform(0, 7)), np.sin(angle)])
        for k in range(steps):
            away = np.abs(psi - found.middle[k])
            assert (away <= found.radius[k]).all()
            furthest = max(furthest, float((away / found.radius[k]).max()))
            psi = turn @ psi + middle[k] + sign[k] * spread[k]
    assert furthest > 0.5
    assert max(found.bounds) < 2.0 / (1 - 0.9701)  # what the norm alone says


def test_the_run_and_its_neighbours_lie_within_and_the_bound_is_near(skate):
    equations, certificate, found = skate
    block, run = certificate["edge"], certificate.trajectory
    kernel, numbers = compiled(equations.field, hf.RK4), parameter_vector(equations, {})
    cells = Cells(*(np.array([c[k] if k else c[:2] for c in block.proof.tube.cells]) for k in (0, 2, 3)))
    widths = block.proof.tube.width * np.array([scale for _, scale in block.proof.tube.scales])
    names, tried = list(run.state_names), 0
    for turned in (-0.3, -0.1, 0.0, 0.1, 0.3):
        begin = run.y[:, 0].copy()
        angle = turned * widths[names.index("phi")] / 10
        speed = 0.5 + turned * widths[names.index("x_dot")] / 10
        begin[names.index("phi")] += angle
        begin[names.index("x_dot")], begin[names.index("y_dot")] = speed * np.cos(angle), speed * np.sin(angle)
        rows = kernel.run(begin, numbers, step=certificate.step, steps=len(run.times) - 1)
        if outside(cells, _Rows(rows.times, rows.states.T)):
            continue
        tried += 1
        phi, x_dot, y_dot = (rows.states[:, names.index(name)] for name in ("phi", "x_dot", "y_dot"))
        w = x_dot * np.sin(phi) - y_dot * np.cos(phi)
        assert (np.abs(w - found.middle[:, 0]) <= found.radius[:, 0] + 1e-15).all()
    assert tried >= 3
    assert block.observed[0] <= found.bounds[0] < 1.3 * block.observed[0]
    assert found.bounds[0] < 0.9 * block.bounds[0]


class _Rows:
    def __init__(self, times, y):
        self.times, self.y = times, y


def test_it_asks_for_the_certificate_that_was_just_made(skate):
    equations, certificate, _ = skate
    with pytest.raises(hf.BadRequest, match="takes Equations"):
        hf.in_phase(certificate, equations)
    with pytest.raises(hf.BadRequest, match="nothing in this certificate is proved in a tube"):
        hf.in_phase(equations, hf.certify(equations, duration=0.05, effort=1e-9))
