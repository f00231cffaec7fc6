"""Tiers, lanes and threads agree bit for bit; targets agree as well as rounding allows."""

import ast
import ctypes
import math
import shutil
import subprocess
import threading

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from holdfast.engine import ensemble
from holdfast.engine.code import native
from holdfast.engine.code.kernel_source import observing, stepping
from holdfast.engine.code.machine import NativeMachine
from holdfast.engine.emit.translate import _signatures, functions_in
from holdfast.engine.ensemble import run_ensemble, run_ensemble_adaptive
from holdfast.engine.kernel import compiled
from holdfast.engine.run.adaptive import AdaptiveRun
from holdfast.engine.run.memory import reals
from holdfast.engine.run.status import Status
from holdfast.errors import BadRequest
from holdfast.graph.arithmetics.arrays import ARRAYS
from holdfast.graph.arithmetics.balls import ball, balls, precision
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.field import Field
from holdfast.graph.nodes import Graph
from holdfast.graph.table import Table
from holdfast.problem.data import data
from holdfast.schemes.by_name import ALL_SCHEMES
from holdfast.schemes.tableaus.dop853 import DOP853
from holdfast.schemes.tableaus.implicit_midpoint import IMPLICIT_MIDPOINT
from holdfast.schemes.tableaus.kutta import RK4
from holdfast.schemes.tableaus.radau import RADAU, RADAU5
from tests.engine.fields import blow_up, chain, everything, pendulum

START, PARAMETERS = [0.4, -0.7], [0.3]


def run(scheme, **options):
    kernel = compiled(everything(), scheme, **options)
    if scheme.adaptive:
        return kernel.run_adaptive(START, PARAMETERS, duration=2.0, relative=1e-9, absolute=1e-9)
    return kernel.run(START, PARAMETERS, step=0.01, steps=200)


@pytest.mark.parametrize("scheme", ALL_SCHEMES, ids=lambda s: s.name)
def test_the_quick_and_the_optimised_tier_give_the_same_bits(scheme):
    quick, optimised = run(scheme, tier="quick"), run(scheme, tier="optimised")
    assert quick.status == optimised.status == Status.completed
    for name in ("times", "states", "observables"):
        assert np.array_equal(getattr(quick, name), getattr(optimised, name))


def test_tiers_agree_on_a_mechanism():
    field, start, parameters = chain(12)
    quick, optimised = (
        compiled(field, RK4, tier=tier).run(start, parameters, step=1e-3, steps=300) for tier in ("quick", "optimised")
    )
    assert np.array_equal(quick.states, optimised.states)
    assert np.array_equal(quick.pivots, optimised.pivots)


def test_the_thread_that_optimises_parses_nothing(monkeypatch):
    """Python's parser is not safe in two threads: "AST constructor recursion depth mismatch" (CPython 106905)."""
    monkeypatch.setenv("HOLDFAST_CACHE", "")
    machine = NativeMachine(stepping(everything(), RK4))
    functions_in.cache_clear()  # as if the quick tier had been found among the kept code
    _signatures.cache_clear()
    parsed, parse = [], ast.parse
    monkeypatch.setattr(ast, "parse", lambda *a, **k: parsed.append(threading.current_thread()) or parse(*a, **k))
    machine.expect(1e12)
    machine.wait()
    assert machine.optimised
    assert parsed
    assert set(parsed) == {threading.main_thread()}


def test_a_change_of_tier_during_a_run_is_not_seen():
    kernel = compiled(everything(), RK4)
    long = kernel.run(START, PARAMETERS, step=1e-4, steps=200_000, every=1000)
    assert isinstance(kernel.machine, NativeMachine)
    kernel.machine.wait()
    assert kernel.machine.optimised
    again = compiled(everything(), RK4, tier="quick").run(START, PARAMETERS, step=1e-4, steps=200_000, every=1000)
    assert np.array_equal(long.states, again.states)


@pytest.mark.parametrize("lanes", [2, 4, 8])
@pytest.mark.parametrize("threads", [1, 2])
def test_cases_do_not_depend_on_lanes_or_threads(lanes, threads):
    rng = np.random.default_rng(3)
    states, parameters = rng.normal(size=(13, 2)), rng.uniform(0.1, 0.5, size=(13, 1))
    states[3] = 1e300  # some cases end badly, and nobody else notices
    kernel = compiled(everything(), RK4)
    one = run_ensemble(kernel, states, parameters, step=0.02, steps=60, every=7, lanes=1, threads=1)
    many = run_ensemble(kernel, states, parameters, step=0.02, steps=60, every=7, lanes=lanes, threads=threads)
    for name in ("times", "states", "observables", "final", "status", "steps"):
        assert np.array_equal(getattr(one, name), getattr(many, name), equal_nan=True), name
    single = kernel.run(states[5], parameters[5], step=0.02, steps=60, every=7)
    assert np.array_equal(single.states[:9], many.states[5])
    assert many.status[3] != Status.completed


def test_an_ensemble_in_the_memory_of_another_is_as_good_as_alone():
    rng = np.random.default_rng(4)
    states, parameters = rng.normal(size=(2, 13, 2)), rng.uniform(0.1, 0.5, size=(2, 13, 1))
    states[0, 3] = np.nan
    kernel, alone = (compiled(everything(), RK4, tier=tier) for tier in ("quick", "optimised"))
    for x, p in zip(states, parameters, strict=True):
        again = run_ensemble(kernel, x, p, step=0.02, steps=60, every=7, lanes=4, threads=1)
    assert kernel._spare_blocks
    fresh = run_ensemble(alone, states[1], parameters[1], step=0.02, steps=60, every=7, lanes=4, threads=1)
    for name in ("states", "observables", "final", "status", "steps", "pivots"):
        assert np.array_equal(getattr(again, name), getattr(fresh, name), equal_nan=True), name


def test_who_looks_sees_every_row_of_every_case_and_few_are_kept(monkeypatch):
    monkeypatch.setattr(ensemble, "SHOWN_NUMBERS", 1)  # a block at a time
    kernel, seen = compiled(blow_up(), RK4), np.full((13, 151, 1), 7.0)
    starts = np.linspace(0.1, 4.0, 13)[:, None]

    def look(cases, states):
        seen[cases] = states

    every = run_ensemble(kernel, starts, step=0.01, steps=150, lanes=4)
    few = run_ensemble(kernel, starts, step=0.01, steps=150, lanes=4, look=look, keep=40)
    assert np.array_equal(seen, every.states, equal_nan=True)
    assert np.array_equal(few.states, every.states[:, ::40], equal_nan=True)
    assert np.array_equal(few.times, every.times[::40])
    assert np.array_equal(few.final, every.final)


def test_lanes_that_end_early_keep_their_last_good_state():
    kernel = compiled(blow_up(), RK4)
    starts = np.array([[1.0], [0.1], [2.0], [0.2], [4.0]])
    result = run_ensemble(kernel, starts, step=0.01, steps=150, every=10, lanes=4)
    for case, start in enumerate(starts):
        alone = kernel.run(start, step=0.01, steps=150)
        assert result.status[case] == alone.status
        assert result.steps[case] == alone.steps
        assert np.array_equal(result.final[case], alone.states[-1])


@pytest.mark.parametrize("scheme", [DOP853, RADAU], ids=lambda scheme: scheme.name)
def test_adaptive_cases_do_not_depend_on_threads(scheme):
    starts = np.random.default_rng(5).normal(size=(7, 2))
    kernel = compiled(pendulum(), scheme)
    one = run_ensemble_adaptive(kernel, starts, np.array([2.0]), duration=5.0, at=[1.0, 5.0], threads=1)
    two = run_ensemble_adaptive(kernel, starts, np.array([2.0]), duration=5.0, at=[1.0, 5.0], threads=2)
    assert all(np.array_equal(a.states, b.states) for a, b in zip(one, two, strict=True))


def test_progress_is_told():
    heard = []
    kernel = compiled(pendulum(), RK4)
    run_ensemble(
        kernel, np.ones((10, 2)), np.array([2.0]), step=0.1, steps=5, lanes=4, progress=lambda *n: heard.append(n)
    )
    assert heard[-1] == (10, 10)


@pytest.mark.parametrize("target", [{"tier": "quick"}, {"tier": "optimised"}, {"target": "python"}], ids=str)
def test_an_angle_on_the_cut_is_pi_whatever_the_sign_of_a_zero(target):
    """As in balls, which have one zero: b − a is −(a − b) in the code, and −0 where both are equal."""
    g = Graph()
    t, a, b = (g.input(name) for name in "tab")
    angles = (g.call("atan2", a - b, -b), g.call("atan2", b - a, -b), g.call("atan2", -t, -a), g.call("atan2", t, -t))
    field = Field(time=t, state=(a, b), parameters=(), rates=(*angles[:2],), observables=angles)
    expected = [math.pi, math.pi, math.pi, 0.0]
    found = compiled(field, RK4, **target).run([1.0, 1.0], step=1.0, steps=0).observables[0]
    assert found.tolist() == expected
    tape = Tape(field.inputs, angles)
    assert tape([0.0, 1.0, 1.0]) == expected
    many = tape.compiled(ARRAYS)([np.zeros(2), np.ones(2), np.ones(2)])
    assert [column.tolist() for column in many] == [[angle] * 2 for angle in expected]
    with precision(80):
        assert [float(x.mid()) for x in tape.compiled(balls())([ball(0), ball(1), ball(1)])] == expected


# ── targets ───────────────────────────────────────────────────────────────────────────────────────


def exact_terms(states):
    """The observables of `everything` in 60 digits, and the size of the largest term of each."""
    with mp.workdps(60):
        for x, y, a in states:
            x, y, a = mp.mpf(x), mp.mpf(y), mp.mpf(a)
            s = x**2 + y**2 + 1
            below = 2 + mp.cos(x)
            yield [
                [mp.sin(x) * mp.cos(y)],
                [mp.exp(-(x**2)), mp.log(s)],
                [mp.sqrt(s) / below, 1 / below, y / below],
                [mp.tanh(x), mp.sinh(y), -mp.cosh(x), mp.tan(x / 3)],
                [mp.atan(x), mp.asin(y / 4), -mp.acos(x / 4), mp.atan2(y, s)],
                [mp.power(s, a), x**5, -(y**7)],
                [abs(x), mp.sign(y), min(x, y), max(x, mp.mpf(1))],
                [y if x > 0 else a, mp.pi * x, -mp.mpf(1) / 3],
            ]


def c_library(assembly, folder, *flags):
    """The C text through the system's compiler."""
    source, library = folder / "module.c", folder / "module.so"
    source.write_text(assembly.c())
    flags = ["-std=c99", "-O2", "-Werror", "-fPIC", "-shared", *flags]
    subprocess.run([shutil.which("cc"), *flags, str(source), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def by_c(field, states, parameter, folder):
    """The observables by the C text."""
    assembly = observing(field, field.observables)
    body = c_library(assembly, folder, "-Wall", "-Wextra").hf_body
    body.argtypes = [ctypes.c_double, *[ctypes.c_void_p] * 4]
    body.restype = None
    found = []
    for state in states:
        x, p = np.array(state), np.array([parameter])
        out, work = np.empty(len(field.observables)), reals(assembly.work)
        body(0.0, x.ctypes.data, p.ctypes.data, out.ctypes.data, work.ctypes.data)
        found.append(out)
    return np.array(found)


@pytest.mark.parametrize("target", ["native", "c"])
def test_targets_are_as_accurate_as_python(target, tmp_path):
    if target == "c" and shutil.which("cc") is None:
        pytest.skip("no C compiler here")
    field = everything()
    states = np.random.default_rng(9).uniform(-1.4, 1.4, size=(60, 2))
    times = np.zeros(len(states))
    python = compiled(field, RK4, target="python").observe(times, states, PARAMETERS)
    if target == "c":
        other = by_c(field, states, PARAMETERS[0], tmp_path)
    else:
        other = compiled(field, RK4).observe(times, states, PARAMETERS)
    for row, terms in enumerate(exact_terms([(*state, *PARAMETERS) for state in states])):
        for k, parts in enumerate(terms):
            exact, largest = mp.fsum(parts), float(max(abs(part) for part in parts))
            allowed = 4 * abs(python[row, k] - exact) + 8 * math.ulp(largest)
            assert abs(other[row, k] - exact) <= allowed, (row, k)


def test_the_c_driver_takes_the_same_steps(tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler here")
    field, start, parameters = chain(3)
    kernel = compiled(field, RK4)
    library = c_library(kernel.assembly, tmp_path)
    fixed, blocks = library.hf_fixed, library.hf_fixed_blocks
    fixed.argtypes = [*[ctypes.c_int64] * 3, *[ctypes.c_double] * 2, *[ctypes.c_void_p] * 9]
    fixed.restype = ctypes.c_int64
    blocks.argtypes = [*[ctypes.c_int64] * 5, *[ctypes.c_double] * 2, *[ctypes.c_void_p] * 9]
    blocks.restype = None
    native_rows = kernel.run(start, parameters, step=1e-3, steps=100, every=10)
    for function, counts in ((fixed, (0, 100, 10)), (blocks, (1, 0, 100, 10, 11))):
        memory = kernel.memory(start, parameters, 0.0, None)
        rows = np.zeros((10, len(start)))
        arrays = [memory.x, memory.f, memory.p, memory.watch, memory.events, memory.status, memory.done, rows]
        function(*counts, 0.0, 1e-3, *(array.ctypes.data for array in (*arrays, memory.work)))
        assert memory.done[0, 0] == 100
        assert np.abs(rows - native_rows.states[1:]).max() < 1e-13


@pytest.mark.parametrize("scheme", [DOP853, RADAU], ids=lambda scheme: scheme.name)
def test_the_c_driver_chooses_the_same_steps(scheme, tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler here")
    field, start, parameters = chain(3)
    kernel = compiled(field, scheme)
    rows = kernel.run_adaptive(start, parameters, duration=0.5, relative=1e-7, absolute=1e-7)
    adaptive = c_library(kernel.assembly, tmp_path).hf_adaptive
    adaptive.argtypes = [ctypes.c_int64, *[ctypes.c_void_p] * 12]
    adaptive.restype = None
    memory = kernel.memory(start, parameters, 0.0, None)
    run = AdaptiveRun.begun(kernel.machine, memory, 0.0, 0.5, 1e-7, 1e-7, np.inf, interpolants=False, cost=1.0)
    times, states = np.zeros(1000), np.zeros((1000, len(start)))
    arrays = [run.control, run.counts, memory.x, memory.f, memory.p, memory.watch, memory.events, run.absolutes]
    adaptive(1000, *(array.ctypes.data for array in (*arrays, times, states, np.zeros(1), memory.work)))
    assert (run.accepted, run.rejected) == (rows.steps, rows.rejected)
    assert run.status == Status.completed
    assert_allclose(states[: rows.steps], rows.states[1:], atol=1e-12)


@pytest.mark.parametrize("scheme", [scheme for scheme in ALL_SCHEMES if scheme.adaptive], ids=lambda s: s.name)
def test_python_chooses_the_same_steps(scheme):
    """Their lengths differ by the rounding of a measured error, which is a difference; so the states are compared."""
    found = [
        compiled(pendulum(), scheme, target=target).run_adaptive(
            [1.0, 0.0], [2.0], duration=5.0, relative=1e-9, absolute=1e-9
        )
        for target in ("native", "python")
    ]
    assert len({(rows.steps, rows.rejected, rows.evaluations) for rows in found}) == 1
    wanted = np.linspace(0, 5, 101)
    assert_allclose(found[0].dense(wanted), found[1].dense(wanted), rtol=0, atol=1e-12)


def test_a_machine_without_fused_products_is_served_too():
    """The same module with products and sums apart; its tiers agree as well."""
    field, start, parameters = chain(3)
    kernel = compiled(field, RK4)
    text = kernel.assembly.llvm(1, fused=False)
    found = []
    for optimised in (False, True):
        loaded = native.LoadedObject(
            native.object_code(text, optimised=optimised), {"rates": kernel.assembly.signatures["rates"]}
        )
        out, work = reals(len(start) + len(field.watched)), reals(kernel.assembly.work)
        p = np.array(parameters)
        loaded.functions["rates"](0.0, start.ctypes.data, p.ctypes.data, out.ctypes.data, work.ctypes.data)
        found.append(out[: len(start)])
    assert np.array_equal(found[0], found[1])
    assert_allclose(found[0], kernel.rates(0.0, start, parameters), rtol=1e-12, atol=1e-12)


def test_python_gives_nan_and_infinity_where_the_machine_does():
    field = everything()
    states = np.array([[np.inf, 1.0], [np.nan, 1.0], [0.0, 5.0], [-0.0, 0.0], [1e200, 1e200], [800.0, -800.0]])
    times = np.zeros(len(states))
    for parameter in (0.3, -400.0, 1e4):
        python = compiled(field, RK4, target="python").observe(times, states, [parameter])
        machine = compiled(field, RK4).observe(times, states, [parameter])
        assert np.array_equal(np.isnan(python), np.isnan(machine))
        assert np.array_equal(np.isinf(python), np.isinf(machine))


def test_without_llvm_the_python_target_serves(monkeypatch):
    monkeypatch.setattr(native, "available", lambda: False)
    rows = compiled(pendulum(), RK4).run([1.0, 0.0], [2.5], step=0.1, steps=3)
    assert rows.status == Status.completed


@pytest.mark.parametrize("scheme", [IMPLICIT_MIDPOINT, RADAU5], ids=lambda scheme: scheme.name)
def test_implicit_schemes_run_their_cases_one_by_one_whatever_lanes_are_asked_for(scheme):
    kernel = compiled(pendulum(), scheme)
    states, parameters = np.array([[0.1 * k, 0.0] for k in range(11)]), np.array([[2.0]])
    wide = run_ensemble(kernel, states, parameters, step=0.02, steps=20, lanes=8)
    for number, state in enumerate(states):
        alone = kernel.run(state, [2.0], step=0.02, steps=20)
        assert np.array_equal(wide.states[number], alone.states)
        assert np.array_equal(wide.observables[number], alone.observables)
    with pytest.raises(BadRequest, match="cannot run 8 cases side by side"):
        kernel.lanes(8)


def test_python_runs_its_cases_one_by_one():
    states, parameters = np.array([[0.1 * k, 0.0] for k in range(5)]), np.array([[2.0]])
    kernel = compiled(pendulum(), RK4, target="python")
    wide = run_ensemble(kernel, states, parameters, step=0.02, steps=20, lanes=4)
    for number, state in enumerate(states):
        assert np.array_equal(wide.states[number], kernel.run(state, [2.0], step=0.02, steps=20).states)


def test_a_function_by_pieces_is_the_same_in_c(tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler here")
    graph = Graph()
    t, x, y, a = (graph.input(name) for name in ("t", "x", "y", "a"))
    times = np.linspace(-1, 1, 30)
    table = Table("f", *data(times, np.sin(3 * times)).pieces())
    observed = tuple(graph.table(table, order, x) for order in range(4))
    field = Field(t, (x, y), (a,), (x, y), observables=observed)
    states = np.random.default_rng(4).uniform(-1.2, 1.2, size=(60, 2))
    python = compiled(field, RK4, target="python").observe(np.zeros(60), states, [1.0])
    found = by_c(field, states, 1.0, tmp_path)
    assert np.array_equal(found, python, equal_nan=True)
    assert np.isnan(found[np.abs(states[:, 0]) > 1.0001]).all()


def test_what_fails_on_any_thread_reaches_the_caller_after_all_have_stopped():
    kernel = compiled(pendulum(), RK4)

    def look(cases, rows):
        raise LookupError(f"cases from {cases.start} on")

    before = threading.active_count()
    with pytest.raises(LookupError, match="cases from"):
        run_ensemble(kernel, np.ones((40, 2)), np.array([2.0]), step=0.1, steps=5, lanes=2, threads=3, look=look)
    assert threading.active_count() == before
