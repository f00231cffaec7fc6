"""Steps in 300 bits, by the elimination of the graph: what proofs in a tube are held against."""

import flint
import numpy as np

import holdfast as hf
from holdfast.engine.kernel import compiled
from holdfast.equations.values import parameter_vector
from holdfast.graph.arithmetics.balls import ball, ball_series, precision
from holdfast.graph.arithmetics.tape import Tape
from holdfast.stability.proof.step_series import coefficient, combined


def random_state(rng, cell, speeds=0.0):
    """A time and a state of a cell, corners more often than not; with speeds, those of the rates (the second half)."""
    t0, t1, curves, halves = cell
    t = t0 + rng.random() * (t1 - t0)
    s, e = (t - t0) / (t1 - t0), rng.uniform(-1, 1, len(halves) + 1)
    e = np.sign(e) if rng.random() < 0.6 else e
    middle = np.array([np.polyval(curve[::-1], s) for curve in curves])
    if speeds:
        middle[len(middle) // 2 :] *= 1 + e[-1] * speeds * (1 - 1e-9)
    return t, middle + e[:-1] * np.array(halves) * (1 - 1e-9)


def constant(value):
    return value[0] if isinstance(value, flint.arb_series) else value


class Truth:
    """Steps in 300 bits by the elimination of the graph, which shares nothing with the forms."""

    def __init__(self, equations, scheme):
        self.scheme, inputs = scheme, equations.field.inputs
        self.rates = Tape(inputs, equations.field.rates).compiled(ball_series())
        self.psi = Tape(inputs, (*equations.deviations.y, *equations.deviations.w)).compiled(ball_series())
        self.numbers = [flint.arb(float(value)) for value in parameter_vector(equations, {})]

    def after(self, t, x, tau):
        time, state, stages = flint.arb(float(t)), [flint.arb(float(v)) for v in x], []
        rows = [[(k, ball(b)) for k, b in enumerate(row) if b] for row in (*self.scheme.stages, self.scheme.weights)]
        for node, row in zip(self.scheme.nodes, rows, strict=False):
            stages.append(self.rates([time + ball(node) * tau, *combined(state, tau, row, stages), *self.numbers]))
        return self.psi([time + tau, *combined(state, tau, rows[-1], stages), *self.numbers])

    def deviation(self, t, x):
        return [constant(v) for v in self.psi([flint.arb(float(t)), *(flint.arb(float(v)) for v in x), *self.numbers])]


def most_attained(equations, certificate, tries, scheme=hf.RK4, seed=3):
    """Random states of all cells: none adds more than is proved, nor do doubles; the largest part of a bound."""
    rng, step = np.random.default_rng(seed), certificate.step
    kernel, numbers = compiled(equations.field, scheme), parameter_vector(equations, {})
    names, near = list(equations.deviation_names), 0.0
    with precision(300, scheme.order + 3):
        truth = Truth(equations, scheme)
        for block in certificate.blocks:
            assert block.label is hf.Label.tube
            factor, places = np.array(block.proof.factor), [names.index(name) for name in block.names]
            for _ in range(tries):
                tube = block.proof.tube
                t, x = random_state(rng, tube.cells[rng.integers(len(tube.cells))], tube.speeds)
                t = t if not tube.speeds else 1e6 * rng.random()  # they hold at whatever time
                moment = float(rng.choice([0.0, step, step * rng.random()]))
                series = truth.after(t, x, flint.arb_series([flint.arb(moment), 1]))
                c = np.array([float(coefficient(series[k], scheme.order + 1).mid()) for k in places])
                assert np.linalg.norm(c @ factor) <= block.proof.coefficient
                near = max(near, np.linalg.norm(c @ factor) / block.proof.coefficient)
                rows = kernel.run(x, numbers, t0=t, step=step, steps=1)
                computed = truth.deviation(t + step, rows.states[-1])
                exact = [constant(v) for v in truth.after(t, x, flint.arb(step))]
                lost = np.array([float((computed[k] - exact[k]).mid()) for k in places])
                assert np.linalg.norm(lost @ factor) <= block.proof.rounding
    return near
