"""Starts that are proved to stay in a tube: boxes that hold what they should, and runs that go their own way."""

from importlib import resources

import numpy as np
import pytest

import holdfast as hf
from holdfast.engine.kernel import compiled
from holdfast.equations.values import parameter_vector
from holdfast.stability.tube.cells import Cells, outside
from holdfast.stability.tube.starts import turned_box
from tests.stability.held import pendulum

EXAMPLES = resources.files("holdfast") / "examples"


@pytest.mark.parametrize("size", [1, 2, 6, 20])
def test_a_turned_box_holds_the_moved_one_and_the_rest(size):
    rng = np.random.default_rng(size)
    moved = rng.normal(size=(8, size, size)) * 10.0 ** rng.uniform(-9, 0, (8, 1, size))
    rest = 10.0 ** rng.uniform(-15, -3, (8, size))
    box, furthest = turned_box(moved, rest), 0.0
    for _ in range(50):
        d, r = (np.sign(rng.uniform(-1, 1, (8, size))) for _ in range(2))
        point = np.einsum("lij,lj->li", moved, d) + r * rest
        inside = np.abs(np.linalg.solve(box, point[..., None]))
        assert inside.max() <= 1 + 1e-7  # of this solution in doubles
        furthest = max(furthest, float(inside.max()))
    assert furthest > 0.1


def test_a_box_that_is_lost_stays_lost_and_takes_no_other_with_it():
    moved, rest = np.ones((3, 2, 2)), np.ones((3, 2))
    moved[1, 0, 1], rest[2, 0] = np.nan, np.inf
    finite = np.isfinite(turned_box(moved, rest)).all(axis=(1, 2))
    assert finite.tolist() == [True, False, False]


def runs_near(equations, certificate, starts, tries, seed=8):
    """How far runs from corners of the box of starts come, in room of the tube; none of them may leave it."""
    run, rng, tube = certificate.trajectory, np.random.default_rng(seed), certificate.blocks[0].proof.tube
    cells = Cells(*(np.array([cell[k] if k else cell[:2] for cell in tube.cells]) for k in (0, 2, 3)))
    kernel, numbers = compiled(equations.field, hf.RK4), parameter_vector(equations, {})
    far = np.array([starts.distances[name] for name in run.state_names])
    widths, furthest = tube.width * np.array([scale for _, scale in tube.scales]), 0.0
    for _ in range(tries):
        begin = run.y[:, 0] + np.sign(rng.uniform(-1, 1, len(far))) * far
        rows = kernel.run(begin, numbers, step=certificate.step, steps=len(run.times) - 1)
        assert outside(cells, _Rows(rows.times, rows.states.T)) == []
        furthest = max(furthest, float((np.abs(rows.states.T - run.y) / widths[:, None]).max()))
    return furthest


class _Rows:
    def __init__(self, times, y):
        self.times, self.y = times, y


@pytest.mark.prove
@pytest.mark.parametrize(("name", "part"), [("skate", 1 / 30), ("bead_on_hoop", 1 / 250)])
def test_starts_near_the_shipped_ones_stay_with_the_default_width_and_effort(name, part):
    equations = hf.derive(hf.load(str(EXAMPLES / f"{name}.toml")))
    certificate = hf.certify(equations, tube=True)
    assert {block.proof.tube.width for block in certificate.blocks} == {1e-3}
    starts = hf.safe_starts(equations, certificate)
    assert starts.part >= part
    assert 0.3 < runs_near(equations, certificate, starts, 60) <= 1  # they do come far


@pytest.mark.parametrize("given", [[1.0], "x", {"x": -1}, {"x": float("nan")}, {"x": "1"}, {"x": True}])
def test_what_is_no_distance_is_stated_in_no_certificate(given):
    """NaN ended in a ValueError when it was saved, -1 in a file that could not be read."""
    certificate = hf.certify(hf.derive(pendulum(0.05)), hf.RK4, step=0.01, duration=0.1, tube=True, effort=0.1)
    with pytest.raises(hf.BadRequest, match="is no distance"):
        certificate.with_starts(given)


def test_without_a_tube_the_cure_is_named():
    equations = hf.derive(pendulum(0.05))
    certificate = hf.certify(equations, hf.RK4, step=0.01, duration=0.1, sample=True, effort=1e-9)
    with pytest.raises(hf.BadRequest, match="proved in a tube") as refused:
        hf.safe_starts(equations, certificate)
    assert refused.value.fix == "ask certify for a tube along the run"
