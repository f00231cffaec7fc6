"""Chains cost by the link, from their text to their code, and what is found for them is right."""

import cProfile
from time import process_time

import numpy as np
import pytest

import holdfast as hf
from holdfast.engine.code.kernel_source import stepping
from holdfast.engine.kernel import compiled
from tests.problem.chains import chain

LONG = 380  # links: enough for rolled code


def text(count):
    return chain(count, mass=1 / count, length=1 / count)


def calls(work):
    """How many functions are called, and what the work gives."""
    profile = cProfile.Profile()
    made = profile.runcall(work)
    return sum(entry.callcount for entry in profile.getstats()), made


def test_twice_as_many_links_take_twice_the_calls_nodes_and_statements():
    counts = []
    hf.derive(hf.loads(text(78)))  # what is made once
    for count in (80, 160):
        loading, problem = calls(lambda count=count: hf.loads(text(count)))
        deriving, equations = calls(lambda problem=problem: hf.derive(problem))
        lowering, bodies = calls(lambda equations=equations: stepping(equations.field, hf.RK4).bodies)
        statements = len(bodies["rates"].statements)
        counts.append((loading, deriving, lowering, len(equations.inputs.graph), statements))
    ratios = [second / first for first, second in zip(*counts, strict=True)]
    assert max(ratios) < 2.2


def derived(count):
    with hf.limits(seconds=60):
        return hf.derive(hf.loads(text(count)))


@pytest.fixture(scope="module")
def long_chain():
    return derived(LONG)


def test_longer_chains_need_no_longer_code(long_chain):
    written = []
    for equations in (long_chain, derived(LONG + 20)):
        body = stepping(equations.field, hf.RK4).bodies["rates"]
        assert body.rolled is not None
        written.append((body.rolled.written, len(body.rolled.templates), len(body.rolled.sites)))
    assert written[0] == written[1]


def accelerations(places, velocities, length, rate=20.0, gravity=9.81):
    """M a - J' f = h with J a = Y - rate of J v, as one dense system."""
    count = len(places)
    along, moving = (np.diff(np.vstack([np.zeros((1, 2)), each]), axis=0) for each in (places, velocities))
    jacobian = np.zeros((count, 2 * count))
    for i, (dx, dy) in enumerate(along):
        jacobian[i, 2 * i : 2 * i + 2] = dx, dy
        if i:
            jacobian[i, 2 * i - 2 : 2 * i] = -dx, -dy
    demand = -(rate**2) * ((along**2).sum(1) - length**2) / 2 - 2 * rate * (along * moving).sum(1)
    system = np.block([[length * np.eye(2 * count), -jacobian.T], [jacobian, np.zeros((count, count))]])
    weight = np.tile([0.0, -length * gravity], count)
    return np.linalg.solve(system, np.concatenate([weight, demand - (moving**2).sum(1)]))[: 2 * count]


def test_accelerations_of_a_long_chain_are_those_of_a_dense_solution(long_chain):
    count, equations = LONG, long_chain
    shake, length = np.random.default_rng(7), 1 / count
    angles = shake.uniform(-1.2, 0.2, count)
    places = length * np.cumsum(np.column_stack([np.cos(angles), np.sin(angles)]), axis=0)
    places += 1e-3 * length * shake.normal(size=places.shape)  # off the program: the law has its say
    velocities = length * shake.normal(size=places.shape)
    kernel = compiled(equations.field, hf.RK4, tier="quick")
    constants = [equations.parameter_values[name] for name in equations.parameter_names]
    rates, _ = kernel.rates_and_margin(0.0, np.concatenate([places.ravel(), velocities.ravel()]), constants)
    expected = accelerations(places, velocities, length)
    assert np.abs(rates[2 * count :] - expected).max() < 1e-10 * np.abs(expected).max()


@pytest.mark.prove
def test_time_grows_with_the_links():
    """Eight times the links take eight times as long, twice that at most; squares would take 64 times."""
    times = []
    with hf.limits(seconds=600):
        hf.derive(hf.loads(text(200)))
        for count in (500, 4000):
            marks = [process_time()]
            problem = hf.loads(text(count))
            marks.append(process_time())
            field = hf.derive(problem).field
            marks.append(process_time())
            compiled(field, hf.RK4, tier="quick")
            marks.append(process_time())
            times.append(np.diff(marks))
    assert (times[1] < 16 * times[0]).all()
