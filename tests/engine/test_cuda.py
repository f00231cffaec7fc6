"""The card's code: its text run by another compiler gives the bits of the kernels; what it cannot do it says."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from holdfast.engine.code.kernel_source import stepping
from holdfast.engine.cuda.ensemble import AdaptivePlan, CardRun
from holdfast.engine.emit.order.few_held import in_few_registers, values_held
from holdfast.engine.ensemble import run_ensemble, run_ensemble_adaptive
from holdfast.engine.kernel import compiled
from holdfast.engine.run.fixed import Steps
from holdfast.engine.run.status import Status
from holdfast.errors import BadRequest
from holdfast.graph.field import Field
from holdfast.graph.nodes import Graph
from holdfast.schemes.by_name import ALL_SCHEMES
from holdfast.schemes.tableaus.dop853 import DOP853
from holdfast.schemes.tableaus.kutta import RK4
from holdfast.schemes.tableaus.radau import RADAU5
from tests.engine.fields import blow_up, chain, everything, pendulum

STARTS = np.array([[0.1, 0.0], [1.2, -0.3], [2.0, 0.5], [0.0, 3.0], [3.1, 0.1]])
STIFFNESS = np.array([[1.0], [4.0], [1.0], [2.5], [9.0]])
FIXED = [s for s in ALL_SCHEMES if s.explicit and not s.adaptive]


@pytest.mark.parametrize("scheme", FIXED, ids=lambda scheme: scheme.name)
def test_a_card_gives_the_bits_of_the_processor(emulated, scheme):
    kernel = compiled(pendulum(), scheme)
    ours = run_ensemble(kernel, STARTS, STIFFNESS, step=0.01, steps=103, every=10)
    plan = Steps(0.0, 0.01, 103, 10)
    theirs = CardRun(stepping(pendulum(), scheme), scheme, STIFFNESS).run(STARTS, STIFFNESS, plan)
    assert np.array_equal(ours.states, theirs.states)
    assert np.array_equal(ours.final, theirs.final)
    assert np.array_equal(ours.steps, theirs.steps)
    assert (theirs.status == Status.completed).all()


def test_every_operation_is_there(emulated):
    """All but those of the system's library, which on a card is another."""
    starts, powers = np.array([[0.3, 0.2], [0.8, -0.5]]), np.array([[1.5], [0.7]])
    ours = run_ensemble(compiled(everything(), RK4), starts, powers, step=0.02, steps=50)
    theirs = CardRun(stepping(everything(), RK4), RK4, powers).run(starts, powers, Steps(0.0, 0.02, 50, 1))
    assert_allclose(theirs.states, ours.states, rtol=1e-14, atol=1e-15)


def test_pivots_and_bad_ends_are_told_alike(emulated):
    field, start, parameters = chain(3)
    straight = np.array(start)
    straight[:6] = 0  # all masses in one point
    starts, shared = np.array([start, straight]), np.array([parameters, parameters])
    ours = run_ensemble(compiled(field, RK4), starts, shared, step=1e-3, steps=200, every=50)
    theirs = CardRun(stepping(field, RK4), RK4, shared).run(starts, shared, Steps(0.0, 1e-3, 200, 50))
    assert np.array_equal(ours.status, theirs.status)
    assert np.array_equal(ours.states, theirs.states, equal_nan=True)
    assert np.array_equal(ours.pivots[0], theirs.pivots[0])


def test_a_case_that_blows_up_keeps_its_last_good_state(emulated):
    starts, none = np.array([[1.0], [0.1]]), np.zeros((2, 0))
    ours = run_ensemble(compiled(blow_up(), RK4), starts, none, step=0.05, steps=60)
    theirs = CardRun(stepping(blow_up(), RK4), RK4, none).run(starts, none, Steps(0.0, 0.05, 60, 1))
    assert list(theirs.status) == list(ours.status) == [Status.not_finite, Status.completed]
    assert np.array_equal(ours.states, theirs.states, equal_nan=True)
    assert np.array_equal(ours.final, theirs.final)


def test_float_is_near(emulated):
    plan = Steps(0.0, 0.01, 100, 100)
    exact = CardRun(stepping(pendulum(), RK4), RK4, STIFFNESS).run(STARTS, STIFFNESS, plan)
    short = CardRun(stepping(pendulum(), RK4), RK4, STIFFNESS, "float").run(STARTS, STIFFNESS, plan)
    assert_allclose(short.final, exact.final, atol=2e-5)
    assert (short.final != exact.final).any()


def test_steps_chosen_by_their_error(emulated):
    at = np.linspace(0.0, 5.0, 11)
    kernel = compiled(pendulum(), DOP853)
    ours = run_ensemble_adaptive(kernel, STARTS, STIFFNESS, duration=5.0, relative=1e-9, absolute=1e-9, at=at)
    plan = AdaptivePlan(0.0, 5.0, 1e-9, np.full(STARTS.shape, 1e-9), np.inf, at)
    theirs = CardRun(stepping(pendulum(), DOP853), DOP853, STIFFNESS).run(STARTS, STIFFNESS, plan)
    assert_allclose(theirs.states, np.array([rows.states for rows in ours]), atol=1e-12)
    assert [rows.steps for rows in ours] == theirs.steps.tolist()
    assert (theirs.status == Status.completed).all()


def test_many_launches_and_batches_change_nothing(emulated, monkeypatch):
    from holdfast.engine.cuda import ensemble

    whole = CardRun(stepping(pendulum(), RK4), RK4, STIFFNESS)
    plan, at = Steps(0.0, 0.01, 100, 7), np.linspace(0.0, 1.0, 5)
    expected = whole.run(STARTS, STIFFNESS, plan)
    monkeypatch.setattr(ensemble, "LONGEST", 0.0)
    monkeypatch.setattr(ensemble, "THREADS", 2)
    emulated.free = 1
    seen = []
    again = whole.run(STARTS, STIFFNESS, plan, progress=lambda done, cases: seen.append(done))
    assert np.array_equal(expected.states, again.states)
    assert seen == sorted(seen)
    assert len(seen) > 6
    assert emulated.made[0].launches > 10
    adaptive = CardRun(stepping(pendulum(), DOP853), DOP853, STIFFNESS)
    tolerances = np.full(STARTS.shape, 1e-8)
    tolerances[1] = 1e-4
    found = adaptive.run(STARTS, STIFFNESS, AdaptivePlan(0.0, 1.0, 1e-8, tolerances, np.inf, at))
    emulated.free = 2**28
    monkeypatch.setattr(ensemble, "LONGEST", 1.0)
    once = adaptive.run(STARTS, STIFFNESS, AdaptivePlan(0.0, 1.0, 1e-8, tolerances, np.inf, at))
    assert np.array_equal(found.states, once.states)


def test_what_a_card_cannot_do_is_refused():
    from holdfast.engine.cuda.source import CudaSource
    from holdfast.engine.emit.c_real import PRECISIONS

    with pytest.raises(BadRequest, match="radau5 is implicit"):
        CudaSource(stepping(pendulum(), RADAU5), RADAU5, PRECISIONS["double"], (True,), pendulum())
    with pytest.raises(BadRequest, match="chosen by their error are run in double"):
        CudaSource(stepping(pendulum(), DOP853), DOP853, PRECISIONS["float"], (True,), pendulum())


def test_reductions_are_gathered_without_rows(emulated):
    field = pendulum()
    names = "max min range mean rms start final first".split()
    sums = [(name, field.state[0]) for name in names]
    found = CardRun(stepping(field, RK4), RK4, STIFFNESS, sums=sums).run(STARTS, STIFFNESS, Steps(0.0, 0.01, 700, 700))
    rows = run_ensemble(compiled(field, RK4), STARTS, STIFFNESS, step=0.01, steps=700)
    from holdfast.results.reductions import REDUCTIONS

    for k, name in enumerate(names):
        assert_allclose(found.sums[:, k], REDUCTIONS[name](rows.times, rows.states[:, :, 0]), rtol=1e-12, err_msg=name)


def test_a_machine_without_a_card_says_so(monkeypatch):
    from holdfast.engine.cuda import device

    device.missing.cache_clear()
    device._driver.cache_clear()
    device.card.cache_clear()
    monkeypatch.setattr(device, "LIBRARY", "libnocard.so.7")
    try:
        with pytest.raises(BadRequest, match="no graphics card to run on: there is no libnocard") as told:
            device.card()
        assert "holdfast[cuda]" in told.value.fix
    finally:
        device.missing.cache_clear()
        device._driver.cache_clear()


def test_the_order_of_statements_holds_fewer_values_and_changes_none():
    field, start, parameters = chain(10)
    body = stepping(field, RK4).bodies["rates"]
    backwards = Graph()  # every value long before it is used
    t, x = backwards.input("t"), [backwards.input(f"x{i}") for i in range(40)]
    squares = [entry * entry for entry in x]
    rates = [squares[i] * squares[-1 - i] - x[i] for i in range(40)]
    wide = stepping(Field(time=t, state=tuple(x), parameters=(), rates=tuple(rates)), RK4).bodies["rates"]
    assert values_held(wide) >= 40
    assert values_held(in_few_registers(wide)) < 25
    for made, values in ((body, [0.0, *start, *parameters]), (wide, [0.0, *np.linspace(0.1, 3.0, 40)])):
        other = in_few_registers(made)
        assert values_held(other) <= values_held(made)
        assert sorted(op for op, _ in other.statements) == sorted(op for op, _ in made.statements)
        assert evaluated(other, values) == evaluated(made, values)


def evaluated(body, values):
    """The outputs, by Python."""
    slots = list(values)
    get = lambda slot: slot if isinstance(slot, float) else slots[slot]  # noqa: E731
    forms = {
        "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
        "neg": lambda a: -a, "fma": lambda a, b, c: a * b + c, "fms": lambda a, b, c: a * b - c,
        "fnma": lambda a, b, c: c - a * b,
    }  # fmt: skip
    for op, operands in body.statements:
        slots.append(forms[op](*map(get, operands)))
    return {place: get(slot) for place, slot in body.outputs}
