"""Proofs by steps in the order of time, against Kepler's problem worked out by hand, and sums in fractions."""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from importlib import resources

import mpmath as mp
import numpy as np
import pytest

import holdfast as hf
from holdfast.stability.certificate.certificate import certificate_from
from holdfast.stability.certificate.tube_proof import OrderedProof
from holdfast.stability.proof.work import SearchWork
from holdfast.stability.tube.agreement import require_agreement
from holdfast.stability.tube.cells import Cells, outside
from holdfast.stability.tube.flow import tube_flow
from holdfast.stability.tube.ordered import OrderedProver
from holdfast.stability.tube.step_map import StepRanges

EXAMPLES = resources.files("holdfast") / "examples"
SHORT = {"kepler": 6.5, "bennett": 0.03}  # beyond a turn; a few steps


@cache
def example(name):
    return hf.derive(hf.load(str(EXAMPLES / f"{name}.toml")))


@cache
def certified(name):
    return hf.certify(example(name), duration=SHORT[name])


def prover(name, duration):
    equations = example(name)
    run = hf.simulate(equations, duration=duration, every=1)
    seen = np.array([np.abs(run[name]).max() for name in equations.deviation_names])
    return OrderedProver(equations, hf.RK4, run.step, {}, run, seen, SearchWork.of(50))


# ── Kepler by hand: energy, areal velocity and Laplace vector, corrected by (S + S_ii/10) μ = −w ─────────────────


def integrals(state):
    x, y, u, v = state[:4]
    r, area = mp.sqrt(x * x + y * y), x * v - y * u
    return [(u * u + v * v) / 2 - 1 / r, area, v * area - x / r, -u * area - y / r]


def deviations(state):
    return [value - kept for value, kept in zip(integrals(state), state[4:], strict=True)]


def rates(state):
    x, y, u, v = state[:4]
    cube, area = (x * x + y * y) ** mp.mpf(1.5), x * v - y * u
    slopes = [(u, v), (-y, x), (-y * v, area + v * x), (u * y - area, -u * x)]
    system = mp.matrix(4, 4)
    for i, (a, b) in enumerate(slopes):
        for j, (c, d) in enumerate(slopes):
            system[i, j] = (a * c + b * d) * (1 + mp.mpf(i == j) / 10)
    push = mp.lu_solve(system, mp.matrix([-w for w in deviations(state)]))
    ax, ay = (sum(row[k] * push[i] for i, row in enumerate(slopes)) for k in range(2))
    return [u, v, ax - x / cube, ay - y / cube, 0, 0, 0, 0]


def stepped(state, step):
    def moved(by, length):
        return [a + length * b for a, b in zip(state, by, strict=True)]

    first = rates(state)
    second = rates(moved(first, step / 2))
    third = rates(moved(second, step / 2))
    fourth = rates(moved(third, step))
    sums = [a + 2 * b + 2 * c + d for a, b, c, d in zip(first, second, third, fourth, strict=True)]
    return moved(sums, step / 6)


@pytest.mark.parametrize("width", [1e-3, 1e-6])
def test_steps_from_random_states_of_the_boxes_lie_in_their_ranges(width):
    with mp.workprec(160):
        made = prover("kepler", 2.0)
        found, random, step = made._attempt(width), np.random.default_rng(2), mp.mpf(made.step)
        for k in range(40):
            box = int(random.integers(len(found.boxes)))
            spot = random.choice([-1.0, 1.0], 8) if k % 2 else random.uniform(-1, 1, 8)
            middle, half = found.boxes.curves[box, :, 0].tolist(), found.boxes.halves[box].tolist()
            state = [mp.mpf(a) + mp.mpf(b) * float(e) for a, b, e in zip(middle, half, spot, strict=True)]
            before, after = deviations(state), deviations(stepped(state, step))
            for i, row in enumerate(found.ranges.matrices[box].tolist()):
                off = after[i] - sum(mp.mpf(a) * b for a, b in zip(row, before, strict=True))
                assert abs(off - found.ranges.middle[box, i]) <= found.ranges.radius[box, i]


def test_rounding_of_real_steps_is_within_its_bound():
    made = prover("kepler", 2.0)
    found = made._attempt(1e-6)
    rounding, rows = made._rounding(found), made.run.y.T.tolist()
    with mp.workprec(160):
        for k in range(0, 200, 10):
            exact = deviations(stepped([mp.mpf(x) for x in rows[k]], mp.mpf(made.step)))
            computed = deviations([mp.mpf(x) for x in rows[k + 1]])
            bound = rounding[np.searchsorted(found.owners, k)]
            assert all(abs(a - b) <= c for a, b, c in zip(exact, computed, bound.tolist(), strict=True))


# ── sums ──────────────────────────────────────────────────────────────────────────────────────────


def test_no_choice_of_remainders_exceeds_the_sum():
    made, random = prover("kepler", 0.3), np.random.default_rng(4)
    made = replace(made, seen=np.full(4, 1e-9))
    count = len(made.run.times) - 1
    matrices = np.eye(4) + 0.05 * random.normal(size=(count, 4, 4))
    middle, radius = random.normal(size=(count, 4)), random.uniform(0, 1, (count, 4))
    ranges = StepRanges(matrices, middle, radius, np.zeros((count, 4)))
    bounds = made._summed(ranges, np.arange(count), np.zeros((count, 4)))
    exact = [[[Fraction(float(x)) for x in row] for row in matrix] for matrix in matrices]
    reached = Fraction(0)
    for target in range(4):  # the remainders that drive one deviation furthest at the end, by the adjoint
        slope = [Fraction(int(i == target)) for i in range(4)]
        total = Fraction(0)
        for k in range(count - 1, -1, -1):
            ends = zip(slope, middle[k].tolist(), radius[k].tolist(), strict=True)
            total += sum(a * Fraction(m) + abs(a) * Fraction(r) for a, m, r in ends)
            slope = [sum(slope[i] * exact[k][i][j] for i in range(4)) for j in range(4)]
        assert abs(total) <= Fraction(float(bounds[target]))
        reached = max(reached, abs(total) / Fraction(float(bounds[target])))
    assert reached > Fraction(1, 20)  # and the bound is of that size


# ── certificates ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("name", "most"), [("kepler", 6.0), pytest.param("bennett", 400.0, marks=pytest.mark.prove)])
def test_what_no_step_contracts_is_proved_in_the_order_of_time(name, most):
    certificate = certified(name)
    run = certificate.trajectory
    for block in certificate.blocks:
        assert block.label is hf.Label.tube
        assert isinstance(block.proof, OrderedProof)
        assert block.gamma is None
        assert block.matrix == ()
        assert f"for {len(run.times) - 1} steps" in block.promise("rk4", certificate.step)
        assert "contract by itself" in block.reason
        for deviation, bound in zip(block.names, block.bounds, strict=True):
            seen = float(np.abs(run[deviation]).max())
            assert seen <= bound <= max(most * seen, 1e-8)


def test_neighbours_keep_the_bounds_while_they_stay_in_the_tube():
    certificate, random, counted = certified("kepler"), np.random.default_rng(0), 0
    proof = certificate.blocks[0].proof
    spans, curves, halves = zip(*((cell[:2], cell[2], cell[3]) for cell in proof.tube.cells), strict=True)
    cells = Cells(np.array(spans), np.array(curves), np.array(halves))
    for size in 10.0 ** random.uniform(-8.5, -6.5, 6):
        own = certificate.trajectory.y[:4, 0] + size * random.uniform(-1, 1, 4)
        names = ("x", "y", "x_dot", "y_dot")
        run = hf.simulate(
            example("kepler"), start=dict(zip(names, own.tolist(), strict=True)), duration=SHORT["kepler"], every=1
        )
        left = outside(cells, run)
        rows = left[0] if left else len(run.times)
        counted += rows
        for deviation, bound in zip(proof.names, proof.bounds, strict=True):
            assert np.abs(run[deviation][:rows]).max(initial=0.0) <= bound
    assert counted > 1000


def test_a_file_keeps_it(tmp_path):
    made = certified("kepler")
    made.save(tmp_path / "kepler.json")
    again = hf.Certificate.load(tmp_path / "kepler.json")
    assert [block.bounds for block in again.blocks] == [block.bounds for block in made.blocks]
    assert again["area"].proof.start == made["area"].proof.start
    assert "in the order of time" in again.statement()
    data = made.to_dict()
    data["blocks"][0]["proof"]["steps"] = -1
    with pytest.raises(hf.HoldfastError):
        certificate_from(data)


@pytest.mark.prove
def test_the_same_call_gives_the_same_certificate():
    again = hf.certify(example("kepler"), duration=SHORT["kepler"])
    assert again.to_dict() == certified("kepler").to_dict()


def test_too_little_effort_leaves_it_checked_and_says_so():
    certificate = hf.certify(example("kepler"), duration=SHORT["kepler"], effort=1e-4)
    assert {block.label for block in certificate.blocks} == {hf.Label.checked}
    assert "order of time" in certificate.blocks[0].reason


@pytest.mark.prove
@pytest.mark.parametrize("name", ["kepler", "bennett"])
def test_the_whole_example_is_proved_with_the_default_effort(name):
    certificate = hf.certify(example(name))
    assert certificate.label is hf.Label.tube


def test_a_law_that_drives_away_for_a_while_is_proved_along_its_run():
    x, y = hf.coordinates("x y")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=9.81 * y)
    law = hf.SpringDamper(stiffness=100 - 900 * x**2, damping=20)  # at the start it pushes away
    rod = hf.Program(holonomic={"rod": (x**2 + y**2 - 1) / 2}, law=law)
    equations = hf.derive(hf.Problem(system, rod, start={x: 0.6, y: -0.8}))
    block = hf.certify(equations, hf.RK4, step=0.005, duration=0.5)["rod"]
    assert isinstance(block.proof, OrderedProof)
    assert "no norm was found" in block.reason
    assert all(seen <= bound <= 5 * seen for seen, bound in zip(block.observed, block.bounds, strict=True))


@pytest.mark.parametrize("name", ["kepler", "bennett"])
def test_a_system_that_is_not_the_one_that_is_run_is_seen(name):
    equations = example(name)
    flow, start = tube_flow(equations, {}), hf.simulate(equations, duration=0.01, every=1).y[:, 0].tolist()
    require_agreement(flow, [(0.0, start)])
    nearly = equations.inputs.graph.const(1 + Fraction(1, 10**20))
    places = [place for place in flow.entries if place[0] == place[1] == len(equations.coordinates)]
    other = {place: node * nearly if place in places else node for place, node in flow.entries.items()}
    with pytest.raises(hf.HoldfastError, match="do not solve the system"):
        require_agreement(replace(flow, entries=other), [(0.0, start)])


def test_what_is_built_on_tubes_says_what_steps_in_order_give():
    certificate = certified("kepler")
    with pytest.raises(hf.BadRequest, match="in the order of time already"):
        hf.in_phase(example("kepler"), certificate)
    short = hf.certify(example("kepler"), duration=0.5)
    starts = hf.safe_starts(example("kepler"), short)
    assert starts
    assert "if it starts with no more of any deviation than this one" in str(starts)
    assert "died away" not in str(starts)


def test_an_envelope_ends_with_the_steps_that_are_followed():
    """The same run carried on goes beyond what is proved of its first steps, and no bound is told of that."""
    x, y = hf.coordinates("x y")
    d = hf.deviations("rod")
    law = hf.GeneralLaw({"rod": -100 * d - 20 * d.rate - 30 * d**3})
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=9.81 * y)
    program = hf.Program(holonomic={"rod": (x**2 + y**2 - 1) / 2}, law=law)
    equations = hf.derive(hf.Problem(system, program, start={x: 0, y: -1, x.rate: 8}))
    (block,) = hf.certify(equations, hf.RK4, step=0.005, duration=0.1, tube=True).blocks
    assert isinstance(block.proof, OrderedProof)
    run = hf.simulate(equations, hf.RK4, step=0.005, duration=1)
    told = block.envelope(np.arange(len(run.times)))
    assert (told[:, : block.proof.steps + 1] == np.array(block.bounds)[:, None]).all()
    assert (np.abs([run[name] for name in block.names]).max(axis=1) > block.bounds).all()
    assert (np.abs([run[name] for name in block.names]) <= told).all()
