"""Long runs can be interrupted between chunks, and what was computed is kept."""

import os
import signal
import threading
import time

import numpy as np

from holdfast.engine.ensemble import run_ensemble
from holdfast.engine.kernel import compiled
from holdfast.engine.run.status import Status
from holdfast.schemes.tableaus.dopri5 import DOPRI5
from holdfast.schemes.tableaus.kutta import RK4
from tests.engine.fields import pendulum


def press_ctrl_c(after: float) -> threading.Timer:
    timer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def test_ctrl_c_keeps_the_rows_of_a_fixed_step_run():
    kernel = compiled(pendulum(), RK4)
    kernel.run([1.0, 0.0], [2.0], step=1e-6, steps=1000)
    began = time.perf_counter()
    timer = press_ctrl_c(0.3)
    rows = kernel.run([1.0, 0.0], [2.0], step=1e-6, steps=10**9, every=1000)
    timer.join()
    assert time.perf_counter() - began < 5
    assert rows.status == Status.interrupted
    assert 1000 < rows.steps < 10**9
    assert np.isfinite(rows.states).all()
    again = kernel.run([1.0, 0.0], [2.0], step=1e-6, steps=rows.steps, every=1000)
    assert np.array_equal(again.states, rows.states)


def test_ctrl_c_keeps_the_rows_of_an_adaptive_run():
    kernel = compiled(pendulum(), DOPRI5)
    timer = press_ctrl_c(0.3)
    rows = kernel.run_adaptive([1.0, 0.0], [2.0], duration=1e9, relative=1e-12, absolute=1e-12)
    timer.join()
    assert rows.status == Status.interrupted
    assert rows.steps == len(rows.times) - 1 > 100


def test_the_caller_can_stop_a_run_and_hears_of_its_progress():
    heard = []

    def stop(done: int) -> bool:
        heard.append(done)
        return done > 100_000

    rows = compiled(pendulum(), RK4).run([1.0, 0.0], [2.0], step=1e-6, steps=10**8, every=10_000, stop=stop)
    assert rows.status == Status.interrupted
    assert heard == sorted(heard)
    assert rows.steps == heard[-1]


def test_ctrl_c_keeps_what_an_ensemble_has():
    kernel = compiled(pendulum(), RK4)
    starts = np.random.default_rng(1).normal(size=(64, 2))
    timer = press_ctrl_c(0.4)
    result = run_ensemble(kernel, starts, np.array([2.0]), step=1e-6, steps=10**7, every=10**5, threads=2)
    timer.join()
    assert (result.status == Status.interrupted).any()
    assert set(result.status.tolist()) <= {Status.interrupted, Status.completed}
    begun = np.isfinite(result.final).all(axis=1)
    assert np.isfinite(result.states[begun, 0]).all()
    assert np.isnan(result.states[~begun]).all()
    assert not result.steps[~begun].any()
