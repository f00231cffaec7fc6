"""Rounding by slopes: no step whose operations are as wrong as they may be leaves its bound, and the bound is near."""

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from holdfast.engine.forms.evaluate import FormTape
from holdfast.engine.forms.monomials import monomials
from holdfast.engine.forms.tape import RUNNING, Recorder
from holdfast.engine.kernel import compiled
from holdfast.equations.values import parameter_vector
from holdfast.graph.arithmetics.balls import ball, balls, precision
from holdfast.graph.arithmetics.tape import Ledger, Tape
from holdfast.graph.derivatives import gradient
from holdfast.graph.nodes import Graph, ancestors
from holdfast.stability.proof.rounding import clock_error
from holdfast.stability.sampling import Batch
from holdfast.stability.tube.cells import Centre, scales_of
from holdfast.stability.tube.flow import tube_flow
from holdfast.stability.tube.rounding.by_slopes import RoundingSlopes
from holdfast.stability.tube.rounding.computed import driver_units
from holdfast.stability.tube.rounding.slopes import Sweep, unit_of
from holdfast.stability.tube.rounding.tape import RoundingTape
from tests.stability.tube_truth import random_state

x, y, z, turn = hf.coordinates("x y z turn")


def chain():
    """Two links, whose system is eliminated."""
    kinetic = (x.rate**2 + y.rate**2 + z.rate**2 + turn.rate**2) / 2
    system = hf.System(coordinates=(x, y, z, turn), kinetic=kinetic, potential=9.81 * (y + turn))
    held = {"upper": (x**2 + y**2 - 1) / 2, "lower": ((z - x) ** 2 + (turn - y) ** 2 - 1) / 2}
    return system, hf.Program(holonomic=held, law=hf.critically_damped(10)), {x: 0.6, y: -0.8, z: 1.4, turn: -1.4}


def functions():
    """Functions of all kinds, and the time."""
    rail = y - sp.sin(x) - sp.tanh(x) / 3 - sp.sqrt(2 + x**2) + sp.exp(-x) * sp.cos(2 * hf.time)
    system = hf.System(
        coordinates=(x, y), kinetic=(x.rate**2 + (1 + sp.log(2 + x**2)) * y.rate**2) / 2, potential=x**3 / 7 + y
    )
    return system, hf.Program(holonomic={"rail": rail}, law=hf.critically_damped(8)), {x: 0.3, x.rate: 1}


def led():
    """A program of degree 4, held through states of the controls."""
    spring = 5 * (x - sp.sin(turn)) ** 2
    system = hf.System(coordinates=(x, turn), kinetic=(x.rate**2 + turn.rate**2 / 2) / 2, potential=spring)
    program = hf.Program(
        holonomic={"path": x - sp.sin(hf.time) / 3}, controls={"M": {turn: 1}}, law=hf.critically_damped(6)
    )
    return system, program, {}


class Setting:
    """A run, its cells, and the norm of all deviations, any one."""

    def __init__(self, problem, width=1e-4):
        system, program, start = problem
        run = hf.Run(scheme="rk4", step=0.01, duration=0.5)
        self.equations = hf.derive(hf.Problem(system, program, start=start, run=run))
        self.run, self.step = hf.simulate(self.equations, every=1), 0.01
        self.flow = tube_flow(self.equations, {})
        slopes = Batch.of(self.equations, self.equations.field.rates, {})(self.run.times, self.run.y.T)
        scales = scales_of(self.run, len(self.equations.inputs.q), self.flow.angles)
        ends = self.run.times[::10]
        self.cells = Centre(self.run, slopes, scales).cells(np.column_stack([ends[:-1], ends[1:]]), width)
        size = len(self.flow.psi)
        self.factor = np.eye(size) + np.tril(np.random.default_rng(1).uniform(-1, 1, (size, size)), -1)
        self.clock = clock_error(0.0, self.run.times, self.step, hf.RK4)
        self.shape = monomials((1, *[2] * len(self.flow.variables), 1), 3)
        self.factors = [(range(size), self.factor)]

    def data(self):
        found = self.cells.inputs(self.shape, self.flow.places, self.flow.timed)
        found[:, 0, -1] = self.clock
        return found

    def bounds(self):
        model = RoundingSlopes(self.flow, hf.RK4, self.step, self.shape, self.factors, self.clock)
        return model.bounds(self.data())[:, 0]

    def added_up(self):
        return RoundingTape(self.flow, hf.RK4, self.step, self.shape).bounds(self.data(), self.factors)[:, 0]

    def state(self, rng, k):
        cells = self.cells
        return random_state(rng, (*cells.spans[k], cells.curves[k], cells.halves[k]))


class Spoiled:
    """Steps in balls whose operations are wrong: each by its unit times what `wrong` gives."""

    def __init__(self, setting, wrong):
        self.equations, self.setting, self.wrong = setting.equations, setting, wrong
        self.numbers = [ball(value) for value in parameter_vector(setting.equations, {})]

    def rates(self, time, state):
        field = self.equations.field
        known = dict(zip((node.index for node in field.inputs), [time, *state, *self.numbers], strict=True))
        for node in ancestors(field.rates):
            if node.index not in known:
                (value,) = Ledger({arg: known[arg.index] for arg in node.args}, balls()).of([node])
                known[node.index] = value * (1 + ball(unit_of(node)) * self.wrong())
        return [known[node.index] for node in field.rates]

    def place(self, state, weights, stages):
        h, found = ball(self.setting.step), []
        own, shares = driver_units(weights[: len(stages)], Fraction(self.setting.step))
        for i, value in enumerate(state):
            total = value * (1 + ball(own if shares else 0.0) * self.wrong())
            for k, share in shares.items():
                total += (h * ball(weights[k]) + ball(share) * self.wrong()) * stages[k][i]
            found.append(total)
        return found

    def moment(self, time, node):
        return time + ball(node) * ball(self.setting.step) + ball(self.setting.clock) * self.wrong()

    def after(self, t, x):
        """The deviations after a step."""
        time, state, stages = ball(float(t)), [ball(float(value)) for value in x], []
        for node, row in zip(hf.RK4.nodes, hf.RK4.stages, strict=True):
            stages.append(self.rates(self.moment(time, node), self.place(state, row, stages)))
        return self.psi(self.moment(time, 1), self.place(state, hf.RK4.weights, stages))

    def psi(self, time, state):
        field, deviations = self.equations.field, self.equations.deviations
        return Tape(field.inputs, (*deviations.y, *deviations.w)).compiled(balls())([time, *state, *self.numbers])


@pytest.mark.parametrize("problem", [chain, functions, led])
def test_no_step_with_errors_of_any_sign_leaves_the_bound(problem):
    setting, rng = Setting(problem()), np.random.default_rng(2)
    bounds = setting.bounds()
    assert np.isfinite(bounds).all()
    assert (bounds < setting.added_up()).all()
    kernel, numbers = compiled(setting.equations.field, hf.RK4), parameter_vector(setting.equations, {})
    with precision(300):
        exact, wrong = Spoiled(setting, lambda: 0), Spoiled(setting, lambda: int(rng.choice([-1, 1])))
        for k in rng.integers(len(bounds), size=5):
            t, place = setting.state(rng, k)
            row = kernel.run(place, numbers, t0=t, step=setting.step, steps=1)
            native = exact.psi(ball(float(row.times[-1])), [ball(float(value)) for value in row.states[-1]])
            worst = [native, *(wrong.after(t, place) for _ in range(3))]
            there = exact.after(t, place)
            lost = np.array([[float((a - b).mid()) for a, b in zip(one, there, strict=True)] for one in worst])
            sizes = np.linalg.norm(lost @ setting.factor, axis=1)
            assert sizes.max() <= bounds[k]
            assert sizes.max() > 0.02 * bounds[k]  # and it is no idle one


def test_the_worst_signs_come_near_the_bound():
    """With the sign of each error as its slope has it, all of them add up."""
    setting = Setting(led(), width=1e-9)
    k, rng = 2, np.random.default_rng(3)
    t, place = setting.state(rng, k)
    with precision(300):
        exact = Spoiled(setting, lambda: 0).after(t, place)
        count, slopes = [0], list[np.ndarray]()
        total = Spoiled(setting, lambda: count.__setitem__(0, count[0] + 1) or 0)
        total.after(t, place)
        for j in range(count[0]):
            seen = iter(range(count[0]))
            one = Spoiled(setting, lambda j=j, seen=seen: int(next(seen) == j)).after(t, place)
            slopes.append(np.array([float((a - b).mid()) for a, b in zip(one, exact, strict=True)]) @ setting.factor)
    most = np.linalg.norm(np.abs(slopes).sum(axis=0))
    assert 0.8 * setting.bounds()[k] < most <= setting.bounds()[k]


def test_slopes_of_every_operation_are_its_derivatives():
    graph = Graph()
    a, b = graph.input("a"), graph.input("b")
    names = ("sqrt", "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh")
    parts = [graph.call(name, a) for name in names]
    parts += [a + b, a - b, a * b, a / b, -a, a**5, graph.call("pow", a, b)]
    total = graph.sum(part * graph.const(k + 1) for k, part in enumerate(parts))
    tape = Recorder(1, monomials((1, 1), 2))
    places = [tape.input([]), tape.input([])]
    known = tape.whole_graph([a, b], places, [total])
    slopes, _ = Sweep(tape, [total], known, [a, b], rounded=False).back([[Fraction(1)]], [])
    data = np.zeros((1, 2, len(tape.monomials) + 3))
    data[0, :, 0] = 0.7, 1.9
    found = FormTape(tape, [tape.number(slope) for (slope,) in slopes])(data)
    by = gradient(total, [a, b])
    wanted = Tape((a, b), (by[a], by[b]))([0.7, 1.9])
    assert np.all(np.abs(found.polynomials[0, :, 0] - wanted) <= found.remainders[0] + 1e-12 * np.abs(wanted))
    assert (found.remainders[0] < 1e-9 * np.abs(wanted)).all()


@pytest.mark.parametrize("factor", [1, 3])
def test_products_and_quotients_by_one_round_nothing(factor):
    graph, tape = Graph(), Recorder(1, monomials((1, 1), 2))
    a, unit = graph.input("a"), graph.input("unit")
    result = unit * (a * unit / unit) * graph.one
    tape.rounds = RUNNING
    places = [tape.input([]), tape.number(Fraction(factor))]
    known = tape.whole_graph([a, unit], places, [result])
    tape.rounds = 0
    _, (total,) = Sweep(tape, [result], known, [a], rounded=True).back([[Fraction(1)]], [tape.number(Fraction(0))])
    data = np.zeros((1, 1, len(tape.monomials) + 3))
    data[0, 0, 0] = 0.7
    lost = FormTape(tape, [tape.number(known[result.index]), total])(data).rounding[0]
    assert (lost == 0).all() if factor == 1 else (lost > 1e-16).all()
