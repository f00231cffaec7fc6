"""The equations as a module of JavaScript, run by node: rates, observables and runs are those of the kernels."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from numpy.testing import assert_allclose

import holdfast as hf
from tests.exchange.problems import NAMES, example

RUN = """
import * as m from %s;
const made = m.run(m.START, m.VALUES, {h: 1e-3, steps: 20, every: 5});
console.log(JSON.stringify({rhs: [...m.rhs(m.BEGIN, m.START)], seen: [...m.observe(m.BEGIN, m.START)],
  times: [...made.times], states: [...made.states], names: [m.STATES, m.PARAMETERS, m.OBSERVABLES]}));
"""


@pytest.mark.parametrize("name", NAMES)
def test_rates_observables_and_runs(tmp_path, name):
    if shutil.which("node") is None:
        pytest.skip("there is no node to run JavaScript with")
    equations = example(name)
    made = hf.export(equations, to="js", scheme="rk4")
    made.save(tmp_path / "model.mjs")
    (tmp_path / "run.mjs").write_text(RUN % json.dumps("./model.mjs"))
    done = subprocess.run(["node", tmp_path / "run.mjs"], capture_output=True, text=True, check=False, timeout=60)
    assert not done.returncode, done.stderr[:1000]
    found = json.loads(done.stdout)
    begin = equations.problem.run.begin
    values = equations.evaluate(time=begin)
    names = list(values.observables)
    assert found["names"][2] == names
    rates = hf.right_hand_side(equations)
    state = np.array(found["states"])[: len(equations.state_names)]
    close(found["rhs"], rates(begin, state))
    close(found["seen"], list(equations.evaluate(state, begin).observables.values()))
    step = hf.step_function(equations, "rk4", 1e-3)
    for _ in range(5):
        state = step(begin + _ * 1e-3, state)
    close(np.array(found["states"]).reshape(5, -1)[1], state)


def close(found, expected):
    expected = np.asarray(expected, float)
    scale = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
    assert_allclose(np.array([np.nan if x is None else x for x in found]), expected, rtol=1e-9, atol=1e-11 * scale)
