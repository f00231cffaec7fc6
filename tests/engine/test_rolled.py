"""Bodies as loops over like parts: the bits of straight code, in code that does not grow with the number of parts."""

from itertools import pairwise

import numpy as np
import pytest

from holdfast.engine.emit import rolling
from holdfast.engine.emit.body import lowered
from holdfast.engine.emit.llvm_rolled import write_rolled
from holdfast.engine.emit.llvm_writer import LLVMWriter
from holdfast.engine.kernel import Kernel
from holdfast.graph.field import Field
from holdfast.graph.nodes import Graph
from holdfast.schemes.by_name import scheme_named
from holdfast.schemes.tableaus.kutta import RK4


def string(count, *, ends=True, call="sin"):
    """Masses on a line, each pulled by its neighbours through a function; a sum over all as an observable."""
    graph = Graph()
    time, x = graph.input("t"), [graph.input(f"x{k}") for k in range(count)]
    v, stiffness = [graph.input(f"v{k}") for k in range(count)], graph.input("k")
    pulls = [graph.call(call, b - a) for a, b in pairwise(x)]
    forces = []
    for k in range(count):
        force = -x[k] * graph.const(3) if ends and k in (0, count - 1) else graph.zero
        force = force + (pulls[k] if k + 1 < count else graph.zero) - (pulls[k - 1] if k else graph.zero)
        forces.append(force * stiffness + time * v[k] / (1 + x[k] * x[k]))
    running = graph.one  # a chain of divisions, as in an elimination
    chain = []
    for k in range(count):
        running = 2 + x[k] * x[k] - graph.one / (running + 1)
        chain.append(running)
    total = graph.sum(a * a for a in v)
    rates = (*v, *(f / c for f, c in zip(forces, chain, strict=True)))
    return Field(time, (*x, *v), (stiffness,), rates, observables=(total, *chain), positions=count)


def runs(monkeypatch, field, *, lanes=1, scheme=RK4, tier="optimised"):
    """Rows of straight and of rolled code."""
    size = len(field.state)
    state = np.random.default_rng(3).uniform(-1, 1, size)
    for least in (10**9, 50):
        monkeypatch.setattr(rolling, "ROLLED_FROM", least)
        kernel = Kernel(field, scheme, events=(), target="native", tier=tier)
        body = kernel.assembly.bodies["rates"]
        assert (body.rolled is not None) == (least == 50)
        yield kernel.run(state, [1.5], step=1e-3, steps=25)


@pytest.mark.parametrize("count", [40, 41, 64, 173])
@pytest.mark.parametrize("ends", [True, False])
def test_rolled_code_computes_the_bits_of_straight_code(monkeypatch, count, ends):
    monkeypatch.setenv("HOLDFAST_CACHE", "")  # what is kept knows nothing of limits set here
    straight, rolled = runs(monkeypatch, string(count, ends=ends))
    assert np.isfinite(straight.states).all()
    assert np.array_equal(straight.states, rolled.states)
    assert np.array_equal(straight.observables, rolled.observables)


@pytest.mark.parametrize("call", ["exp", "tanh", "sqrt", "abs", "cos"])
def test_every_kind_of_function_may_be_rolled(monkeypatch, call):
    monkeypatch.setenv("HOLDFAST_CACHE", "")  # what is kept knows nothing of limits set here
    straight, rolled = runs(monkeypatch, string(50, call=call), tier="quick")
    assert np.array_equal(straight.states, rolled.states, equal_nan=True)


@pytest.mark.parametrize("scheme", ["dop853", "implicit-midpoint", "symplectic-euler"])
def test_rolled_code_serves_every_kind_of_scheme(monkeypatch, scheme):
    monkeypatch.setenv("HOLDFAST_CACHE", "")  # what is kept knows nothing of limits set here
    field, chosen = string(24), scheme_named(scheme)
    if not chosen.adaptive:
        straight, rolled = runs(monkeypatch, field, scheme=chosen)
        assert np.array_equal(straight.states, rolled.states)
        return
    found = []
    for least in (10**9, 50):
        monkeypatch.setattr(rolling, "ROLLED_FROM", least)
        kernel = Kernel(field, chosen, events=(), target="native", tier="quick")
        found.append(kernel.run_adaptive(np.linspace(-1, 1, 48), [1.5], duration=1.0).states)
    assert np.array_equal(*found)


def test_lanes_of_rolled_code_agree_with_one_lane(monkeypatch):
    from holdfast.engine.ensemble import run_ensemble

    monkeypatch.setenv("HOLDFAST_CACHE", "")  # what is kept knows nothing of limits set here
    monkeypatch.setattr(rolling, "ROLLED_FROM", 50)
    field = string(40)
    kernel = Kernel(field, RK4, events=(), target="native", tier="quick")
    states = np.random.default_rng(4).uniform(-1, 1, (5, 80))
    cases = run_ensemble(kernel, states, np.array([[1.5]]), step=1e-3, steps=20)
    for state, rows in zip(states, cases.states, strict=True):
        assert np.array_equal(kernel.run(state, [1.5], step=1e-3, steps=20).states, rows)


def recurrences(seed, count=60):
    """Two or three sequences, each made from its own last values and from those of the others, some from far back."""
    random, graph = np.random.default_rng(seed), Graph()
    time, x, p = graph.input("t"), [graph.input(f"x{k}") for k in range(count)], graph.input("k")
    made = [[x[0] + j, x[1] - j, x[2] * p] for j in range(random.integers(2, 4))]
    reads = [[(random.integers(len(made)), random.integers(1, 4)) for _ in range(3)] for _ in made]
    for k in range(3, count):
        for own, sources in zip(made, reads, strict=True):
            first, *rest = (made[which][-lag if len(made[which]) > lag else 0] for which, lag in sources)
            own.append((x[k] + first * rest[0]) / (3 + rest[1] * rest[1]) + own[-1] / (2 + own[-2] * own[-2]))
    rates = tuple(graph.sum(own[k] for own in made) for k in range(count))
    return Field(time, tuple(x), (p,), rates, observables=tuple(own[-1] for own in made))


@pytest.mark.parametrize("seed", range(12))
def test_values_that_turns_hand_on_are_those_of_straight_code(monkeypatch, seed):
    monkeypatch.setenv("HOLDFAST_CACHE", "")  # what is kept knows nothing of limits set here
    straight, rolled = runs(monkeypatch, recurrences(seed), tier="quick")
    assert np.isfinite(straight.states).all()
    assert np.array_equal(straight.states, rolled.states)
    assert np.array_equal(straight.observables, rolled.observables)


def test_a_turn_reads_what_the_one_before_it_made_from_a_register(monkeypatch):
    monkeypatch.setattr(rolling, "ROLLED_FROM", 50)
    body, writer = body_of(string(64)), LLVMWriter()
    write_rolled(writer, "rates", body, body.rolled, fused=True)
    assert "%at.last" in writer.module


def body_of(field):
    return lowered(dict(enumerate(field.rates)), field.time, field.state, field.parameters)


def test_code_does_not_grow_with_the_number_of_parts(monkeypatch):
    monkeypatch.setattr(rolling, "ROLLED_FROM", 50)
    written = [body_of(string(count)).rolled.written for count in (100, 200, 400)]
    assert written[0] == written[1] == written[2] < 150


def test_what_has_no_like_parts_stays_straight(monkeypatch):
    """A different polynomial for every state."""
    monkeypatch.setattr(rolling, "ROLLED_FROM", 50)
    graph = Graph()
    x = [graph.input(f"x{k}") for k in range(12)]
    rates = tuple(graph.sum(graph.const(j * k + 1) * graph.power(x[k], j + 2) for j in range(k + 2)) for k in range(12))
    assert body_of(Field(graph.input("t"), tuple(x), (), rates)).rolled is None


def test_every_instance_reads_what_its_statements_read():
    """A rolled body, worked through in Python, fills the places of the straight one."""
    rolling_from, rolling.ROLLED_FROM = rolling.ROLLED_FROM, 50
    try:
        body = body_of(string(30, call="abs"))
        rolled = body.rolled
    finally:
        rolling.ROLLED_FROM = rolling_from
    memory = [0.3, *np.linspace(-1, 1, body.states), 1.5] + [np.nan] * (rolled.size - body.inputs)
    operations = {
        "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
        "neg": lambda a: -a, "abs": abs, "fma": lambda a, b, c: a * b + c, "fms": lambda a, b, c: a * b - c,
        "fnma": lambda a, b, c: c - a * b,
    }  # fmt: skip

    def value(op, operands, known):
        return operations[op](*(o if isinstance(o, float) else known[o] for o in operands))

    for site in rolled.sites:
        for turn in range(site.repeats):
            for run in site.runs:
                for number in range(run.first + turn * run.advance, run.first + turn * run.advance + run.count):
                    template, reads = rolled.templates[run.template], rolled.reads[run.template][number]
                    known = {k: memory[place] for k, place in enumerate(reads)}
                    assert not any(np.isnan(x) for x in known.values())
                    for k, (op, operands) in enumerate(template.statements, start=1):
                        known[-k] = value(op, operands, known)
                    memory[rolled.begins[run.template] + number] = known[-len(template.statements)]
    slots = dict(enumerate(memory[: body.inputs]))
    for k, (op, operands) in enumerate(body.statements, start=body.inputs):
        slots[k] = value(op, operands, slots)
    assert [memory[place] for _, place in rolled.outputs] == [slots[o] for _, o in body.outputs if isinstance(o, int)]


@pytest.mark.parametrize("seed", range(20))
def test_runs_are_cut_into_parts_that_cover_them(seed):
    random = np.random.default_rng(seed)
    pieces = [start + step * np.arange(size) for start, step, size in random.integers((0, -3, 1), (50, 4, 40), (6, 3))]
    reads = np.concatenate(pieces)[:, None]
    cuts = rolling.even_parts(reads)
    assert [k for first, last in cuts for k in range(first, last)] == list(range(len(reads)))
    assert sorted(rolling.even_order(reads).tolist()) == list(range(len(reads)))
