"""Threads, forks and other processes: the same bits everywhere, and nothing that hangs or breaks."""

import multiprocessing
import os
import pickle
import random
import subprocess
import sys
import threading

import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from holdfast.engine import kernel
from holdfast.engine.kernel import compiled
from holdfast.schemes.by_name import scheme_named
from tests.test_files import PENDULUM

EXAMPLES = sorted(file for file in __import__("pathlib").Path(hf.__file__).parent.joinpath("examples").glob("*.toml"))


# ── pickles ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_problems_and_equations_come_back_from_a_pickle(file):
    problem = hf.load(file)
    assert pickle.loads(pickle.dumps(problem)) == problem
    if isinstance(problem.program.law, hf.Tuned):
        return
    equations = hf.derive(problem)
    again = pickle.loads(pickle.dumps(equations))
    assert again.fingerprint == equations.fingerprint
    assert (again.state_names, again.parameter_values) == (equations.state_names, equations.parameter_values)


def states_of(equations):
    """What a worker process computes."""
    return hf.simulate(equations, duration=0.5).y.tobytes()


def energy_of(run):
    return run.energy.tobytes(), run.outcome.name, run.state_error.worst


def case_of(runs):
    return runs[1].y.tobytes(), runs["energy"].tobytes()


def test_pickled_things_give_the_same_bits_in_a_spawned_process():
    equations = hf.derive(hf.loads(PENDULUM))
    linear = hf.derive(hf.loads(PENDULUM), second_order=False)
    stiffer = equations.with_law(hf.SpringDamper(stiffness=9, damping=6))
    run = hf.simulate(stiffer, duration=0.5)
    runs = hf.ensemble(equations, cases={"x": [1.0, 1.0]}, duration=0.1, start_policy="keep")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for some in (equations, linear, stiffer):
            assert pool.apply(states_of, (some,)) == states_of(some)
        assert pool.apply(energy_of, (run,)) == energy_of(run)
        assert pool.apply(case_of, (runs,)) == case_of(runs)


def test_a_pickled_run_keeps_what_is_known_of_it():
    run = hf.simulate(
        hf.derive(hf.loads(PENDULUM)), duration=0.5, events={"side": hf.loads(PENDULUM).system.coordinates[0]}
    )
    again = pickle.loads(pickle.dumps(run))
    for name in "outcome start scheme step steps nfev every note parameters projected against".split():
        assert getattr(again, name) == getattr(run, name), name
    assert again.problem == run.problem
    assert not again["x"].flags.writeable
    assert [*again.events] == [*run.events]


def test_a_problem_without_a_file_is_pickled_by_its_parts():
    x = hf.coordinates("x")[0] if isinstance(hf.coordinates("x"), tuple) else hf.coordinates("x")
    problem = hf.Problem(hf.System(coordinates=(x,), kinetic=sp.Mul(x.rate, x.rate, sp.Rational(1, 2), evaluate=False)))
    with pytest.raises(hf.HoldfastError):
        hf.dumps(problem)
    again = pickle.loads(pickle.dumps(problem))
    assert again.system.coordinates == problem.system.coordinates


def test_equations_of_another_version_are_refused(monkeypatch):
    equations = hf.derive(hf.loads(PENDULUM))
    rebuild, (problem, second_order, _) = equations.__reduce__()
    with pytest.raises(hf.BadRequest, match="not those that were pickled"):
        rebuild(problem, second_order, "another")


# ── threads ───────────────────────────────────────────────────────────────────────────────────────


def text(k):
    return f'schema = 1\n[system]\ncoordinates = ["x"]\nkinetic = "x_dot**2/2"\npotential = "sin({k + 1}*x)"\n'


def hammered(threads: int, calls: int) -> tuple[int, list[str]]:
    """Threads that ask for more kernels than are kept, switching all the time: calls that went well, and errors."""
    fields = [hf.derive(hf.loads(text(k))).field for k in range(10)]
    schemes = [scheme_named(s) for s in "euler rk4 heun ralston midpoint kutta3 three-eighths symplectic-euler".split()]
    pairs = [(field, scheme) for field in fields for scheme in schemes]
    wanted = {(id(f), s.name): compiled(f, s).rates(0.0, [0.3, 0.1]) for f, s in pairs}
    before, errors, good = sys.getswitchinterval(), [], [0] * threads
    sys.setswitchinterval(1e-6)

    def work(number):
        choice = random.Random(number)
        for _ in range(calls):
            field, scheme = choice.choice(pairs)
            try:
                found = compiled(field, scheme).rates(0.0, [0.3, 0.1])
                assert np.array_equal(found, wanted[id(field), scheme.name])
                good[number] += 1
            except Exception as error:
                errors.append(repr(error))

    try:
        workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        sys.setswitchinterval(before)
    return sum(good), errors


def test_threads_share_the_table_of_kernels():
    good, errors = hammered(64, 20)
    assert (good, errors) == (64 * 20, [])
    assert len(kernel._MADE) <= kernel._KEPT


@pytest.mark.prove
def test_64_threads_share_the_table_of_kernels_for_long():
    good, errors = hammered(64, 1500)
    print(good, "calls,", len(errors), "errors")
    assert not errors


# ── forks ─────────────────────────────────────────────────────────────────────────────────────────

FORKS = """
import os, signal, sys, threading, time
os.environ["HOLDFAST_CACHE"] = ""
import holdfast as hf
TEXT = 'schema = 1\\n[system]\\ncoordinates = ["x"]\\nkinetic = "x_dot**2/2"\\npotential = "{}"\\n'
def some(k):
    return hf.simulate(hf.derive(hf.loads(TEXT.format(f"sin({k + 1}*x)"))), "rk4", step=0.01, duration=0.1)
some(0)
stop = False
def work(n):
    k = n
    while not stop:
        some(k)
        k += 4
threads = [threading.Thread(target=work, args=(1000 * n,), daemon=True) for n in range(4)]
[t.start() for t in threads]
hung = 0
for trial in range(int(sys.argv[1])):
    time.sleep(0.005)
    child = os.fork()
    if not child:
        signal.alarm(20)
        some(5000 + trial)
        some(0)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    hung += status != 0
stop = True
print(hung, "of", sys.argv[1], "children hung or failed", flush=True)
os._exit(hung > 0)
"""


def forked(count: int) -> None:
    command = [sys.executable, "-c", FORKS, str(count)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=25 * count, check=False)
    print(found.stdout)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_children_of_a_process_with_threads_go_on():
    forked(6)


@pytest.mark.prove
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_many_children_of_a_process_with_threads_go_on():
    forked(100)


HELD = """
import os, signal, sys, threading, time
sys.path.insert(0, sys.argv[2])
import holdfast as hf
import holdfast.engine.locks
from holdfast.graph.arithmetics.balls import ball, precision
from holdfast.structure.algebra.worker import WORKER
held = threading.Event()
def balls():
    with precision(80):
        held.set(); time.sleep(60)
def worker():
    with WORKER._lock:
        held.set(); time.sleep(60)
def question():
    held.set(); WORKER.ask(time.sleep, 60, limit=60)
def imports():
    held.set()
    import slow_module
def use(what):
    if what == "balls":
        with precision(53): ball(1)
    elif what == "imports":
        import slow_module
        assert slow_module.done
    else:
        assert WORKER.ask(max, 1, 2, limit=30) == 2
        WORKER.stop()
what = sys.argv[1]
threading.Thread(target=globals()[what], daemon=True).start()
held.wait(); time.sleep(0.1 if what != "question" else 3.0)
child = os.fork()
if not child:
    signal.alarm(40)
    use(what)
    os._exit(0)
os._exit(os.waitpid(child, 0)[1] != 0)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("what", ["balls", "worker", "question", "imports"])
def test_a_child_has_what_a_thread_of_its_parent_holds(what, tmp_path):
    (tmp_path / "slow_module.py").write_text("import time\ntime.sleep(0.4)\ndone = True\n")
    command = [sys.executable, "-c", HELD, what, str(tmp_path)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert found.returncode == 0, found.stderr


def test_code_is_made_from_the_text_that_was_imported(tmp_path):
    """The source changes under a running process: it goes on with what it has read, under its own key."""
    script = """
import pathlib, shutil, sys
sys.path.insert(0, sys.argv[1])
import holdfast as hf
from holdfast.engine.code import kernel_source as assembly
from holdfast.engine.drivers import fixed
assert fixed.__file__.startswith(sys.argv[1])
key = assembly.emitter()
file = pathlib.Path(fixed.__file__)
file.write_text("\\n\\n# another version\\n" + file.read_text().replace("def ", "def other_"))
equations = hf.derive(hf.loads(sys.argv[2]))
print(assembly.emitter() == key, hf.simulate(equations, duration=0.1).success)
"""
    import shutil

    shutil.copytree(os.path.dirname(hf.__file__), tmp_path / "holdfast", ignore=shutil.ignore_patterns("__pycache__"))
    environment = {**os.environ, "HOLDFAST_CACHE": "", "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", script, str(tmp_path), PENDULUM]
    found = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert found.stdout.split() == ["True", "True"], found.stderr
