"""Nothing hangs: what takes too long is stopped, said so, and the next question is answered."""

import subprocess
import sys
import threading
import time

import pytest
import sympy as sp

import holdfast as hf
from holdfast.structure.algebra.worker import WORKER, OutOfTime, Worker


def test_an_answer_comes_back_and_the_process_is_kept():
    worker = Worker()
    x = hf.coordinates("x")
    assert worker.ask(sp.expand, (x + 1) ** 2, limit=10) == sp.expand((x + 1) ** 2)
    first = worker._process.pid
    assert worker.ask(sp.diff, x**3, x, limit=10) == 3 * x**2
    assert worker._process.pid == first
    worker.stop()


def test_work_that_does_not_end_is_killed_in_time():
    worker = Worker()
    worker.ask(sp.expand, sp.S.One, limit=10)
    began = time.monotonic()
    with pytest.raises(OutOfTime, match="no answer within 0"):
        worker.ask(time.sleep, 60, limit=0.3)
    assert time.monotonic() - began < 3
    assert worker.ask(sp.expand, sp.S.One, limit=10) == 1  # by another process
    worker.stop()


def test_errors_of_the_work_are_raised_here():
    with pytest.raises(RuntimeError, match="TypeError"):
        WORKER.ask(sp.expand, limit=10)


def test_threads_take_turns():
    found = []
    threads = [threading.Thread(target=lambda k=k: found.append(WORKER.ask(abs, -k, limit=20))) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [0, 1, 2, 3]


def test_an_unguarded_script_may_ask():
    script = "import holdfast as hf\nx = hf.coordinates('x')\nimport sympy as sp\n"
    script += "print(hf.lagrangian([x.acceleration + sp.exp(sp.sin(x)) * sp.cos(x)], (x,)).strict.value)\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "True", done.stderr


def test_a_stalled_integral_falls_back_and_says_so():
    x = hf.coordinates("x")
    WORKER.ask(abs, 0, limit=20)  # started
    began = time.monotonic()
    form = hf.lagrangian([x.acceleration + sp.exp(sp.sin(x)) + x.rate], (x,), time_limit=0.003)
    assert time.monotonic() - began < 5
    assert form.wide
    assert not form.exact
    assert form.residual.size < 1e-12
    assert any("given up" in note for note in form.notes)
