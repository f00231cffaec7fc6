"""The same file gives the same certificate, byte for byte: from a cold cache and a warm one, with one thread or two."""

import json
import os
import subprocess
import sys
from fractions import Fraction as F
from importlib import resources

import pytest

import holdfast as hf
from holdfast.stability.proof.block import blocks_of
from holdfast.stability.proof.claim import KEPT, kept_for

MADE = """
import holdfast as hf
x, y = hf.coordinates("x y")
system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=9.81 * y)
program = hf.Program(holonomic={"rod": (x**2 + y**2 - 1) / 2}, law=hf.critically_damped(10))
equations = hf.derive(hf.Problem(system, program, start={x: 1.0}))
for tube in (False, True):
    certificate = hf.certify(equations, hf.RK4, step=0.01, duration=0.5, effort=0.3, tube=tube)
    assert certificate["rod"].label.is_proof
    certificate.save(f"{'tube' if tube else 'region'}.json")
"""


def made(folder, cache, threads):
    folder.mkdir()
    environment = {**os.environ, "HOLDFAST_CACHE": str(cache), "OPENBLAS_NUM_THREADS": threads}
    subprocess.run([sys.executable, "-c", MADE], cwd=folder, env=environment, check=True, timeout=120)
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.prove
def test_cache_and_threads_do_not_change_a_certificate(tmp_path):
    cold = made(tmp_path / "cold", tmp_path / "cache", "1")
    assert set(cold) == {"region.json", "tube.json"}
    assert any((tmp_path / "cache").rglob("*"))
    assert made(tmp_path / "warm", tmp_path / "cache", "2") == cold


# ── what equations keep for the next certificate ──────────────────────────────────────────────────

EXAMPLES = resources.files("holdfast") / "examples"
OF_ORDER_4 = [  # the usual rule and that of three eighths, under one name
    hf.RungeKutta(name="mine", order=4, stages=stages, weights=weights)
    for stages, weights in (
        (((), (F(1, 2),), (F(0), F(1, 2)), (F(0), F(0), F(1))), (F(1, 6), F(1, 3), F(1, 3), F(1, 6))),
        (((), (F(1, 3),), (F(-1, 3), F(1)), (F(1), F(-1), F(1))), (F(1, 8), F(3, 8), F(3, 8), F(1, 8))),
    )
]
OF_ORDER_2 = [
    hf.RungeKutta(name="mine", order=2, stages=((), (place,)), weights=weights)
    for place, weights in ((F(1), (F(1, 2), F(1, 2))), (F(1, 2), (F(0), F(1))))
]


def text(certificate):
    return json.dumps(certificate.to_dict(), sort_keys=True)


def asked(name):
    """Ways to ask for a certificate, each of which something kept for another would change."""
    if name == "pendulum":
        usual = {"scheme": hf.RK4, "step": 0.01, "duration": 0.5, "effort": 0.2}
        schemes, region = OF_ORDER_4, {"x": (-0.5, 1.02)}
        numbers = [{"g": 9.0}, {"law.damping.rod": 11.0}]
    else:
        usual = {"scheme": hf.Euler, "step": 0.01, "duration": 5, "effort": 0.2}
        schemes, region = OF_ORDER_2, {"x": (-0.5, 0.5)}
        numbers = [{"m2": 2.0}, {"law.damping.home": 0.4}, {"law.damping.upright": 0.2}]
    changed = [{"parameters": values} for values in numbers]
    changed += [{"step": usual["step"] / 2}, {"region": region}, *({"scheme": one} for one in schemes)]
    return [usual, *({**usual, **change} for change in changed)]


def equations_of(name):
    return hf.derive(hf.load(str(EXAMPLES / f"{name}.toml")))


@pytest.mark.parametrize("name", ["pendulum", "cart_rod"])
def test_a_certificate_is_the_same_whatever_was_certified_before_it(name):
    warm, ways = equations_of(name), asked(name)
    made = [hf.certify(equations_of(name), **way) for way in ways]
    assert all(any(block.label is hf.Label.proved for block in one.blocks) for one in made)
    cold = [text(one) for one in made]
    assert len(set(cold)) == len(cold)
    for k in (*range(len(ways)), *reversed(range(len(ways)))):
        assert text(hf.certify(warm, **ways[k])) == cold[k]


def test_nothing_else_that_is_asked_of_equations_changes_a_certificate():
    """Nodes are numbered as they are made, by whoever asks for them."""
    usual = {"scheme": hf.RK4, "step": 0.01, "duration": 0.5, "effort": 0.2}
    warm, cold = equations_of("pendulum"), text(hf.certify(equations_of("pendulum"), **usual))
    run = hf.simulate(warm, hf.RK4, step=0.01, duration=0.5, every=1)
    hf.linearise(warm)
    warm.evaluate().accelerations
    warm.summary()
    hf.certify(warm, hf.DOPRI5, tolerance=1e-6, duration=0.2)
    hf.certify(warm, **usual, tube=True)
    hf.certify(warm, **usual, in_order=True)
    assert text(hf.certify(warm, **usual)) == cold
    assert text(hf.certify(warm, trajectory=run, effort=0.2)) == cold


def test_an_interrupted_certificate_changes_none_that_follows(monkeypatch):
    from holdfast.stability.promise import assess

    usual = {"scheme": hf.RK4, "step": 0.01, "duration": 0.5, "effort": 0.2}
    warm, cold = equations_of("pendulum"), text(hf.certify(equations_of("pendulum"), **usual))
    proved = assess.prove

    def interrupted(*given, **named):
        proved(*given, **named)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(assess, "prove", interrupted)
        assert hf.certify(warm, **usual).interrupted
    assert text(hf.certify(warm, **usual)) == cold


def test_equations_keep_what_serves_the_last_few_blocks_and_numbers():
    equations = equations_of("cart_rod")
    first, *others = blocks_of(equations, {})
    usual, other = OF_ORDER_4
    found = kept_for(equations, first, usual, {})
    assert kept_for(equations, first, usual, {}) is found
    different = [
        kept_for(equations, others[0], usual, {}),
        kept_for(equations, first, other, {}),
        kept_for(equations, first, usual, {"m2": 3.0}),
    ]
    assert found not in different
    assert kept_for(equations, first, usual, {}) is found
    for mass in range(4, 4 + KEPT):
        kept_for(equations, first, usual, {"m2": float(mass)})
    assert kept_for(equations, first, usual, {}) is not found
