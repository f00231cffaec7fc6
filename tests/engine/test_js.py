"""Kernels as JavaScript agree with the native ones to rounding; run by node where it is."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from numpy.testing import assert_allclose

from holdfast.engine.code.kernel_source import stepping
from holdfast.engine.emit.js_writer import literal
from holdfast.engine.kernel import compiled
from holdfast.schemes.by_name import ALL_SCHEMES
from holdfast.schemes.tableaus.kutta import RK4
from tests.engine.fields import blow_up, chain, everything, pendulum

EXPLICIT = [scheme for scheme in ALL_SCHEMES if scheme.explicit]
FIXED = [scheme for scheme in EXPLICIT if not scheme.adaptive]
RUN = """
const [n, width, pivots, events] = %s, steps = %d, h = %r;
const x = Float64Array.from(%s), p = Float64Array.from(%s), f = new Float64Array(width);
hf_rates(0, x, p, f);
const watch = Float64Array.from({length: pivots}, (_, i) => f[n + i] < 0 ? -1 : 1);
const status = new Float64Array(1), done = new Float64Array(1), rows = new Float64Array(steps * n);
hf_fixed(0, steps, 1, 0, h, x, f, p, watch, new Float64Array(2 * events), status, done, rows, new Float64Array(%d));
console.log(JSON.stringify({x: [...x].map(String), status: status[0], done: done[0]}));
"""


def by_node(text):
    if shutil.which("node") is None:
        pytest.skip("there is no node to run JavaScript with")
    done = subprocess.run(["node", "-"], input=text, capture_output=True, text=True, check=False, timeout=60)
    assert not done.returncode, done.stderr[:2000]
    return json.loads(done.stdout)


def run(field, scheme, start, parameters, step, steps):
    made = stepping(field, scheme)
    sizes = [int(made.constants[name]) for name in ("N", "WIDTH", "PIVOTS", "EVENTS")]
    script = RUN % (sizes, steps, step, list(map(float, start)), list(map(float, parameters)), made.work + 1)
    found = by_node('"use strict";\n' + made.js() + script)
    return np.array([float(entry) for entry in found["x"]]), found


@pytest.mark.parametrize("scheme", FIXED, ids=lambda scheme: scheme.name)
def test_fixed_steps(scheme):
    there, told = run(pendulum(), scheme, [1.2, -0.3], [4.0], 0.01, 200)
    here = compiled(pendulum(), scheme).run([1.2, -0.3], [4.0], step=0.01, steps=200)
    assert_allclose(there, here.states[-1], rtol=1e-12)
    assert told["done"] == 200


def test_every_operation():
    there, _ = run(everything(), RK4, [0.3, 0.2], [1.5], 0.02, 100)
    assert_allclose(
        there, compiled(everything(), RK4).run([0.3, 0.2], [1.5], step=0.02, steps=100).states[-1], rtol=1e-12
    )


def test_a_chain_with_its_pivots():
    field, start, parameters = chain(5)
    there, told = run(field, RK4, start, parameters, 1e-3, 300)
    assert_allclose(there, compiled(field, RK4).run(start, parameters, step=1e-3, steps=300).states[-1], rtol=1e-10)
    assert told["status"] == 0


def test_a_bad_end_is_told():
    there, told = run(blow_up(), RK4, [1.0], [], 0.05, 60)
    here = compiled(blow_up(), RK4).run([1.0], [], step=0.05, steps=60)
    assert told["status"] == 1
    assert told["done"] == here.steps
    assert_allclose(there, here.states[-1], rtol=1e-9)


def test_numbers_come_back_bit_for_bit():
    values = [0.1, -0.0, 1e-310, 5e-324, 1.7976931348623157e308, 1 / 3, 1e16, 123456789012345680.0, float("inf")]
    listed = ", ".join(map(literal, values))
    found = by_node(f"console.log(JSON.stringify([{listed}].map(x => Object.is(x, -0) ? '-0' : String(x))))")
    assert [float(entry).hex() for entry in found] == [value.hex() for value in values]
