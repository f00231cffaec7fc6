"""The same file gives the same page, byte for byte: in fresh processes, whatever cache and hash seed are."""

import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from tests.page.pages import EXAMPLES

pytestmark = pytest.mark.slow

QUICK = ("cart_rod",)  # proved; all others, those made of phases too, in the deep suite
SCRIPT = """
import sys
import holdfast as hf
for file, target in zip(sys.argv[1::2], sys.argv[2::2]):
    hf.study(hf.load(file), effort=0.3).report().save(target)
"""


def made(files, folder, *, cache, seed):
    """The hashes of the pages of some files, made by a process of their own."""
    folder.mkdir()
    targets = [folder / f"{file.stem}.html" for file in files]
    words = [str(word) for pair in zip(files, targets, strict=True) for word in pair]
    settings = {**os.environ, "HOLDFAST_CACHE": str(cache), "PYTHONHASHSEED": str(seed)}
    subprocess.run([sys.executable, "-c", SCRIPT, *words], env=settings, check=True, timeout=900)
    return {target.name: sha256(target.read_bytes()).hexdigest() for target in targets}


def test_a_page_is_the_same_whatever_the_cache_and_the_seed(tmp_path):
    files = [next(file for file in EXAMPLES if file.stem == name) for name in QUICK]
    cold = made(files, tmp_path / "cold", cache=tmp_path / "cache", seed=1)
    warm = made(files, tmp_path / "warm", cache=tmp_path / "cache", seed=2)
    assert any(Path(tmp_path / "cache").rglob("*"))
    assert warm == cold
    assert made(files[:1], tmp_path / "none", cache="", seed=3).items() <= cold.items()


@pytest.mark.prove
def test_every_example_twice(tmp_path):
    cold = made(EXAMPLES, tmp_path / "cold", cache=tmp_path / "cache", seed=1)
    assert made(EXAMPLES, tmp_path / "warm", cache=tmp_path / "cache", seed=2) == cold
