"""Equilibria in a parameter: branches, folds and changes of stability, against closed forms."""

import matplotlib
import numpy as np
import pytest
import sympy as sp

import holdfast as hf

theta = hf.coordinates("theta")
x, z = hf.coordinates("x z")
m, R, g, w, mu, P = hf.parameters("m R g w mu P")


def hoop(unit=1.0):
    """A bead on a hoop that spins about its upright diameter: rests at 0, π, and where cos θ = g/(R w²)."""
    system = hf.System(
        coordinates=theta,
        kinetic=m * R**2 * (theta.rate**2 + w**2 * sp.sin(theta) ** 2) / 2,
        potential=-m * g * R * sp.cos(theta),
        parameters={m: 2, R: 0.5 * unit, g: 9.81 * unit, w: 3},
    )
    return hf.Problem(system)


@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e9])
def test_the_bead_on_the_spinning_hoop_has_its_pitchfork(unit):
    found = hf.equilibrium_branches(hoop(unit), along={"w": (1, 8)})
    critical = np.sqrt(9.81 / 0.5)
    assert len(found) == 3
    (fork,) = found.special
    assert fork.kind == "branch point"
    assert fork.value == pytest.approx(critical, rel=1e-10)
    assert fork.state["theta"] == pytest.approx(0.0, abs=1e-6)
    assert found.folds == ()
    by_end = {}
    for branch in found.branches:
        by_end[round(abs(float(branch["theta"][-1])), 3)] = branch
    low, high, bent = by_end[0.0], by_end[3.142], by_end[1.259]
    assert np.cos(bent["theta"]) == pytest.approx(9.81 / (0.5 * bent.values**2), rel=1e-10)
    assert set(bent.words) == {"stable"}
    assert set(high.words) == {"unstable"}
    assert set(np.array(low.words)[low.values < critical - 1e-6]) == {"stable"}
    assert set(np.array(low.words)[low.values > critical + 1e-6]) == {"unstable"}
    assert (low.values[0], low.values[-1]) == (1.0, 8.0)
    assert low.largest_root[-1] == pytest.approx(np.sqrt(64 - 9.81 / 0.5), rel=1e-9)


def test_the_same_bead_in_cartesian_coordinates_on_its_wire():
    """In the spinning frame: a centrifugal potential, and the hoop as a constraint held by its reaction."""
    system = hf.System(
        coordinates=(x, z),
        kinetic=m * (x.rate**2 + z.rate**2) / 2,
        potential=m * g * z - m * w**2 * x**2 / 2,
        parameters={m: 2, R: 0.5, g: 9.81, w: 3},
    )
    wire = hf.Program(holonomic={"wire": x**2 + z**2 - R**2}, law=hf.critically_damped(5))
    found = hf.equilibrium_branches(hf.Problem(system, wire, start={z: -R}), along={w: (1, 8)})
    assert [one.kind for one in found.special] == ["branch point"]
    assert found.changes[0] == pytest.approx(np.sqrt(9.81 / 0.5), rel=1e-8)
    bent = next(branch for branch in found.branches if abs(branch["x"][-1]) > 0.1)
    assert -bent["z"] / 0.5 == pytest.approx(9.81 / (0.5 * bent.values**2), rel=1e-8)


def snap():
    """V = y⁴/4 − y²/2 + P y: folds at y = ±1/√3, P = ±2/(3√3)."""
    return hf.Problem(
        hf.System(coordinates=x, kinetic=x.rate**2 / 2, potential=x**4 / 4 - x**2 / 2 + P * x, parameters={P: 0}),
        start={x: 1},
    )


def test_folds_are_found_and_gone_round():
    found = hf.equilibrium_branches(snap(), along={"P": (-1, 1)})
    assert len(found) == 1
    load = 2 / (3 * np.sqrt(3))
    assert found.folds == pytest.approx([-load, load], rel=1e-9)
    (branch,) = found.branches
    assert branch["P"] == pytest.approx(branch["x"] - branch["x"] ** 3, abs=1e-9)
    between = np.abs(branch["x"]) < 1 / np.sqrt(3) - 1e-3
    assert set(np.array(branch.words)[between]) == {"unstable"}
    assert set(np.array(branch.words)[np.abs(branch["x"]) > 1 / np.sqrt(3) + 1e-3]) == {"stable"}
    assert branch.ends == ("the end of the range", "the end of the range")
    assert sorted(branch["P"][[0, -1]]) == [-1.0, 1.0]


def test_oscillations_set_in_where_a_pair_of_roots_crosses():
    """Van der Pol: x'' = (μ − x²) x' − 4 x; at μ = 0 with 2 rad per unit of time."""
    system = hf.System(
        coordinates=x, kinetic=x.rate**2 / 2, forces={x: (mu - x**2) * x.rate - 4 * x}, parameters={mu: 1}
    )
    found = hf.equilibrium_branches(hf.Problem(system, start={x: 0.1}), along={"mu": (-1, 1.5)})
    (onset,) = found.special
    assert onset.kind == "oscillation"
    assert onset.value == pytest.approx(0.0, abs=1e-10)
    assert onset.frequency == pytest.approx(2.0)
    assert "Hopf" in found.summary()
    assert found[0].words[0] == "asymptotically stable"
    assert found[0].words[-1] == "unstable"


def test_rests_of_one_family_are_followed_as_one():
    """A cart that may stand anywhere, with a pole whose torsion spring buckles at k = m g l."""
    k = hf.parameters("k")
    system = hf.System(
        coordinates=(x, theta),
        kinetic=x.rate**2 + (x.rate + theta.rate * sp.cos(theta)) ** 2 / 2 + theta.rate**2 * sp.sin(theta) ** 2 / 2,
        potential=9.81 * sp.cos(theta) + k * theta**2 / 2,
        parameters={k: 12},
    )
    found = hf.equilibrium_branches(hf.Problem(system, start={x: 1}), along={"k": (7, 15)})
    assert any(value == pytest.approx(9.81, rel=1e-7) for value in found.changes)
    bent = next(branch for branch in found.branches if abs(branch["theta"]).max() > 0.5)
    assert 9.81 * np.sin(bent["theta"]) == pytest.approx(bent.values * bent["theta"], abs=1e-7)


def test_a_mechanism_that_may_stand_anywhere_has_no_special_rests():
    """Nothing pulls at a four-bar without weight: its double root 0 is one of the family, and rounds to either side."""
    problem = hf.load(f"{hf.__path__[0]}/examples/four_bar.toml")
    found = hf.equilibrium_branches(problem, along={"rho": (900, 1000)}, places=5)
    assert len(found)
    assert found.special == ()


def test_a_branch_that_closes_is_told_once():
    """A pendulum with a torque τ: sin θ = τ, folds at ±1, and after a turn it is where it was."""
    tau = hf.parameters("tau")
    system = hf.System(
        coordinates=theta, kinetic=theta.rate**2 / 2, potential=-sp.cos(theta), forces={theta: tau}, parameters={tau: 0}
    )
    found = hf.equilibrium_branches(hf.Problem(system), along={"tau": (-2, 2)})
    assert len(found) == 1
    assert found.folds == pytest.approx([-1, 1], abs=1e-10)
    assert found[0].ends == ("it closes", "it closes")
    assert np.ptp(found[0]["theta"]) == pytest.approx(2 * np.pi, abs=0.1)


def test_two_branches_that_cross_change_their_stability():
    """x'' = μ x − x² − x': 0 and μ, which exchange stability at 0."""
    system = hf.System(
        coordinates=x,
        kinetic=x.rate**2 / 2,
        potential=-mu * x**2 / 2 + x**3 / 3,
        dissipation=x.rate**2 / 2,
        parameters={mu: 1},
    )
    found = hf.equilibrium_branches(hf.Problem(system, start={x: 0.5}), along={"mu": (-1, 1)})
    assert len(found) == 2
    assert [one.kind for one in found.special] == ["branch point"]
    assert found.changes == pytest.approx([0.0], abs=1e-10)
    assert {(branch.words[0], branch.words[-1]) for branch in found.branches} == {
        ("asymptotically stable", "unstable"),
        ("unstable", "asymptotically stable"),
    }


def ziegler(damping):
    """Two bars with springs c = 1 under a force that follows the upper one; masses 2 and 1, lengths 1."""
    q, r = hf.coordinates("q r")
    drag = hf.parameters("drag")
    kinetic = q.rate**2 + (q.rate**2 + r.rate**2 + 2 * q.rate * r.rate * sp.cos(q - r)) / 2
    system = hf.System(
        coordinates=(q, r),
        kinetic=kinetic,
        potential=q**2 / 2 + (r - q) ** 2 / 2,
        dissipation=drag * (q.rate**2 + (r.rate - q.rate) ** 2) / 2,
        forces={q: P * sp.sin(q - r)},
        parameters={P: 1, drag: damping},
    )
    return hf.Problem(system, start={q: 0.1})


def test_zieglers_column_flutters_where_he_says_and_damping_makes_it_worse():
    """Ziegler (1952), Ing.-Arch. 20, 49-56: 7/2 − √2 without damping, 41/28 + b²/2 with b on both joints."""
    (free,) = hf.equilibrium_branches(ziegler(0), along={"P": (0.5, 4)}).special
    assert (free.kind, free.value) == ("change", pytest.approx(3.5 - np.sqrt(2), rel=1e-9))
    (damped,) = hf.equilibrium_branches(ziegler(0.1), along={"P": (0.5, 4)}).special
    assert (damped.kind, damped.value) == ("oscillation", pytest.approx(41 / 28 + 0.1**2 / 2, rel=1e-9))


def test_lorenz_equations_turn_to_oscillation_at_470_19ths():
    """First-order states beside a coordinate at rest; far from the start they were looked for from."""
    X, Y, Z = hf.states("X Y Z")
    r = hf.parameters("r")
    system = hf.System(
        coordinates=x,
        kinetic=x.rate**2 / 2,
        potential=x**2 / 2,
        dissipation=x.rate**2 / 2,
        states={X: 10 * (Y - X), Y: X * (r - Z) - Y, Z: X * Y - sp.Rational(8, 3) * Z},
        parameters={r: 5},
    )
    found = hf.equilibrium_branches(hf.Problem(system, start={X: 1, Y: 1, Z: 1}), along={"r": (0.5, 30)})
    assert sorted({round(value, 8) for value in found.changes}) == [1.0, round(470 / 19, 8)]
    assert max(map(len, found.branches)) < 400


def test_gains_may_be_varied():
    """x'' = x + F, F holds y: the law alone decides, and at stiffness 0 a root passes zero."""
    system = hf.System(coordinates=x, kinetic=x.rate**2 / 2, potential=-(x**2) / 2)
    program = hf.Program(holonomic={"home": x}, controls={"F": {x: 1}}, law=hf.SpringDamper(stiffness=1, damping=1))
    found = hf.equilibrium_branches(hf.Problem(system, program), along={"law.stiffness.home": (-1, 2)})
    assert found.changes == pytest.approx([0.0], abs=1e-9)
    assert set(found[0].words[-3:]) == {"asymptotically stable"}


def test_what_is_found_is_a_table_a_text_and_a_picture():
    pandas = pytest.importorskip("pandas")
    found = hf.equilibrium_branches(snap(), along={"P": (-1, 1)})
    frame = found.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == len(found[0])
    assert {"branch", "P", "x", "word", "largest_root"} <= set(frame.columns)
    assert "a fold" in found.summary()
    assert "fold at" in repr(found)
    data = found.to_dict()
    assert data["branches"][0]["special"][0]["kind"] == "fold"
    before = matplotlib.get_backend()
    matplotlib.use("Agg")
    axes = found.plot()
    assert axes.get_xlabel() == "P"
    matplotlib.pyplot.close("all")
    matplotlib.use(before)
    with pytest.raises(hf.BadRequest, match="no state 'q'"):
        found[0]["q"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"along": {}}, "0 parameters"),
        ({"along": {"P": (0, 1), "x": (0, 1)}}, "2 parameters"),
        ({"along": {"Q": (0, 1)}}, "'Q' is no parameter"),
        ({"along": {"P": (1, 0)}}, "is empty"),
        ({"along": {"P": 3}}, "the range of 'P'"),
        ({"along": {"P": (0, float("nan"))}}, "is empty"),
        ({"along": {"P": (0, 1)}, "parameters": {"P": 2}}, "given and varied"),
    ],
)
def test_what_cannot_be_varied_is_said(asked, said):
    with pytest.raises(hf.HoldfastError, match=said):
        hf.equilibrium_branches(snap(), **asked)


def test_what_depends_on_time_and_what_never_rests():
    system = hf.System(coordinates=x, kinetic=x.rate**2 / 2, forces={x: P * sp.sin(hf.time)}, parameters={P: 1})
    with pytest.raises(hf.BadRequest, match="nothing rests"):
        hf.equilibrium_branches(hf.Problem(system), along={"P": (0, 1)})
    falling = hf.System(coordinates=x, kinetic=x.rate**2 / 2, forces={x: -P}, parameters={P: 1})
    assert len(hf.equilibrium_branches(hf.Problem(falling), along={"P": (1, 2)})) == 0
    with pytest.raises(hf.BadRequest, match="takes a Problem"):
        hf.equilibrium_branches(3, along={"P": (0, 1)})
