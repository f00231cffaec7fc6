"""The region cover in native forms: cells and coefficients against the step itself in 300 bits, and against balls."""

import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from benchmarks.chains import chain
from holdfast.graph.arithmetics.balls import ball, precision
from holdfast.schemes.tableaus.dopri5 import DOPRI5
from holdfast.schemes.tableaus.euler import EULER
from holdfast.schemes.tableaus.kutta import KUTTA3
from holdfast.stability.proof.block import blocks_of, motion_of, whole_motion
from holdfast.stability.proof.enclosure import magnitude
from holdfast.stability.proof.lanes.chart import SLACK, WIDENED, WIDER, _fixed
from holdfast.stability.proof.lanes.cover import LaneJudgement, lane_cover
from holdfast.stability.proof.lanes.cutter import Boxes
from holdfast.stability.proof.lanes.defect import LaneDefect
from holdfast.stability.proof.lanes.region import lane_defect
from holdfast.stability.proof.work import SearchWork
from holdfast.stability.sampling import Deviator
from tests.stability.test_enclosures import coefficients, filling, moving_rod, pointer, rods, skate

SCHEMES = [EULER, KUTTA3, hf.RK4, DOPRI5.main]


def scaled_rod(length):
    """A pendulum in another unit of length."""

    def problem():
        x, y = hf.coordinates("x y")
        system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=9 * length * y)
        rod = {"rod": (x**2 + y**2 - length**2) / 2}
        program = hf.Program(holonomic=rod, law=hf.SpringDamper(stiffness=25, damping=10))
        start = {x: 0.6 * length, y: -0.8 * length, x.rate: 0.8 * length, y.rate: 0.6 * length}
        return hf.Problem(system, program, start=start)

    problem.__name__ = f"rod_of_{length:g}"
    return problem


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
@pytest.mark.parametrize("problem", [rods, skate, moving_rod, filling, scaled_rod(1e-6), scaled_rod(1e6)])
def test_every_state_lies_in_a_cell_and_its_coefficient_within_the_bound(problem, scheme):
    equations, random, seen, compared = hf.derive(problem()), np.random.default_rng(5), 0, 0
    (block,) = blocks_of(equations, {})
    motion, whole, mover = motion_of(equations, block, {}), whole_motion(equations, block, {}), Deviator(equations, {})
    base, count = np.array(equations.evaluate().state), len(equations.deviation_names)
    size = max(float(np.abs(base).max()), 1e-9) if problem.__name__.startswith("rod_of") else 1.0
    for _ in range(6):
        step, tube = float(10 ** random.uniform(-5, -1)), float(10 ** random.uniform(-6, -2)) * size**2
        factor = np.tril(random.normal(size=(len(block.places),) * 2)) + 2 * np.eye(len(block.places))
        moment, later = random.uniform(0, 2), 0.01
        aside = base + 0.05 * size * random.normal(size=len(base))
        middle = mover.moved(np.array([moment]), aside[None], np.zeros((1, count)))[0][0]
        half = size * 10 ** random.uniform(-3, -0.7) * random.uniform(0.2, 1, len(base))
        spans = {name: (float(a - b), float(a + b)) for name, a, b in zip(motion.names, middle, half, strict=True)}
        spans["t"] = (moment - later, moment + later)
        region = np.array([spans[name] for name in motion.variable_names])
        boxes = Boxes(region[None, :, 0], region[None, :, 1])
        for k in range(3):  # eight boxes, side by side
            boxes = boxes.halved(np.full(len(boxes), k % len(region)))
        model, limit = LaneDefect(motion, scheme, step, factor), np.full(count, tube)
        found = model.judged(boxes, -limit, limit)
        times = moment + later * random.uniform(-1, 1, 12)
        near = middle + half * np.sin(2 * random.uniform(-1, 1, (12, len(base))))  # more of them near the ends
        states, _ = mover.moved(times, near, tube * random.uniform(-1, 1, (12, count)))
        inside = np.isfinite(states).all(axis=1) & (np.abs(states - middle) <= half).all(axis=1)
        with precision(300):
            for when, state in zip(times[inside], states[inside], strict=True):
                exact, deviations = coefficients(whole, scheme, factor, when, state, step)
                if not all(abs(value) <= tube for value in deviations):
                    continue
                seen += 1
                values = {"t": when, **dict(zip(motion.names, state, strict=True))}
                place = np.array([values[name] for name in motion.variable_names])
                held = ((found.boxes.low <= place) & (place <= found.boxes.high)).all(axis=1)
                assert held.any()
                bounds = found.bounds[held]
                compared += int(np.isfinite(bounds).any())
                assert ball(float(bounds.min())) >= sum((x * x for x in exact), ball(0)).sqrt().lower()
    assert seen > 8
    assert compared > 4  # where a cell is too wide nothing is enclosed


def test_a_bound_is_near_the_largest_coefficient_of_its_cell():
    """So that the test above can fail: over small cells the bound is no more than 1.2 times what states show."""
    equations = hf.derive(scaled_rod(1.0)())
    (block,) = blocks_of(equations, {})
    motion, state = motion_of(equations, block, {}), np.array(equations.evaluate().state)
    model, tube = LaneDefect(motion, hf.RK4, 0.01, np.eye(2)), np.full(2, 1e-6)
    found = model.judged(Boxes((state - 1e-3)[None], (state + 1e-3)[None]), -tube, tube)
    with precision(300):
        exact, _ = coefficients(motion, hf.RK4, np.eye(2), 0.0, state, 0.01)
    worst = float(np.hypot(*(magnitude(x) for x in exact)))
    assert worst <= found.bounds[0] <= 1.2 * worst


def test_a_box_that_the_region_misses_is_no_cell():
    equations = hf.derive(scaled_rod(1.0)())
    (block,) = blocks_of(equations, {})
    model, tube = LaneDefect(motion_of(equations, block, {}), hf.RK4, 0.01, np.eye(2)), np.full(2, 1e-3)
    far = Boxes(np.array([[2.0, 2.0, 0.0, 0.0]]), np.array([[2.1, 2.1, 0.1, 0.1]]))
    found = model.judged(far, -tube, tube)
    assert not found.alive.any()
    assert len(found.bounds) == 0


def test_what_the_kernel_does_not_know_is_left_to_balls():
    equations = hf.derive(pointer())  # abs, Max and atan2
    (block,) = blocks_of(equations, {})
    assert lane_defect(motion_of(equations, block, {}), hf.RK4, 0.01, np.eye(3)) is None


def test_a_cover_holds_every_place_of_its_region_and_is_made_the_same_way_twice():
    def judge(boxes):
        size = (boxes.high - boxes.low).prod(axis=1)
        alive = boxes.low[:, 0] < 0.75  # the region ends there
        kept = boxes.chosen(alive)
        none, longest = 0 * size[alive], np.argmax(kept.high - kept.low, axis=1)
        return LaneJudgement(alive, kept, size[alive], none, longest, none, 1.0)

    region = ((0.0, 1.0), (0.0, 2.0))
    found, again = (lane_cover(judge, region, wanted=1e-2, cost=lambda: 1.0, work=SearchWork(1e6)) for _ in range(2))
    assert found.leaves() == again.leaves()
    assert found.bound <= 1e-2
    for x, y in np.random.default_rng(3).uniform((0, 0), (0.75, 2), (200, 2)):
        assert any(a <= x <= b and c <= y <= d for (a, b), (c, d) in found.leaves())


def test_no_more_work_is_done_than_there_is():
    equations = hf.derive(scaled_rod(1.0)())
    (block,) = blocks_of(equations, {})
    model, tube = LaneDefect(motion_of(equations, block, {}), hf.RK4, 0.01, np.eye(2)), np.full(2, 1e-3)
    work = SearchWork(20_000)
    region = ((-1.1, 1.1),) * 2 + ((-3.0, 3.0),) * 2
    lane_cover(lambda boxes: model.judged(boxes, -tube, tube), region, wanted=0.0, cost=lambda: model.cost, work=work)
    assert 0 < work.spent <= 1.3 * work.limit


def test_a_function_with_a_pole_in_the_cell_has_no_bound():
    x, y = hf.coordinates("x y")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=1 / (x + 2))
    program = hf.Program(holonomic={"line": y - sp.sin(x)}, law=hf.SpringDamper(stiffness=9, damping=6))
    equations = hf.derive(hf.Problem(system, program, start={x: 0.5, y: sp.sin(0.5)}))
    (block,) = blocks_of(equations, {})
    motion, tube = motion_of(equations, block, {}), np.full(2, 1e-3)
    model = LaneDefect(motion, hf.RK4, 0.01, np.eye(2))
    pole = Boxes(np.array([[-2.1, -1.0, 0.0, -1.0]]), np.array([[-1.9, -0.8, 0.1, 1.0]]))
    found = model.judged(pole, -tube, tube)
    assert np.isinf(found.bounds).all()
    assert len(found.bounds) == 1


@pytest.mark.parametrize("length", [1e-6, 1.0, 1e6])
def test_a_proof_in_lanes_is_confirmed_by_the_verifier_in_any_unit(length, monkeypatch):
    """Defect and rounding both: a cell of native rounding is asked for, and balls judge no cell of the defect."""
    from holdfast.stability.proof import prove
    from holdfast.stability.tube.rounding import region

    asked, judged = [], region.LaneRounding.judged
    monkeypatch.setattr(region.LaneRounding, "judged", lambda *a: asked.append(a) or judged(*a))
    monkeypatch.setattr(prove, "judge", lambda *a: pytest.fail("a cell of the defect was judged by balls"))
    equations = hf.derive(scaled_rod(length)())
    certificate = hf.certify(equations, hf.RK4, step=0.01, duration=2.0, effort=1)
    assert certificate["rod"].label is hf.Label.proved, certificate["rod"].reason
    assert asked
    found = hf.verify(certificate)
    assert found.holds, found.findings


def test_a_certificate_in_lanes_is_the_same_twice():
    made = [hf.certify(hf.derive(scaled_rod(1.0)()), hf.RK4, step=0.01, duration=1.0, effort=0.5) for _ in range(2)]
    assert made[0].to_dict() == made[1].to_dict()


def test_a_region_of_many_variables_is_refused_at_once():
    """Five links have twenty states: no number of cells covers them, and no time is spent on trying."""
    equations = hf.derive(hf.loads(chain(5)))
    certificate = hf.certify(equations, step=1e-3, duration=0.02, effort=0.01)
    assert all("20 variables is too wide to be covered" in block.reason for block in certificate.blocks)


@pytest.mark.parametrize("rows", [1, 2, 4])
def test_a_bound_of_what_a_chart_misses_is_found_wherever_widening_finds_one(rows):
    """v ≥ a + M v, beside the rounds of widening without a look at which cells have none."""
    random = np.random.default_rng(rows)
    off = random.uniform(0, 1, (300, rows, rows)) * 10 ** random.uniform(-2, 1, (300, 1, 1))
    off[::50] = np.inf
    first = 10 ** random.uniform(-9, 0, (300, rows))
    v = first * (1 + SLACK)
    for _ in range(WIDENED):
        with np.errstate(invalid="ignore"):
            needed = (first + np.einsum("cij,cj->ci", off, v)) * (1 + SLACK)
        holds = (needed <= v).all(axis=1) & np.isfinite(v).all(axis=1)
        v = np.where(holds[:, None], v, needed * WIDER)
    with np.errstate(invalid="ignore"):
        found, shown = _fixed(off, first)
    assert 0 < shown.sum() < 300
    assert np.array_equal(shown, holds)
    assert np.array_equal(found[shown], v[shown])
    radii = np.abs(np.linalg.eigvals(off[shown])).max(axis=1)
    assert (radii < 1).all()
