"""The cache of object code: there when it can be, harmless when it cannot, and never trusted blindly."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest

import holdfast
from holdfast.common import files
from holdfast.engine import kernel
from holdfast.engine.code import cache
from holdfast.engine.code.kernel_source import emitter_files
from holdfast.engine.kernel import compiled
from holdfast.schemes.tableaus.kutta import RK4
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

    monkeypatch.setattr("holdfast.engine.code.native.object_code", refuse)
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
    def full(*names, **more):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.CALLS, "rename", full, raising=False)
    assert np.isfinite(run()).all()
    assert [file.name for file in folder.iterdir()] == ["secret"]


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
        "import os, signal; from holdfast.common import files; from holdfast.engine.code import cache\n"
        "files.CALLS.rename = lambda *names, **more: os.kill(os.getpid(), signal.SIGKILL)\n"
        "cache.store('key', b'code')\n"
    )
    killed = subprocess.run([sys.executable, "-c", script], check=False)
    assert killed.returncode == -9
    assert list(folder.glob(".holdfast-*.part.o"))
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
    assert list(folder.glob(".holdfast-*")) == []


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


def test_the_key_of_kept_code_tells_all_that_decides_which_code_is_made():
    """What a body reads of the graph too: signs are moved there, after the hash of the nodes is taken."""
    told, source = {Path(file).resolve() for file in emitter_files()}, Path(holdfast.__file__).parent
    writers = [file for folder in ("emit", "drivers") for file in (source / "engine" / folder).rglob("*.py")]
    assert told.issuperset(writers)
    pattern = re.compile(r"^from holdfast\.(graph[\w.]*) import", re.MULTILINE)
    read = {name for file in writers for name in pattern.findall(file.read_text(encoding="utf-8"))}
    assert "graph.factored" in read
    assert told.issuperset(source.joinpath(*name.split(".")).with_suffix(".py") for name in read)


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


# ── seals and places ──────────────────────────────────────────────────────────────────────────────


def test_an_object_sealed_by_somebody_else_is_refused(folder):
    """The magic, the name and a hash without the secret are what another user can write."""
    cache.store("key", b"good")
    (file,) = objects(folder)
    plain = hashlib.sha256(b"key\0evil").hexdigest().encode() + b"\n"
    file.write_bytes(cache.MAGIC + plain + b"evil")
    assert cache.fetch("key") is None
    other = cache.Store(None, b"another secret, of 32 bytes too.")
    file.write_bytes(cache.MAGIC + other.seal("key", b"evil") + b"evil")
    assert cache.fetch("key") is None
    assert ((folder / "secret").stat().st_mode & 0o777, (folder / "secret").stat().st_size) == (0o600, 32)


def test_a_damaged_secret_is_made_again(folder):
    cache.store("key", b"code")
    (folder / "secret").write_bytes(b"short")
    cache._OPEN.clear()
    assert cache.fetch("key") is None
    cache.store("key", b"code")
    assert cache.fetch("key") == b"code"


def test_a_cache_below_a_folder_of_others_is_not_trusted(tmp_path, monkeypatch):
    """Whoever may write the parent can put another cache in its place; a sticky folder keeps them from it."""
    parent = tmp_path / "shared"
    parent.mkdir()
    monkeypatch.setenv("HOLDFAST_CACHE", str(parent / "cache"))
    cache.store("key", b"code")
    assert cache.fetch("key") == b"code"
    for mode, trusted in {0o777: False, 0o775: False, 0o1777: True, 0o755: True}.items():
        parent.chmod(mode)
        cache._OPEN.clear()
        assert (cache.fetch("key") == b"code") is trusted, oct(mode)


def test_a_link_in_place_of_an_object_is_not_followed(folder, tmp_path):
    cache.store("key", b"code")
    (file,) = objects(folder)
    (tmp_path / "elsewhere.o").write_bytes(file.read_bytes())
    file.unlink()
    file.symlink_to(tmp_path / "elsewhere.o")
    assert cache.fetch("key") is None


def test_a_cache_that_is_removed_is_made_again(folder):
    cache.store("key", b"code")
    shutil.rmtree(folder)
    assert cache.fetch("key") is None
    cache.store("key", b"code")
    assert cache.fetch("key") == b"code"


RACE = """
import ctypes, os, sys, time
base, ours, evil = sys.argv[1], sys.argv[1] + "/cache", sys.argv[1] + "/evil"
os.environ["HOLDFAST_CACHE"] = ours
from holdfast.engine.code import cache
VICTIM, ATTACKER = 1001, 65534

def child(uid, work):
    pid = os.fork()
    if not pid:
        os.setgid(uid), os.setuid(uid)
        work()
        os._exit(0)
    return pid

def prepare():
    os.mkdir(evil, 0o700)
    forged = cache.Store(None, b"0" * 32)
    open(evil + "/secret", "wb").write(b"0" * 32)
    open(evil + "/" + cache._name("key"), "wb").write(cache.MAGIC + forged.seal("key", b"evil") + b"evil")

def swap():
    libc = ctypes.CDLL(None)
    while True:
        libc.renameat2(-100, ours.encode(), -100, evil.encode(), 2)

def fetch():
    seen, end = {None: 0, b"good": 0, b"evil": 0}, time.time() + 2
    while time.time() < end:
        cache._OPEN.clear()
        seen[cache.fetch("key")] += 1
    os.write(1, repr(seen).encode())
    os._exit(9 if seen[b"evil"] else 0)

os.chmod(base, 0o777)
os.waitpid(child(VICTIM, lambda: cache.store("key", b"good")), 0)
os.chmod(base, 0o777)
os.waitpid(child(ATTACKER, prepare), 0)
if not os.path.isdir(ours):
    child(VICTIM, lambda: os.mkdir(ours, 0o700))
swapping = child(ATTACKER, swap)
status = os.waitpid(child(VICTIM, fetch), 0)[1]
os.kill(swapping, 9)
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="takes two users")
def test_a_cache_that_is_exchanged_while_it_is_read_gives_nothing_foreign(tmp_path_factory):
    """Another user, who may write the parent, swaps the cache for one of his own all the time."""
    base = Path(tempfile.mkdtemp(dir="/tmp"))
    try:
        command = [sys.executable, "-c", RACE, str(base)]
        found = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert found.returncode == 0, found.stdout + found.stderr
        assert "b'evil': 0" in found.stdout
    finally:
        shutil.rmtree(base, ignore_errors=True)
