"""Derivatives of runs: equal to central differences of the same numerical motion in 300 bits."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from holdfast.common.frozen import Frozen
from holdfast.graph.arithmetics.balls import ball, balls, precision
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.derivatives import jacobian

EXAMPLES = Path(hf.__path__[0]) / "examples"
BITS = 300
CHANGE = Fraction(1, 10**30)  # of central differences: their error is 1e-60 of third derivatives


def example(name):
    return hf.load(EXAMPLES / f"{name}.toml")


def exactly(x):
    """A number without its radius, so that balls serve as numbers of 300 bits."""
    return x.mid()


class Wide:
    """RK4 in 300 bits, written here a second time, on the rates of the graph."""

    def __init__(self, equations, of=()):
        names = {**dict(zip(equations.state_names, equations.field.state, strict=True)), **equations.observables}
        self.rates = Tape(equations.field.inputs, tuple(equations.field.rates)).compiled(balls())
        self.shown = Tape(equations.field.inputs, tuple(names[name] for name in of)).compiled(balls())
        self.begin = equations.problem.run.begin

    def run(self, state, constants, step, steps):
        """What is shown at the last step."""
        h, x = ball(step), list(state)

        def rates(t, at):
            return self.rates([t, *at, *constants])

        for k in range(steps):
            t = ball(self.begin) + k * h
            k1 = rates(t, x)
            k2 = rates(t + h / 2, [exactly(a + h / 2 * b) for a, b in zip(x, k1, strict=True)])
            k3 = rates(t + h / 2, [exactly(a + h / 2 * b) for a, b in zip(x, k2, strict=True)])
            k4 = rates(t + h, [exactly(a + h * b) for a, b in zip(x, k3, strict=True)])
            x = [exactly(a + h / 6 * (b + 2 * c + 2 * d + e)) for a, b, c, d, e in zip(x, k1, k2, k3, k4, strict=True)]
        return self.shown([ball(self.begin) + steps * h, *x, *constants])


def wide_difference(equations, of, constants, name, start, step, steps):
    """d(of)/d(name) at the last step; `start(values)` gives the state in 300 bits from the constants by name."""
    with precision(BITS):
        wide = Wide(equations, of)
        ends = []
        for sign in (1, -1):
            values = {key: ball(value) for key, value in constants.items()}
            values[name] = values[name] + sign * ball(CHANGE)
            numbers = [values[key] for key in equations.parameter_names]
            ends.append(wide.run(start(values), numbers, step, steps))
        return [float(((a - b) / (2 * ball(CHANGE))).mid()) for a, b in zip(*ends, strict=True)]


def compare(equations, of, to, begun, *, step, steps, tolerance=1e-9, **given):
    """All derivatives at the last step, against differences in 300 bits."""
    constants = dict(equations.parameter_values)
    for name in to:
        key = name.removesuffix("(0)")
        if name.endswith("(0)"):
            constants[name] = given.get("start", {}).get(key, 0.0)
    found = hf.sensitivities(equations, "rk4", to=to, of=of, step=float(step), duration=float(step * steps), **given)
    for name in to:
        wanted = wide_difference(equations, of, constants, name, begun, step, steps)
        got, wanted = found.values[-1, :, found.to.index(name)], np.array(wanted)
        floor = 1e-3 * np.abs(wanted).max()  # what the law makes vanish is as exact as what it is made of
        assert (np.abs(got - wanted) <= tolerance * np.fmax(np.abs(wanted), floor)).all(), (name, got, wanted)
    return found


GAINS = ["law.stiffness.rod", "law.damping.rod"]


def rod(**start):
    """A pendulum in Cartesian coordinates; `start` is stated."""
    problem = example("pendulum")
    l = hf.parameters("l")
    law = hf.SpringDamper(stiffness=25, damping=10)
    names = {name: sp.sympify(value, {"l": l}) for name, value in start.items()}
    return hf.derive(hf.Problem(problem.system, replace(problem.program, law=law), start=names))


def test_the_pendulum_whose_start_moves_with_its_length_and_by_its_program():
    """x and z are stated by l, the rate of z follows from the rod: all move with l; forces and energies too."""
    equations = rod(x="3*l/5", z="-4*l/5", x_dot="1")

    def start(values):
        return [values["l"] * 3 / 5, -values["l"] * 4 / 5, ball(1), ball(Fraction(3, 4))]

    of = ["x", "z", "x_dot", "z_dot", "lambda_rod", "energy", "R_x", "y_rod", "w_rod"]
    compare(equations, of, ["m", "g", "l"], start, step=Fraction(1, 100), steps=150)


def test_gains_and_starts_of_a_rod_that_is_off_its_length():
    equations = rod(x="3*l/5", z="-4*l/5", x_dot="1")
    off = {"x": 0.625, "z": -0.875, "x_dot": 1.0, "z_dot": 0.25}

    def start(values):
        return [values["x(0)"], ball(-0.875), ball(1), values["z_dot(0)"]]

    of = ["x", "z_dot", "lambda_rod", "y_rod"]
    to = ["l", *GAINS, "x(0)", "z_dot(0)"]
    compare(equations, of, to, start, step=Fraction(1, 100), steps=150, start=off, start_policy="keep")


def test_a_start_that_is_moved_by_the_least_kinetic_energy():
    """The iteration itself is differentiated: masses that differ, change with the state and with m."""
    x, z = hf.coordinates("x z")
    m, g, l = hf.parameters("m g l")
    system = hf.System(
        coordinates=(x, z),
        kinetic=(x.rate**2 + m * (1 + x**2) * z.rate**2) / 2,
        potential=m * g * z,
        parameters={m: 3, g: 9.81, l: 1},
    )
    program = hf.Program(holonomic={"rod": (x**2 + z**2 - l**2) / 2}, law=hf.SpringDamper(stiffness=25, damping=10))
    equations = hf.derive(hf.Problem(system, program, start={x: 0.75, z: -0.875, x.rate: 1, z.rate: 0.5}))

    def start(values):
        a, b, u, v = ball(0.75), ball(-0.875), ball(1), ball(0.5)
        for _ in range(12):
            light, heavy = ball(1), values["m"] * (1 + a**2)
            y = (a**2 + b**2 - values["l"] ** 2) / 2
            pull = y / (a**2 / light + b**2 / heavy)
            a, b = exactly(a - pull * a / light), exactly(b - pull * b / heavy)
        heavy = values["m"] * (1 + a**2)
        pull = (a * u + b * v) / (a**2 + b**2 / heavy)
        return [a, b, u - pull * a, v - pull * b / heavy]

    of = ["x", "z", "x_dot", "z_dot", "lambda_rod"]
    compare(equations, of, ["m", "l"], start, step=Fraction(1, 100), steps=100, start_policy="project")


def test_the_four_bar_whose_loop_is_closed_anew_for_other_lengths():
    """The least change by kinetic energy, in 300 bits by the whole saddle system."""
    import flint

    problem, equations = example("four_bar"), hf.derive(example("four_bar"))
    deviations, zero = equations.deviations, equations.inputs.graph.zero
    across = [row.get(k, zero) for row in jacobian(deviations.y, equations.inputs.q) for k in range(3)]
    masses = [row.get(k, zero) for row in equations.dynamics.mass for k in range(3)]
    with precision(BITS):
        nodes = (*deviations.y, *deviations.w, *across, *masses)
        code = Tape(equations.field.inputs, nodes).compiled(balls())
    stated = [float(problem.start[name]) for name in equations.state_names]

    def start(values):
        state, constants = [ball(x) for x in stated], [values[name] for name in equations.parameter_names]
        for first in (0, 3):
            for _ in range(12):
                found = code([ball(0), *state, *constants])
                y, rows, mass = found[:2] if first == 0 else found[2:4], found[4:10], found[10:]
                saddle = [[*mass[3 * i : 3 * i + 3], rows[i], rows[3 + i]] for i in range(3)]
                saddle += [[*rows[:3], ball(0), ball(0)], [*rows[3:], ball(0), ball(0)]]
                right = flint.arb_mat([[ball(0)], [ball(0)], [ball(0)], [-y[0]], [-y[1]]])
                step = flint.arb_mat(saddle).solve(right)
                for k in range(3):
                    state[first + k] = exactly(state[first + k] + step[k, 0])
        return state

    of = ["a1", "a2", "a3", "a1_dot", "lambda_loop_x", "energy"]
    compare(equations, of, ["l1", "l2", "l3", "l4"], start, step=Fraction(1, 200), steps=60, start_policy="project")


STARTED = ("slide_with_friction", "mixed_holders", "servo_arm", "four_bar", "quadrotor", "crane", "kepler", "skate")
STARTS = [(name, policy) for name in STARTED for policy in (None, "project", "keep")]
STARTS.remove(("four_bar", None))  # refused: stated for one set of lengths


@pytest.mark.parametrize(("name", "policy"), STARTS)
def test_starts_move_as_starts_of_other_runs_lie(name, policy):
    """Each direction alone, so that one of them cannot have another's way; central differences of starts."""
    equations = hf.derive(example(name))
    asked = {"start_policy": policy, "duration": equations.problem.run.step}
    for parameter, value in equations.parameter_values.items():
        if parameter.startswith("law."):
            continue
        found = hf.sensitivities(equations, to=[parameter], **asked).values[0, :, 0]
        change = 1e-6 * (abs(value) or 1.0)
        ends = [hf.simulate(equations, parameters={parameter: value + e}, **asked) for e in (change, -change)]
        wanted = np.subtract(*(np.array(run.start.state) for run in ends)) / (2 * change)
        assert found == pytest.approx(wanted, rel=1e-6, abs=1e-8), parameter


def test_a_start_that_was_moved_changes_with_the_masses_that_weigh_the_move():
    """The constraint knows nothing of the extra mass, but the least change by kinetic energy does."""
    problem = example("four_bar")
    extra = hf.parameters("extra")
    kinetic = problem.system.kinetic + extra * hf.coordinates("a1").rate ** 2
    system = replace(problem.system, parameters={**problem.system.parameters, "extra": 10}, kinetic=kinetic)
    equations = hf.derive(replace(problem, system=system))
    rough = {"a1": 2.1, "a2": 0.7, "a3": 2.5, "a1_dot": 0.2}
    asked = {"start": rough, "start_policy": "project", "duration": 0.005}
    found = hf.sensitivities(equations, to=["extra"], **asked).values[0, :, 0]
    ends = [hf.simulate(equations, parameters={"extra": 10 + e}, **asked).start.state for e in (1e-4, -1e-4)]
    assert np.abs(found).max() > 1e-6
    assert found == pytest.approx(np.subtract(*map(np.array, ends)) / 2e-4, rel=1e-5, abs=1e-11)


def test_the_cart_and_its_gains():
    equations = hf.derive(example("cart_rod"))

    def start(values):
        return [ball(Fraction(1, 10)), type(ball(1)).pi() * 2 / 3, ball(0), ball(0)]

    to = ["m1", "m2", "l", "g", "law.stiffness.home", "law.damping.upright"]
    compare(equations, ["x", "phi", "phi_dot", "F", "M", "energy"], to, start, step=Fraction(1, 100), steps=200)


def test_the_motor():
    equations = hf.derive(example("dc_motor"))
    to = ["L", "R", "K", "J", "b", "U", "shaft_dot(0)"]
    of = ["q_coil_dot", "shaft", "shaft_dot", "kinetic"]
    compare(
        equations, of, to, lambda v: [ball(0), ball(0), ball(0), v["shaft_dot(0)"]], step=Fraction(1, 1000), steps=600
    )


# ── every scheme, and what stands beside it ───────────────────────────────────────────────────────


def slider(**more):
    """A mass on a spring that hardens, with drag and a first-order state: smooth, and cheap to difference."""
    s = hf.coordinates("s")
    heat = hf.states("heat")
    m, k, c = hf.parameters("m k c")
    system = hf.System(
        coordinates=s,
        kinetic=m * s.rate**2 / 2,
        potential=k * s**2 / 2 + s**4 / 4,
        dissipation=c * s.rate**2 / 2,
        states={heat: c * s.rate**2},
        parameters={m: 2, k: 3, c: 0.5},
    )
    return hf.derive(hf.Problem(system, start={s: 1.0}, **more))


def differences(equations, name, change, **asked):
    """Central differences of runs in doubles, of the second order."""
    if name.endswith("(0)"):
        state = name.removesuffix("(0)")
        at = hf.simulate(equations, **asked)[state][0]
        runs = [hf.simulate(equations, start={state: at + e}, **asked) for e in (change, -change)]
    else:
        at = equations.parameter_values[name]
        runs = [hf.simulate(equations, parameters={name: at + e}, **asked) for e in (change, -change)]
    return {q: (runs[0][q] - runs[1][q]) / (2 * change) for q in equations.state_names}


@pytest.mark.parametrize("scheme", [s for s in hf.ALL_SCHEMES if not s.adaptive], ids=lambda s: s.name)
def test_every_scheme_with_a_fixed_step_is_differentiated_as_it_steps(scheme):
    equations = slider()
    asked = {"scheme": scheme, "step": 0.125, "duration": 2.0}  # long steps: the motion is that of the scheme
    found = hf.sensitivities(equations, scheme, step=0.125, duration=2.0, to=["m", "c", "s(0)", "heat(0)"])
    for name in found.to:
        wanted = differences(equations, name, 1e-4, **asked)
        for quantity in found.of:
            assert found[quantity, name] == pytest.approx(wanted[quantity], abs=3e-7), (quantity, name)
    assert found["heat", "heat(0)"] == pytest.approx(1.0)


@pytest.mark.parametrize("scheme", [s for s in hf.ALL_SCHEMES if s.adaptive], ids=lambda s: s.name)
def test_every_adaptive_scheme_keeps_its_tolerance_for_derivatives(scheme):
    equations = slider()
    exact = hf.sensitivities(equations, "rk4", step=0.001, duration=2.0, at=[1.0, 2.0], to=["m", "k", "s_dot(0)"])
    found = hf.sensitivities(equations, scheme, tolerance=1e-9, duration=2.0, at=[1.0, 2.0], to=["m", "k", "s_dot(0)"])
    assert np.abs(found.values - exact.values).max() < 1e-6
    assert found.run["s"] == pytest.approx(exact.run["s"], abs=1e-7)


def test_it_is_the_same_motion_as_without_derivatives():
    equations = rod(x="3*l/5", z="-4*l/5", x_dot="1")
    found = hf.sensitivities(equations, "rk4", step=0.01, duration=1, to="l")
    plain = hf.simulate(equations, "rk4", step=0.01, duration=1)
    assert found.run["x"] == pytest.approx(plain["x"], rel=1e-12)
    assert found.run["lambda_rod"] == pytest.approx(plain["lambda_rod"], rel=1e-12)
    assert found.run.success
    again = hf.sensitivities(plain, to="l")
    assert np.array_equal(again.values, found.values)


def test_a_start_given_to_a_run_is_held_where_the_problem_states_it_by_parameters():
    equations = rod(x="l", z="0")
    held = hf.simulate(equations, "rk4", step=0.01, duration=0.5, start={"x": 0.75}, start_policy="keep")
    assert hf.sensitivities(held, to="l")["x", "l"][0] == 0.0
    stated = hf.simulate(equations, "rk4", step=0.01, duration=0.5)
    assert hf.sensitivities(stated, to="l")["x", "l"][0] == 1.0


def test_between_rows_and_as_a_frame():
    pandas = pytest.importorskip("pandas")
    found = hf.sensitivities(slider(), "rk4", step=0.01, duration=1, to=["m", "k"], of=["s", "energy", "s*s_dot"])
    assert found.at(0.5) == pytest.approx(found.values[50])
    assert found.at([0.504, 0.506]).shape == (2, 3, 2)
    near = (found.values[50] + found.values[51]) / 2
    assert found.at(0.505) == pytest.approx(near, rel=1e-3)
    frame = found.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["s"]["m"].to_numpy() == pytest.approx(found["s", "m"])
    assert "m + 1 %" in found.summary()
    assert found.to_dict()["final"]["s"]["k"] == found["s", "k"][-1]
    thin = hf.sensitivities(slider(), "rk4", step=0.01, duration=1, to="m", every=10)
    with pytest.raises(hf.BadRequest, match="not interpolated"):
        thin.at(0.505)


def test_a_quantity_by_the_chain_rule():
    found = hf.sensitivities(slider(), "rk4", step=0.01, duration=1, to=["m"], of=["s", "s_dot", "s*s_dot", "m*s"])
    run = found.run
    product = run["s"] * found["s_dot", "m"] + run["s_dot"] * found["s", "m"]
    assert found["s*s_dot", "m"] == pytest.approx(product, abs=1e-13)
    assert found["m*s", "m"] == pytest.approx(run["s"] + 2 * found["s", "m"], abs=1e-13)


# ── what bends, and what jumps ────────────────────────────────────────────────────────────────────


def test_a_control_at_its_limit_is_differentiated():
    problem = example("cart_rod")
    program = replace(problem.program, limits={"F": (-0.5, 0.5)})
    equations = hf.derive(replace(problem, program=program, start=Frozen({**problem.start, "x": 2.0})))
    asked = {"scheme": "rk4", "step": 0.01, "duration": 4.0}
    run = hf.simulate(equations, **asked)
    assert (np.abs(run["F"]) > 0.4999).sum() > 20
    found = hf.sensitivities(equations, "rk4", step=0.01, duration=4.0, to=["m1", "x(0)"])
    for name in found.to:
        wanted = differences(equations, name, 1e-6, **asked)
        for quantity in found.of:
            assert found[quantity, name] == pytest.approx(wanted[quantity], abs=1e-5), (quantity, name)
    assert np.abs(found["x", "m1"]).max() > 1e-3  # off its limit, the law hides the mass


def friction(force):
    s = hf.coordinates("s")
    m, mu, width = hf.parameters("m mu width")
    known = {m: 2, mu: 0.5}
    if width in sp.sympify(force(s, mu, width)).free_symbols:
        known[width] = 0.1
    system = hf.System(
        coordinates=s, kinetic=m * s.rate**2 / 2, potential=8 * s**2, forces={s: force(s, mu, width)}, parameters=known
    )
    return hf.derive(hf.Problem(system, start={s: 1.0}))


def test_a_force_that_jumps_is_refused_with_its_time():
    equations = friction(lambda s, mu, width: -mu * sp.sign(s.rate))
    with pytest.raises(hf.BadRequest, match=r"'s_dot' jumps at t = 1\.1"):
        hf.sensitivities(equations, "rk4", step=0.01, duration=2, to=["mu"])
    before = hf.sensitivities(equations, "rk4", step=0.01, duration=1, to=["mu"])  # sign(0) at the start is no jump
    assert before["s", "mu"][-1] == pytest.approx((1 - np.cos(np.sqrt(8) * 1.0)) / 16, abs=1e-3)


@pytest.mark.parametrize(
    "force",
    [
        lambda s, mu, width: -mu * s.rate * sp.Abs(s.rate),
        lambda s, mu, width: -mu * sp.tanh(s.rate / width),
        lambda s, mu, width: sp.Min(s, mu) - sp.Max(s.rate, 0),
        lambda s, mu, width: mu * sp.sign(hf.time - 1),
    ],
)
def test_what_bends_or_switches_at_a_fixed_time_is_not_refused(force):
    equations = friction(force)
    found = hf.sensitivities(equations, "rk4", step=0.01, duration=3, to=["mu"])
    wanted = differences(equations, "mu", 1e-5, scheme="rk4", step=0.01, duration=3)
    assert found["s", "mu"] == pytest.approx(wanted["s"], abs=1e-6)


@pytest.mark.parametrize(("degree", "smooth"), [(1, False), (2, True), (3, True)])
def test_a_force_by_data_is_smooth_or_refused(degree, smooth):
    """A potential by a spline: of degree 1 its force jumps at each knot that the motion passes."""
    s = hf.coordinates("s")
    k = hf.parameters("k")
    places = np.linspace(-2.1, 1.9, 9)
    bowl = hf.data(places, places**2 / 2, degree=degree)
    system = hf.System(
        coordinates=s,
        kinetic=s.rate**2 / 2,
        potential=k * hf.function("f", of=s),
        parameters={k: 1},
        functions={"f": bowl},
    )
    equations = hf.derive(hf.Problem(system, start={s: 1.0}))
    if not smooth:
        with pytest.raises(hf.BadRequest, match="jumps at t = "):
            hf.sensitivities(equations, "rk4", step=0.01, duration=3, to=["k"])
        return
    found = hf.sensitivities(equations, "rk4", step=0.01, duration=3, to=["k"])
    wanted = differences(equations, "k", 1e-5, scheme="rk4", step=0.01, duration=3)
    assert found["s", "k"] == pytest.approx(wanted["s"], abs=1e-7)


def test_a_start_at_rest_is_no_jump():
    """sign(0) = 0 at the start only: the motion leaves at once, whatever is varied."""
    s = hf.coordinates("s")
    mu = hf.parameters("mu")
    system = hf.System(coordinates=s, kinetic=s.rate**2 / 2, forces={s: 1 - mu * sp.sign(s.rate)}, parameters={mu: 0.5})
    found = hf.sensitivities(hf.derive(hf.Problem(system)), "rk4", step=0.01, duration=1, to=["mu"])
    assert found["s_dot", "mu"][-1] == pytest.approx(-1.0, abs=0.01)


def test_a_switching_time_that_is_varied_is_refused():
    s = hf.coordinates("s")
    when = hf.parameters("when")
    system = hf.System(
        coordinates=s, kinetic=s.rate**2 / 2, forces={s: sp.sign(hf.time - when)}, parameters={when: 0.5}
    )
    equations = hf.derive(hf.Problem(system))
    with pytest.raises(hf.BadRequest, match=r"jumps at t = 0\.5"):
        hf.sensitivities(equations, "rk4", step=0.01, duration=1, to=["when"])
    assert hf.sensitivities(equations, "rk4", step=0.01, duration=1, to=["s(0)"])["s", "s"] == pytest.approx(1.0)


# ── refusals ──────────────────────────────────────────────────────────────────────────────────────

SHORT = {"step": 0.01, "duration": 0.1}


def test_a_stated_start_that_holds_for_one_length_only_is_refused_by_name():
    equations = rod(x="0.6", z="-0.8")
    with pytest.raises(hf.BadRequest, match="keeps 'rod' at this value of l only with x, z as stated"):
        hf.sensitivities(equations, "rk4", to=["m", "l"], **SHORT)
    assert hf.sensitivities(equations, "rk4", to=["m"], **SHORT).run.success
    moved = hf.sensitivities(equations, "rk4", to=["l"], start_policy="project", **SHORT)
    assert moved.values[0, :2, 0] == pytest.approx([0.6, -0.8])  # outwards, along the rod
    kept = hf.sensitivities(equations, "rk4", to=["l"], start_policy="keep", **SHORT)
    assert not kept.values[0].any()


def test_a_start_that_follows_from_the_program_cannot_be_varied():
    equations = rod(x="0.6", z="-0.8", x_dot="1")
    with pytest.raises(hf.BadRequest, match="'z_dot' follows from the program"):
        hf.sensitivities(equations, "rk4", to=["z_dot(0)"], **SHORT)
    with pytest.raises(hf.BadRequest, match=r"at this value of x\(0\) only"):
        hf.sensitivities(equations, "rk4", to=["x(0)"], **SHORT)
    found = hf.sensitivities(equations, "rk4", to=["x_dot(0)"], **SHORT)
    assert found["z_dot", "x_dot(0)"][0] == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"to": ["mm"]}, "no parameter, gain or start value is called 'mm'"),
        ({"to": []}, "nothing is named"),
        ({"to": ["m", "m"]}, "'m' is named twice"),
        ({"to": ["s", "s(0)"]}, "named twice"),
        ({"to": ["m"], "of": []}, "nothing is named"),
        ({"to": ["m"], "of": ["q"]}, "'q' is no quantity"),
        ({"to": ["energy(0)"]}, "no parameter"),
        ({"to": ["m"], "step": -1}, "not positive"),
        ({"to": ["m"], "parameters": {"zz": 1}}, "zz"),
    ],
)
def test_what_cannot_be_asked_is_said(asked, said):
    with pytest.raises(hf.HoldfastError, match=said):
        hf.sensitivities(slider(), "rk4", **{**SHORT, **asked})


def test_other_things_than_equations_are_refused():
    with pytest.raises(hf.BadRequest, match="takes Equations"):
        hf.sensitivities(example("pendulum"), to=["m"])
    run = hf.simulate(slider(), "rk4", **SHORT)
    with pytest.raises(hf.BadRequest, match="a run says itself"):
        hf.sensitivities(run, "euler", to=["m"])
    ended = hf.simulate(
        slider(), "rk4", step=0.01, duration=5, events={"down": hf.Event(hf.coordinates("s"), terminal=True)}
    )
    with pytest.raises(hf.BadRequest, match="the event 'down'"):
        hf.sensitivities(ended, to=["m"])
    s, m = hf.coordinates("s"), hf.parameters("m")
    heavy = hf.System(coordinates=s, kinetic=m * (1 + s**2) * s.rate**2 / 2, potential=s**2, parameters={m: 2})
    form = hf.simulate(hf.canonical(hf.derive(hf.Problem(heavy, start={s: 1}))), "euler", step=0.05, duration=1)
    with pytest.raises(hf.BadRequest, match="another form"):  # steps in momenta are other steps
        hf.sensitivities(form, to=["m"])
    found = hf.sensitivities(run, to=["m"])
    with pytest.raises(hf.BadRequest, match="nothing was differentiated by 'k'"):
        found["s", "k"]
    with pytest.raises(hf.BadRequest, match="'energy' was not differentiated"):
        found["energy", "m"]


def test_events_of_the_problem_and_phases_are_refused_by_name():
    s = hf.coordinates("s")
    problem = replace(slider().problem, events={"down": hf.Event(s, terminal=True)})
    with pytest.raises(hf.BadRequest, match="ends at the event 'down', at t = "):
        hf.sensitivities(hf.derive(problem), "rk4", step=0.01, duration=5, to=["m"])
    before = hf.sensitivities(hf.derive(problem), "rk4", step=0.01, duration=0.5, to=["m"])
    assert np.array_equal(before.values, hf.sensitivities(slider(), "rk4", step=0.01, duration=0.5, to=["m"]).values)
    rope = hf.derive(example("slack_rope"))
    with pytest.raises(hf.BadRequest, match="has phases"):
        hf.sensitivities(rope, to=list(rope.problem.system.parameters)[:1])
    joined = hf.simulate(slider(), "rk4", **SHORT).continued()
    with pytest.raises(hf.BadRequest, match="joined of several"):
        hf.sensitivities(joined, to=["m"])


def test_a_run_that_begins_later_is_differentiated_from_there():
    s = hf.coordinates("s")
    m = hf.parameters("m")
    system = hf.System(coordinates=s, kinetic=m * s.rate**2 / 2, forces={s: sp.sin(hf.time)}, parameters={m: 2})
    run = hf.simulate(hf.derive(hf.Problem(system)), "rk4", step=0.01, duration=1, begin=2.0)
    found = hf.sensitivities(run, to="m")
    assert found.times[0] == 2.0
    assert found["s", "m"] == pytest.approx(-run["s"] / 2)


def test_friction_by_its_own_reaction_is_differentiated():
    """A smoothed law, solved with its reaction by Newton's steps on the graph."""
    equations = hf.derive(example("slide_with_friction"))
    name = next(name for name in equations.problem.system.parameters if name.startswith("mu"))
    asked = {"scheme": "rk4", "step": 0.001, "duration": 0.2}
    found = hf.sensitivities(equations, "rk4", step=0.001, duration=0.2, to=[name])
    wanted = differences(equations, name, 1e-5, **asked)
    assert max(np.abs(wanted[q]).max() for q in found.of) > 1e-3
    for quantity in found.of:
        assert found[quantity, name] == pytest.approx(wanted[quantity], rel=1e-5, abs=1e-6)


def test_repeated_constraints_change_nothing():
    """A rod that is stated twice: the same derivatives, also of a start that is moved onto it."""
    problem = example("pendulum")
    l, (x, z) = hf.parameters("l"), hf.coordinates("x z")
    twice = replace(problem.program, holonomic={**problem.program.holonomic, "again": x**2 + z**2 - l**2})
    start = {"x": 0.6, "z": -0.9, "x_dot": 1.0}
    asked = {"to": ["g", "l"], "duration": 2, "start": start, "start_policy": "project"}
    once = hf.sensitivities(hf.derive(problem), **asked)
    again = hf.sensitivities(hf.derive(replace(problem, program=twice)), **asked)
    assert np.abs(again.values - once.values).max() < 1e-11
    assert np.abs(again.values).max() > 1


def test_a_run_that_is_continued_across_a_singular_state_is_refused_with_its_time():
    a, b = hf.coordinates("a b")
    mass = hf.parameters("mass")
    system = hf.System(
        coordinates=(a, b), kinetic=mass * (a.rate**2 + b.rate**2) / 2, potential=-a, parameters={mass: 1}
    )
    held = hf.Program(holonomic={"loop": a**2 - b**2}, law=hf.critically_damped(5), redundant="allow")  # two lines
    equations = hf.derive(hf.Problem(system, held, start={a: -1, b: -1, a.rate: 2, b.rate: 2}))
    before = hf.sensitivities(equations, "rk4", step=0.001, duration=0.3, to=["mass"])
    assert before.run.success
    with pytest.raises(hf.BadRequest, match=r"become dependent about t = 0\.4"):
        hf.sensitivities(equations, "rk4", step=0.001, duration=1, to=["mass"])


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_units_change_nothing(unit):
    """Lengths in nanometres and in gigametres: derivatives in their units, for a start that is moved."""
    x, z = hf.coordinates("x z")
    m, g, l = hf.parameters("m g l")
    system = hf.System(
        coordinates=(x, z),
        kinetic=m * (x.rate**2 + z.rate**2) / 2,
        potential=m * g * z,
        parameters={m: unit, g: 9.81 * unit, l: unit},
    )
    program = hf.Program(holonomic={"rod": (x**2 + z**2 - l**2) / 2}, law=hf.SpringDamper(stiffness=25, damping=10))
    start = {x: 0.6 * unit, z: -0.9 * unit}
    found = hf.sensitivities(
        hf.derive(hf.Problem(system, program, start=start)), "rk4", step=0.01, duration=1, to=["l", "g"],
        start_policy="project",
    )  # fmt: skip
    usual = hf.sensitivities(
        rod(x="0.6", z="-0.9"), "rk4", step=0.01, duration=1, to=["l", "g"], start_policy="project"
    )
    assert found["x", "l"] == pytest.approx(usual["x", "l"], rel=1e-9, abs=1e-12)
    assert found["x", "g"] == pytest.approx(usual["x", "g"], rel=1e-9, abs=1e-12)
