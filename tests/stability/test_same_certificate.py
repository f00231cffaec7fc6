"""The same file gives the same certificate, byte for byte: from a cold cache and a warm one, with one thread or two."""

import os
import subprocess
import sys

import pytest

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
