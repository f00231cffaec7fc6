"""What doubles add to a step stays below its bound: measured against the same step in 200 bits."""

import math
from fractions import Fraction
from itertools import pairwise, permutations, product
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from holdfast.engine.forms.rounding import OPERATION
from holdfast.engine.kernel import compiled
from holdfast.equations.values import parameter_vector
from holdfast.graph.arithmetics.balls import ball, ball_between, balls, precision
from holdfast.graph.arithmetics.rounded_balls import UNIT
from holdfast.graph.arithmetics.tape import Tape
from holdfast.stability.proof.block import blocks_of, whole_motion
from holdfast.stability.proof.enclosure import norm
from holdfast.stability.proof.rounding import RoundingModel, RoundingTapes, _advanced, clock_error, rounded_balls
from holdfast.stability.tube.rounding.computed import driver_units
from holdfast.stability.verifier.numbers.forms import Form, space
from holdfast.stability.verifier.reading import code
from holdfast.stability.verifier.reading.code import ROUNDED, Rounded, advanced

CLOCK = 1e-15  # what times may be wrong by


def pointer(angle):
    """A pointer that a constraint with atan2 keeps aimed at a moving point."""
    x, y, turn = hf.coordinates("x y turn")
    system = hf.System(coordinates=(x, y, turn), kinetic=(x.rate**2 + y.rate**2 + turn.rate**2) / 2, potential=3 * y)
    program = hf.Program(holonomic={"aim": sp.atan2(y, x) - turn}, law=hf.SpringDamper(stiffness=25, damping=10))
    start = {x: math.cos(angle), y: math.sin(angle), turn: angle, x.rate: 0.3}
    return hf.derive(hf.Problem(system, program, start=start))


def exact_step(rates, scheme, time, state, step):
    """One step in balls, and the weights as the fractions they are."""
    stages = []
    for node, row in zip(scheme.nodes, scheme.stages, strict=True):
        place = [
            x + step * sum((ball(a) * k[i] for a, k in zip(row, stages, strict=False)), ball(0))
            for i, x in enumerate(state)
        ]
        stages.append(rates([time + ball(node) * step, *place]))
    return [
        x + step * sum((ball(b) * k[i] for b, k in zip(scheme.weights, stages, strict=True)), ball(0))
        for i, x in enumerate(state)
    ]


def stretched():
    """A program whose unit shrinks by e⁸ in one step: what counts is the rounding at the end of it."""
    x = hf.coordinates("x")
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2)
    program = hf.Program(
        holonomic={"near": sp.exp(800 * hf.time) * (x - sp.cos(hf.time) / 3)},
        law=hf.SpringDamper(stiffness=25, damping=10),
    )
    return hf.derive(hf.Problem(system, program, start={x: sp.Rational(1, 3)}))


MODELS = {f"atan2 at {angle}": (lambda angle=angle: pointer(angle), 1e-3, 1e-12) for angle in (0.4, 1.6, -2.9, 3.1)}
MODELS["stretched"] = (stretched, 1e-9, 1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_the_rounding_of_a_step_stays_below_its_bound(name):
    make, spread, largest = MODELS[name]
    equations, scheme, step = make(), hf.RK4, 0.01
    (block,) = blocks_of(equations, {})
    motion, constants = whole_motion(equations, block, {}), parameter_vector(equations, {})
    kernel, random = compiled(equations.field, scheme), np.random.default_rng(5)
    base = np.array(equations.evaluate().state)
    states = base + spread * random.uniform(-1, 1, (25, len(base)))
    with precision(80):
        model = RoundingModel(RoundingTapes(equations, block.places), scheme, step, np.eye(2), constants, CLOCK)
        bound = model.bound(ball(0), [ball_between(float(x) - spread, float(x) + spread) for x in base])
    assert bound < largest
    worst = 0.0
    with precision(200):
        inputs = (motion.time, *motion.state)
        rates, psi = (Tape(inputs, nodes).compiled(balls()) for nodes in (motion.rates, motion.psi))
        for state in states:
            found = kernel.run(state, constants, step=step, steps=1).states[-1]
            exact = exact_step(rates, scheme, ball(0), [ball(float(x)) for x in state], ball(step))
            made = psi([ball(step), *(ball(float(x)) for x in found)])
            worst = max(worst, norm([a - b for a, b in zip(made, psi([ball(step), *exact]), strict=True)]))
    assert 0 < worst <= bound


@pytest.mark.parametrize(
    ("y", "x"), [((1e-20, 1e-17), (-1.0, 0.0)), ((0.0, 0.0), (1e-18, 1e-16)), ((1e-16, 1.2e-16), (0.0, 0.0))]
)
def test_an_error_that_reaches_across_the_jump_of_the_angle_counts_as_a_jump(y, x):
    with precision(80):
        _, error = rounded_balls().functions["atan2"](*((ball(value), ball(wrong)) for value, wrong in (y, x)))
    places = [(y[0] + a * y[1], x[0] + b * x[1]) for a in (-1, 0, 1) for b in (-1, 0, 1)]
    assert error >= max(abs(math.atan2(*place) - math.atan2(y[0], x[0])) for place in places)


# ── the sum at the end of a step ──────────────────────────────────────────────────────────────────


def worst_error(x, step, weights, stages, unit):
    """Of x + step Σ b K, summed in the worst order: each operation is wrong by `unit` of its result, all one way."""
    worst = Fraction(0)
    terms = [(b * k, 2 * unit * abs(b * k)) for b, k in zip(weights, stages, strict=True)]
    for order in permutations(terms):
        total, error = order[0]
        for value, wrong in order[1:]:
            total, error = total + value, error + wrong
            error += unit * abs(total)
        total, error = step * total, step * error
        error += unit * abs(total)
        worst = max(worst, error + unit * abs(x + total))
    return worst


SUMS = [(scheme, x, signs) for scheme in (hf.Euler, hf.Heun, hf.Kutta3, hf.RK4) for x in (-1, 0, 1)
        for signs in product((-1, 1), repeat=len(scheme.weights))]  # fmt: skip


def by_the_prover(x, step, weights, stages):
    with precision(80):
        places = [[(ball(k), ball(0))] for k in stages]
        ((_, error),) = _advanced([(ball(x), ball(0))], (ball(step), ball(0)), weights, places)
    return float(error)


def by_the_verifier(x, step, weights, stages):
    chosen = space((), 0, 1)
    made = [[Rounded(Form.constant(chosen, np.array([float(k)])), np.zeros(1))] for k in (x, *stages)]
    length = Rounded(Form.constant(chosen, np.array([float(step)])), np.zeros(1))
    (found,) = advanced(made[0], length, weights, made[1:])
    return float(found.error[0])


def in_tubes(x, step, weights, stages):
    own, shares = driver_units(weights, step)
    return own * abs(x) + sum(share * abs(float(stages[k])) for k, share in shares.items())


WAYS = [(by_the_prover, UNIT), (by_the_verifier, ROUNDED), (in_tubes, OPERATION)]


@pytest.mark.parametrize(("bound", "unit"), WAYS)
def test_the_terms_of_a_step_may_be_added_in_any_order(bound, unit):
    """Terms that cancel in one order and pile up in another."""
    step = Fraction(1, 64)
    for scheme, x, signs in SUMS:
        used = [b for b in scheme.weights if b]
        stages = [sign / (step * b) if b else Fraction(sign) for b, sign in zip(scheme.weights, signs, strict=True)]
        bent = [k for b, k in zip(scheme.weights, stages, strict=True) if b]
        worst = worst_error(Fraction(x), step, used, bent, Fraction(unit))
        assert bound(x, step, scheme.weights, stages) >= worst, (scheme.name, x, signs)


@pytest.mark.parametrize("scheme", [hf.Heun, hf.Kutta3, hf.RK4])
def test_a_state_takes_part_in_the_last_sum_alone(scheme):
    """Where each term by itself is less than half a unit of the state, and all together are more."""
    x, speed = hf.coordinates("x"), 1.4
    drift = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2)
    equations = hf.derive(hf.Problem(drift, hf.Program(), start={x: 1.0, x.rate: speed}))
    run = hf.simulate(equations, scheme, step=2.0**-53, duration=2.0**-53)
    assert run["x"][-1] == 1 + 2.0**-52


# ── the clock ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("nodes", [(0.0, 1.0), (0.0, 1 / 3, 2 / 3, 1.0), (0.0, 2.7), (0.0, -1.3, 0.5)])
@pytest.mark.parametrize("seed", range(40))
def test_times_are_no_further_off_than_the_clock_says(nodes, seed):
    """Of rows that a driver finds as begin + k step, and of stages, before and after the time 0."""
    draw = np.random.default_rng(seed)
    step, begin = float(10.0 ** draw.uniform(-4, 1)), float(draw.uniform(-1, 1) * 10.0 ** draw.uniform(-3, 3))
    scheme = SimpleNamespace(nodes=[Fraction(node) for node in nodes])
    first, count = int(draw.integers(0, 3000)), int(draw.integers(1, 400))
    times = [begin + float(k) * step for k in range(first, first + count + 1)]
    low, high = times[0], times[-2]  # where the steps begin
    most = min(clock_error(begin, (low, high), step, scheme), code.clock_error(begin, low, high, step, scheme))
    for t, later in pairwise(times):
        off = [Fraction(later) - Fraction(t) - Fraction(step)]
        off += [Fraction(t + float(c) * step) - Fraction(t) - c * Fraction(step) for c in scheme.nodes]
        assert max(map(abs, off)) <= most
