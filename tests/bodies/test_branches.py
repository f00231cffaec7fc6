"""Loops by geometry, and branch by branch: the same motion as by differentiation and by S = J M⁻¹ Jᵀ, for less."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import holdfast as hf
import holdfast.equations.quick as quick
from holdfast.engine.kernel import compiled
from holdfast.engine.run.status import Status
from holdfast.equations.dynamics.deviation import deviations_of
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.branched import branches_of
from holdfast.graph.nodes import operation_count
from tests.bodies.mechanisms import bennett, stewart


def cranks(n=3):
    """A free plate on rods of fixed length, each on a crank that can turn right round: dead centres are passed."""
    ends = [2 * np.pi * i / n + 0.2 * (-1) ** i for i in range(n)]
    tops = {f"a{i}": (0.4 * np.cos(x), 0.4 * np.sin(x), 0) for i, x in enumerate(ends)}
    bodies = {"plate": hf.Body(mass=5, inertia=(0.3, 0.4, 0.5), position=(0, 0, 1), points=tops)}
    joints, points, start = {}, {}, {"hub0_dot": 8.0}
    for i in range(n):
        c, s = np.cos(2 * np.pi * i / n), np.sin(2 * np.pi * i / n)
        points[f"b{i}"] = (0.6 * c, 0.6 * s, 0)
        bodies[f"crank{i}"] = hf.Body(mass=1, inertia=(0.01, 0.02, 0.02), points={f"pin{i}": (0.15 * c, 0.15 * s, 0)})
        joints[f"hub{i}"] = hf.Revolute(f"b{i}", f"crank{i}", axis=(-s, c, 0))
        start[f"hub{i}"] = 0.3
        pin = np.array(points[f"b{i}"]) + Rotation.from_rotvec([-0.3 * s, 0.3 * c, 0]).apply([0.15 * c, 0.15 * s, 0])
        length = np.linalg.norm(pin - np.array(tops[f"a{i}"]) - [0, 0, 1])
        joints[f"rod{i}"] = hf.Distance(f"pin{i}", f"a{i}", length=float(length))
    system = hf.System(bodies=bodies, joints=joints, points=points, gravity=(0, 0, -9.81))
    problem = hf.Problem(system, hf.Program(law=hf.critically_damped(20)), start=start)
    return hf.assemble_start(problem, keep=("hub0_dot", *(f"hub{i}" for i in range(n)))).problem


def in_plane():
    """A four-bar, and a bar welded where both its ends are carried: common carriers, slides and turns."""
    rods = {
        n: hf.Body(mass=1, center=(x / 2, 0), inertia=0.1, points={f"{n}_end": (x, 0)})
        for n, x in (("crank", 1), ("coupler", 3), ("rocker", 2))
    }
    joints = {
        "rail": hf.Prismatic("ground", "crank", axis="y"),
        "b": hf.Revolute("crank_end", "coupler"),
        "c": hf.Revolute("crank", "rocker"),
        "d": hf.Revolute("coupler_end", "rocker_end"),
    }
    system = hf.System(bodies=rods, joints=joints, gravity=(0, -9.81))
    return hf.Problem(system, hf.Program(law=hf.critically_damped(5)), start={"rail": 0.3, "b": 1.0, "c": 0.4})


def absolute():
    """Every body free, every joint cut, a weld too."""
    system = bennett().system
    free = hf.System(bodies=system.bodies, joints=system.joints, gravity=(0, 0, -9.81), placing="absolute")
    return hf.Problem(free, hf.Program(law=hf.critically_damped(5)))


@pytest.mark.parametrize("mechanism", [stewart, bennett, in_plane, absolute])
def test_rows_by_geometry_move_as_their_derivatives_say(mechanism):
    """w, J and γ at random states, off the program too, against differentiation of y."""
    from holdfast.equations.solving.degree import stated_motion

    problem = mechanism()
    made = stated_motion(problem)
    inputs, known = made.inputs, made.deviations
    plain = deviations_of(problem.program, inputs)
    assert plain.w != known.w
    n, r, zero = len(inputs.q), len(known.w), inputs.graph.zero
    nodes = [
        *(node for found in (known, plain) for node in (*found.w, *found.drift)),
        *(row.get(j, zero) for found in (known, plain) for row in found.jacobian for j in range(n)),
    ]
    values = (*inputs.q, *inputs.v, *inputs.s)
    tape = Tape(values, tuple(nodes))
    for seed in range(3):
        found = np.array(tape(np.random.default_rng(seed).uniform(-1.5, 1.5, len(values)).tolist()))
        moved, slopes = found[: 4 * r].reshape(2, 2 * r), found[4 * r :].reshape(2, r * n)
        assert np.abs(moved[0] - moved[1]).max() < 1e-12 * max(1, np.abs(moved[1]).max())
        assert np.abs(slopes[0] - slopes[1]).max() < 1e-12 * max(1, np.abs(slopes[1]).max())


def test_a_platform_is_solved_leg_by_leg_with_less_than_half_the_operations():
    """The plate's acceleration and that of its spin, to the digits of a derivation by hand; it took 3560 operations."""
    equations = hf.derive(stewart())
    field = quick.quick_field(equations)
    assert len(branches_of(equations.dynamics.mass, equations.deviations.jacobian)) == 5
    assert operation_count(field.rates) < 3600
    assert operation_count((*field.rates, *field.watched)) < 0.6 * operation_count(equations.field.rates)
    run = hf.simulate(equations, hf.RK4, step=1e-3, duration=2e-3)
    values = equations.evaluate()
    constants = list(equations.parameter_values.values())
    rates = compiled(field, hf.RK4).rates(0.0, run.y[:, 0], constants)
    n = len(equations.coordinates)
    assert np.abs(rates[n : 2 * n] - values.accelerations).max() < 1e-12 * np.abs(values.accelerations).max()
    across = [run[f"ddt(ddt(plate_{c}))"][0] for c in "xyz"]
    assert across == pytest.approx((-4.20116451, 3.62307279, -28.22788919), abs=1e-7)
    spin = [run[f"ddt(plate_w{c})"][0] for c in "xyz"]
    assert spin == pytest.approx((-111.89709918, 70.16896767, -60.83742262), abs=1e-6)


def test_a_run_whose_branch_is_stretched_out_goes_on_by_the_equations(monkeypatch):
    """At a dead centre of a crank the quick order has no pivot, and the equations have: the run does not end there."""
    monkeypatch.setattr(quick, "FEWER", 10)
    equations = hf.derive(cranks())
    field = quick.quick_field(equations)
    run = hf.simulate(equations, hf.RK4, step=1e-3, duration=1)
    assert run.outcome.name == "completed"
    assert np.ptp(run["energy"]) < 1e-3
    constants = list(equations.parameter_values.values())
    alone = compiled(field, hf.RK4).run(run.y[:, 0], constants, step=1e-3, steps=1000, every=1)
    assert alone.status == Status.rank_lost
    last = alone.steps
    assert 100 < last < 900
    assert np.abs(alone.states[last] - run.y[:, last]).max() < 1e-6  # of a motion that is true to 1e-4 at this step
    stopped = dict(zip(run.state_names, run.y[:, last + 1], strict=True))
    again = hf.simulate(equations, hf.RK4, step=1e-3, duration=0.05, start=stopped, start_policy="keep")
    assert again.outcome.name == "completed"


def test_equations_that_could_be_proved_run_as_they_are():
    """Without quaternions there is no second order, however many branches there are."""
    assert quick.quick_field(hf.derive(in_plane())) is None
    assert quick.quick_field(hf.derive(bennett())) is None


def test_what_is_run_in_an_order_that_no_proof_speaks_of_is_not_called_proved(monkeypatch):
    monkeypatch.setattr(quick, "FEWER", 10)
    equations = hf.derive(cranks())
    assert quick.quick_field(equations) is not None
    certificate = hf.certify(equations, hf.RK4, step=1e-3, duration=0.02, effort=0.1)
    assert not any(block.label.is_proof for block in certificate.blocks)
    assert "branch by branch" in certificate.summary()
    run = hf.simulate(equations, hf.DOPRI5, tolerance=1e-8, duration=0.02, every=1)
    assert all("branch by branch" in str(found) for found in hf.own_step_bounds(equations, run).values())
