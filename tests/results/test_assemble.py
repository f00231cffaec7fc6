"""A start to work from: arms and linkages that are badly placed, put together; ways to close them by geometry."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf

R = sp.Rational


def arm(angles, target, lengths):
    """An arm of links by their absolute angles; its tip is held at a place."""
    q = hf.coordinates(" ".join(f"a{k}" for k in range(len(angles))))
    X = sum(length * sp.cos(a) for length, a in zip(lengths, q, strict=True)) - target[0]
    Y = sum(length * sp.sin(a) for length, a in zip(lengths, q, strict=True)) - target[1]
    system = hf.System(coordinates=q, kinetic=sum(c.rate**2 for c in q) / 2)
    program = hf.Program(holonomic={"tip_x": X, "tip_y": Y}, law=hf.critically_damped(5))
    return hf.Problem(system, program, start=dict(zip(q, angles, strict=True)))


def five_bar(angles, **rates):
    a1, a2, b1, b2 = q = hf.coordinates("a1 a2 b1 b2")
    long = R(3, 2)
    system = hf.System(coordinates=q, kinetic=sum(c.rate**2 for c in q) / 2)
    loop = {
        "loop_x": sp.cos(a1) + long * sp.cos(a2) - 1 - sp.cos(b1) - long * sp.cos(b2),
        "loop_y": sp.sin(a1) + long * sp.sin(a2) - sp.sin(b1) - long * sp.sin(b2),
    }
    program = hf.Program(holonomic=loop, law=hf.critically_damped(5))
    return hf.Problem(system, program, start=dict(zip(q, angles, strict=True)) | rates)


def residue(problem, start):
    """The deviations by SymPy, not by the graph."""
    values = {name: start[name.name] for f in problem.program.holonomic.values() for name in f.free_symbols}
    return [float(sp.N(f.subs(values), 20)) for f in problem.program.holonomic.values()]


@pytest.mark.parametrize("case", range(20))
def test_a_badly_placed_arm_is_assembled(case):
    """Three links of different lengths, the tip near the edge of what they reach, all angles random."""
    random = np.random.default_rng(case)
    lengths = random.uniform(0.2, 2, 3).round(3).tolist()
    reach, turn = 0.98 * sum(lengths), random.uniform(-np.pi, np.pi)
    target = [reach * np.cos(turn), reach * np.sin(turn)]
    problem = arm(random.uniform(-np.pi, np.pi, 3).tolist(), target, lengths)
    found = hf.assemble_start(problem)
    angles = np.array([found.start[f"a{k}"] for k in range(3)])
    assert_allclose([lengths @ np.cos(angles), lengths @ np.sin(angles)], target, atol=1e-13)
    run = hf.simulate(hf.derive(found.problem), hf.RK4, step=0.01, duration=0.1)
    assert run.start.on_program
    assert not run.start.moved


@pytest.mark.parametrize("case", range(20))
def test_a_badly_placed_five_bar_is_assembled_and_what_is_kept_stays(case):
    angles = np.random.default_rng(100 + case).uniform(-np.pi, np.pi, 4).tolist()
    problem = five_bar(angles, a1_dot=1)
    found = hf.assemble_start(problem, keep=("a1", "a1_dot"))
    assert found.start["a1"] == angles[0]
    assert found.start["a1_dot"] == 1
    assert_allclose(residue(found.problem, found.start), 0, atol=1e-13)
    rates = np.array([found.start[f"{name}_dot"] for name in ("a1", "a2", "b1", "b2")])
    a1, a2, b1, b2 = (found.start[name] for name in ("a1", "a2", "b1", "b2"))
    across = np.array([-np.sin(a1), -1.5 * np.sin(a2), np.sin(b1), 1.5 * np.sin(b2)])
    up = np.array([np.cos(a1), 1.5 * np.cos(a2), -np.cos(b1), -1.5 * np.cos(b2)])
    assert_allclose([across @ rates, up @ rates], 0, atol=1e-12)
    assert all(abs(new - old) <= np.pi + 1e-9 for name, (old, new) in found.changes.items() if "dot" not in name)


def elbows(a1, b1):
    """Where two arms of length 3/2 meet, from the ends of the cranks: the two intersections of circles."""
    A, B = np.array([np.cos(a1), np.sin(a1)]), np.array([1 + np.cos(b1), np.sin(b1)])
    middle, apart = (A + B) / 2, B - A
    height = np.sqrt(1.5**2 - apart @ apart / 4)
    normal = np.array([-apart[1], apart[0]]) / np.linalg.norm(apart)
    return [middle + height * normal, middle - height * normal]


def test_both_ways_to_close_a_five_bar_are_listed():
    problem = five_bar([2.0, 0.5, 1.0, 2.5])
    found = hf.assemble_start(problem, keep=("a1", "b1"))
    assert found.held == ("a1", "b1")
    assert len(found.branches) == 2
    tips = [
        np.array([np.cos(2.0) + 1.5 * np.cos(branch["a2"]), np.sin(2.0) + 1.5 * np.sin(branch["a2"])])
        for branch in found.branches
    ]
    expected = elbows(2.0, 1.0)
    nearest = [int(np.argmin([np.linalg.norm(tip - one) for one in expected])) for tip in tips]
    assert sorted(nearest) == [0, 1]
    for tip, k in zip(tips, nearest, strict=True):
        assert_allclose(tip, expected[k], atol=1e-12)
    other = found.on_branch(1)
    assert hf.simulate(hf.derive(other), hf.RK4, step=0.01, duration=0.1).start.on_program
    assert "2 ways to assemble it were found with a1, b1 held" in found.summary()
    assert len(found.to_dict()["branches"]) == 2


def test_places_without_slope_are_left():
    """At the origin sqrt has no slope, and a Newton step nowhere to go."""
    x, y = hf.coordinates("x y")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2)
    program = hf.Program(holonomic={"rod": sp.sqrt(x**2 + y**2) - 2}, law=hf.critically_damped(5))
    found = hf.assemble_start(hf.Problem(system, program))
    assert np.hypot(found.start["x"], found.start["y"]) == pytest.approx(2, rel=1e-14)


def test_a_start_that_fits_is_left_alone():
    problem = arm([0, 0], [2, 0], [1, 1])
    found = hf.assemble_start(problem)
    assert not found.changes
    assert found.problem.start == problem.start
    assert "keeps the program already" in str(found)


def test_a_nonholonomic_program_fits_by_its_rates():
    x, y, phi = hf.coordinates("x y phi")
    system = hf.System(coordinates=(x, y, phi), kinetic=(x.rate**2 + y.rate**2 + phi.rate**2) / 2)
    edge = {"edge": x.rate * sp.sin(phi) - y.rate * sp.cos(phi)}
    program = hf.Program(nonholonomic=edge, law=hf.SpringDamper(damping=5))
    found = hf.assemble_start(hf.Problem(system, program, start={phi: R(1, 2), x.rate: 1}), keep=(x.rate,))
    assert found.start["y_dot"] == pytest.approx(np.tan(0.5), rel=1e-13)
    assert found.start["x_dot"] == 1


def test_a_program_of_higher_degree_fits_with_all_its_rates():
    """Elastic joint: q = sin t asks for th = q + (q'' + 5 sin q)/100 at the start, and its rate."""
    q, th = hf.coordinates("q th")
    kinetic = q.rate**2 / 2 + R(3, 20) * th.rate**2
    system = hf.System(coordinates=(q, th), kinetic=kinetic, potential=-5 * sp.cos(q) + 50 * (th - q) ** 2)
    program = hf.Program(holonomic={"path": q - sp.sin(hf.time)}, controls={"u": {th: 1}}, law=hf.critically_damped(5))
    found = hf.assemble_start(hf.Problem(system, program, start={q: R(1, 5)}))
    assert_allclose([found.start[name] for name in ("q", "th", "q_dot", "th_dot")], [0, 0, 1, 1.04], atol=1e-12)


def test_parts_that_do_not_reach_are_refused_by_name():
    with pytest.raises(hf.BadRequest, match=r"no positions were found that keep 'tip_x'.*a0 as stated"):
        hf.assemble_start(arm([3.0, 1.0], [1.9, 0], [1, 1]), keep=("a0",))
    with pytest.raises(hf.BadRequest, match="takes a Problem"):
        hf.assemble_start("problem.toml")
    with pytest.raises(hf.HoldfastError, match="a7"):
        hf.assemble_start(arm([3.0, 1.0], [1.9, 0], [1, 1]), keep=("a7",))


def test_the_same_seed_gives_the_same_branches():
    problem = five_bar([0.3, 0.5, 1.0, 2.5])
    first, again = (hf.assemble_start(problem, seed=4) for _ in range(2))
    assert [dict(branch) for branch in first.branches] == [dict(branch) for branch in again.branches]


def test_a_bare_coordinate_is_assembled_without_the_rounding_of_others():
    """A slider-crank whose slide is y = 0: its rate was left at 1e-16 of the others, and called off."""
    crank, a, b = hf.coordinates("crank a b")
    r, l = sp.Rational(3, 10), sp.Rational(4, 5)
    rod = ((a - r * sp.cos(crank)) ** 2 + (b - r * sp.sin(crank)) ** 2 - l**2) / 2
    system = hf.System(coordinates=(crank, a, b), kinetic=(crank.rate**2 / 5 + (a.rate**2 + b.rate**2) / 2))
    start = {crank: 1, a: 0.92, crank.rate: 8}
    found = hf.assemble_start(hf.Problem(system, hf.Program(holonomic={"rod": rod, "slide": b}), start=start))
    assert [float(branch["b_dot"]) for branch in found.branches] == [0, 0]
