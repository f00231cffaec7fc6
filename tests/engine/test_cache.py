"""The cache of object code: there when it can be, harmless when it cannot, and never trusted blindly."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from holdfast.engine import cache, kernel
from holdfast.engine.kernel import compiled
from holdfast.schemes.kutta import RK4
from tests.engine.fields import pendulum


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOLDFAST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(kernel, "_MADE", {})
    return tmp_path / "cache"


def run():
    kernel._MADE.clear()
    return compiled(pendulum(), RK4, tier="optimised").run([1.0, 0.0], [2.0], step=0.01, steps=10).states


def objects(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.o"))


def test_what_is_stored_is_fetched(folder):
    assert cache.fetch("key") is None
    cache.store("key", b"code")
    assert cache.fetch("key") == b"code"
    assert cache.fetch("other") is None
    assert (folder.stat().st_mode & 0o777) == 0o700


def test_a_second_kernel_needs_no_compiler(folder, monkeypatch):
    first = run()
    assert objects(folder)

    def refuse(text, *, optimised):
        raise AssertionError("compiled again")

    monkeypatch.setattr("holdfast.engine.native.object_code", refuse)
    assert np.array_equal(run(), first)


def test_a_tampered_object_is_refused_and_made_again(folder):
    first = run()
    for file in objects(folder):
        content = bytearray(file.read_bytes())
        content[-100] ^= 0xFF
        file.write_bytes(content)
        damaged = file.read_bytes()
    assert np.array_equal(run(), first)
    assert objects(folder)[0].read_bytes() != damaged


def test_a_truncated_or_exchanged_object_is_refused(folder):
    cache.store("a", b"first" * 100)
    cache.store("b", b"second" * 100)
    first, second = objects(folder)
    content = first.read_bytes()
    second.write_bytes(content)  # the right seal for another key
    assert sum(cache.fetch(key) is None for key in "ab") == 1
    first.write_bytes(content[: len(content) // 2])
    assert cache.fetch("a") is None
    assert cache.fetch("b") is None


def test_a_directory_that_others_may_write_is_not_trusted(folder):
    cache.store("key", b"code")
    folder.chmod(0o777)
    assert cache.fetch("key") is None
    folder.chmod(0o700)
    assert cache.fetch("key") == b"code"


def test_a_link_in_place_of_the_directory_is_not_followed(folder, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder.symlink_to(elsewhere)
    cache.store("key", b"code")
    assert list(elsewhere.iterdir()) == []


def test_a_place_that_cannot_be_written_fails_no_run(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("not a directory")
    monkeypatch.setenv("HOLDFAST_CACHE", str(file / "cache"))
    monkeypatch.setattr(kernel, "_MADE", {})
    assert np.isfinite(run()).all()


def test_a_full_disk_fails_no_run(folder, monkeypatch):
    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert np.isfinite(run()).all()
    assert list(folder.iterdir()) == []


def test_an_empty_setting_keeps_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("HOLDFAST_CACHE", "")
    assert cache.directory() is None
    cache.store("key", b"code")
    assert cache.fetch("key") is None
    monkeypatch.delenv("HOLDFAST_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.directory() == tmp_path / "holdfast"


def test_a_killed_writer_leaves_nothing_that_counts(folder):
    """The process dies between writing and renaming: the object is not there, and the next run makes it."""
    script = (
        "import os, signal; from holdfast.engine import cache\n"
        "os.replace = lambda *names: os.kill(os.getpid(), signal.SIGKILL)\n"
        "cache.store('key', b'code')\n"
    )
    killed = subprocess.run([sys.executable, "-c", script], check=False)
    assert killed.returncode == -9
    assert list(folder.glob("*.part"))
    assert cache.fetch("key") is None
    cache.store("key", b"code")
    assert cache.fetch("key") == b"code"


def test_the_cache_does_not_grow_without_end(folder, monkeypatch):
    monkeypatch.setattr(cache, "MOST_OBJECTS", 10)
    for k in range(30):
        cache.store(f"key {k}", b"code")
    assert len(objects(folder)) <= 10
    assert cache.fetch("key 29") == b"code"


def test_writers_at_the_same_time_do_not_disturb_each_other(folder):
    codes = [bytes([k]) * 20_000 for k in range(8)]
    wrong = []

    def write(code):
        for _ in range(25):
            cache.store("key", code)
            if cache.fetch("key") not in codes:
                wrong.append(code)

    threads = [threading.Thread(target=write, args=(code,)) for code in codes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert list(folder.glob("*.part")) == []


@pytest.mark.parametrize("skew", ["another layout", "no JSON", "other signatures"])
def test_code_that_another_version_kept_is_made_again(folder, monkeypatch, skew):
    """The key tells the text of the emitters, not that of what writes and reads the kept code."""
    first, asked, fetch = run(), [], cache.fetch
    monkeypatch.setattr(cache, "fetch", lambda key: asked.append(key) or fetch(key))
    run()
    for key in dict.fromkeys(asked):
        head, _, rest = fetch(key).partition(b"\n")
        told = json.loads(head)
        if skew == "another layout":
            told["layout"]["registers"] = 4
        if skew == "other signatures":
            told["signatures"] = {name: [entry[0]] for name, entry in told["signatures"].items()}
        cache.store(key, (b"{" if skew == "no JSON" else json.dumps(told).encode()) + b"\n" + rest)
    assert np.array_equal(run(), first)


def test_files_damaged_at_random_are_made_again(folder):
    random, first = np.random.default_rng(2), run()
    whole = {file: file.read_bytes() for file in objects(folder)}
    for trial in range(12):
        for file, content in whole.items():
            damaged = bytearray(content)
            if trial % 2:
                damaged[random.integers(len(content))] ^= 1 << random.integers(8)
            else:
                damaged = damaged[: random.integers(len(content))]
            file.write_bytes(damaged)
        assert np.array_equal(run(), first)
