"""Where the stages of a step lie: rates that are a part of the state are not copied where they stand already."""

import numpy as np
import pytest

import holdfast as hf
from holdfast.engine.ensemble import run_ensemble
from holdfast.engine.kernel import compiled
from holdfast.engine.run.memory import reals
from tests.engine import fields


def test_rates_begin_in_the_middle_of_a_state_of_coordinates_and_their_rates():
    assert fields.chain(3)[0].shift == 6
    assert fields.blow_up().shift == len(fields.blow_up().state)


@pytest.mark.parametrize("lanes", [1, 8, 16])  # the last fill two registers or more
@pytest.mark.parametrize("tier", ["quick", "optimised"])
def test_rates_are_the_same_in_place_and_elsewhere(tier, lanes):
    field, start, parameters = fields.chain(3)
    kernel = compiled(field, hf.RK4, tier=tier)
    machine, size = kernel.lanes(lanes), len(start)
    random = np.random.default_rng(0)
    joined = reals(field.shift + size + len(field.watched), lanes)
    state, p = reals(size, lanes), reals(len(parameters), lanes)
    state[...] = joined[:size] = start[:, None] + 0.01 * random.standard_normal((size, lanes))
    p[...] = np.array(parameters)[:, None]
    apart, scratch = reals(size + len(field.watched), lanes), reals(machine.layout.work, lanes)
    machine.call("rates", 0.0, state, p, apart, scratch)
    machine.call("rates", 0.0, joined, p, joined[field.shift :], scratch)
    np.testing.assert_array_equal(joined[field.shift :], apart)
    np.testing.assert_array_equal(joined[:size], state)


@pytest.mark.parametrize("lanes", [1, 2, 8, 16])
@pytest.mark.parametrize("tier", ["quick", "optimised"])
def test_ten_links_move_alike_in_every_tier_and_number_of_lanes(tier, lanes):
    field, start, parameters = fields.chain(10)
    cases = start + 1e-3 * np.random.default_rng(1).standard_normal((9, len(start)))
    made = run_ensemble(
        compiled(field, hf.RK4, tier=tier), cases, np.array(parameters), step=1e-3, steps=20, every=5, lanes=lanes
    )
    alone = compiled(field, hf.RK4, tier="quick")
    for case, states in zip(cases, made.states, strict=True):
        np.testing.assert_array_equal(alone.run(case, parameters, step=1e-3, steps=20, every=5).states, states)
