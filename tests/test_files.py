"""The one writer: whole or not at all, whatever fails, and never through a link."""

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import holdfast as hf
from holdfast.common import files

PENDULUM = """schema = 1
[system]
coordinates = ["x", "z"]
kinetic = "(x_dot**2 + z_dot**2)/2"
potential = "9.81*z"
[program.holonomic]
rod = "x**2 + z**2 - 1"
[start]
x = 1
z = 0
[run]
step = 0.01
duration = 1
[points]
bob = ["x", "z"]
"""


@pytest.fixture(scope="module")
def things():
    """Something of each kind that is written, by the name of its file."""
    problem = hf.loads(PENDULUM)
    equations = hf.derive(problem)
    run = hf.simulate(equations)
    runs = hf.ensemble(equations, cases={"x": [1.0, 1.0]}, duration=0.1, start_policy="keep")
    certificate = hf.certify(equations, duration=0.1, effort=0.1)
    return {
        "run.npz": run.save,
        "run.nc": run.save,
        "run.csv": run.save,
        "runs.npz": runs.save,
        "runs.nc": runs.save,
        "runs.csv": runs.save,
        "c.json": certificate.save,
        "run.gif": lambda path: run.animate(path, frames=3),
        "problem.toml": lambda path: hf.dump(problem, path),
        "plain.html": lambda path: files.write(path, "<p>page"),
    }


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


# ── links, modes, leftovers, words ────────────────────────────────────────────────────────────────


def test_a_link_is_replaced_and_its_target_is_untouched(tmp_path, things):
    for name, save in things.items():
        victim = tmp_path / f"victim.{name}"
        victim.write_text("precious")
        (tmp_path / name).symlink_to(victim)
        save(tmp_path / name)
        assert victim.read_text() == "precious", name
        assert not (tmp_path / name).is_symlink(), name


def test_the_mode_of_a_file_is_kept_and_a_new_one_follows_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        files.write(tmp_path / "new", "text")
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
        for mode in (0o600, 0o644, 0o444, 0o755):
            (tmp_path / "new").chmod(mode)
            files.write(tmp_path / "new", "more")
            assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == mode
    finally:
        os.umask(old)


def test_leftovers_of_dead_writers_are_swept_and_nothing_else(tmp_path):
    dead, young = tmp_path / f".holdfast-{'a' * 16}.part.npz", tmp_path / f".holdfast-{'b' * 16}.part"
    other, mine = tmp_path / ".holdfast-notes.part", tmp_path / "run.part"
    for file in (dead, young, other, mine):
        file.write_text("left")
    for file in (dead, other, mine):
        os.utime(file, (time.time() - 7200,) * 2)
    files.write(tmp_path / "new", "text")
    assert names(tmp_path) == sorted([young.name, other.name, mine.name, "new"])


@pytest.mark.parametrize("name", [None, 5, ["run.npz"]])
def test_what_is_no_name_is_refused_by_all_that_write_and_read(things, name):
    calls = [*things.values(), hf.Trajectory.load, hf.Certificate.load, hf.import_robot]
    calls.append(lambda path: hf.export(hf.derive(hf.loads(PENDULUM)), to="numpy").save(path))
    for call in calls:
        with pytest.raises(hf.BadRequest) as refused:
            call(name)
        assert refused.value.what.endswith("is not the name of a file")


@pytest.mark.parametrize("folder", [None, "a\0b"])
def test_a_study_is_saved_into_a_folder_that_has_a_name(folder):
    study = hf.study(hf.loads(PENDULUM), certified=False)
    with pytest.raises(hf.BadRequest):
        study.save(folder)


def test_what_cannot_be_written_is_said_in_words(tmp_path):
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "pipe")
    cases = {
        tmp_path: "it is a folder",
        tmp_path / "none" / "x": "there is no such folder",
        tmp_path / "file" / "x": "there is no such folder",
        tmp_path / ("a" * 300): "the name is too long",
        tmp_path / "a\0b": "null",
        tmp_path / "pipe": "not an ordinary file",
    }
    for target, words in cases.items():
        with pytest.raises(hf.BadRequest, match=words):
            files.write(target, "text")
    assert names(tmp_path) == ["file", "pipe"]


def test_a_legal_name_of_255_bytes_can_be_written(tmp_path, things):
    things["run.npz"](tmp_path / ("a" * 251 + ".npz"))
    assert len(names(tmp_path)) == 1


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_every_refusal_of_the_system_has_words(tmp_path, monkeypatch, code):
    def refuse(*arguments, **more):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(files.CALLS, "open", refuse, raising=False)
    monkeypatch.setattr(files.CALLS, "unlink", refuse, raising=False)
    with pytest.raises(hf.BadRequest, match=files.WORDS[code]):
        files.write(tmp_path / "x", "text")


def test_pipes_folders_and_large_files_are_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.npz")
    (tmp_path / "large").write_bytes(b"x" * 11)
    for name, words in {
        "pipe.npz": "not an ordinary",
        ".": "directory",
        "large": "11 bytes",
        "none": "no file",
    }.items():
        with pytest.raises(hf.BadRequest, match=words):
            files.read_bytes(tmp_path / name, 10, "a text")
    with pytest.raises(hf.BadRequest, match="not an ordinary"):
        hf.Trajectory.load(tmp_path / "pipe.npz")
    with pytest.raises(hf.BadRequest):
        hf.Certificate.load(tmp_path / "pipe.npz")


# ── faults, one after the other ───────────────────────────────────────────────────────────────────

KINDS = ("open", "write", "fsync", "rename", "mode", "close", "allocate")
FAULTS = (
    OSError(errno.ENOSPC, "No space left on device"),
    OSError(errno.EIO, "Input/output error"),
    MemoryError(),
)


class Failing:
    """The calls of the writer, the n-th of which fails; those that clean up fail with it if they are asked to."""

    def __init__(self, number: int, fault: Exception, *, clean: bool = True) -> None:
        self.left, self.fault, self.clean, self.hit = number, fault, clean, ""

    def __getattr__(self, kind):
        real = getattr(files.Calls, kind)

        def call(*arguments, **more):
            if kind == "unlink" and not self.clean and self.hit:
                raise OSError(errno.EROFS, "Read-only file system")
            if kind in KINDS:
                self.left -= 1
                if self.left == 0:
                    self.hit = kind
                    if kind == "close":
                        real(*arguments)  # a close that fails has closed
                    raise self.fault
            return real(*arguments, **more)

        return call


def faults_of(save, folder: Path, name: str, monkeypatch, *, clean: bool = True) -> int:
    """Let every call fail in turn, with each fault: how many were tried."""
    target, count = folder / name, 0
    save(target)
    before = target.read_bytes()
    for fault in FAULTS:
        for number in range(1, 1000):
            failing, said = Failing(number, fault, clean=clean), "cannot write"
            monkeypatch.setattr(files, "CALLS", failing)
            try:
                save(target)
            except hf.BadRequest as error:
                said = error.what
            finally:
                monkeypatch.setattr(files, "CALLS", files.Calls())
            if not failing.hit:
                break
            count += 1
            assert said.startswith("cannot write"), said
            left = [other for other in names(folder) if other != name]
            assert not left or not clean, (failing.hit, number)
            for other in left:
                assert files.LEFTOVER.fullmatch(other)
                (folder / other).unlink()
            content = target.read_bytes()
            assert content == before or len(content) == len(before), (failing.hit, number)
            if name.endswith((".npz", ".nc")) and name.startswith("run."):
                hf.Trajectory.load(target)
    return count


def test_each_call_fails_in_turn_and_nothing_is_broken(tmp_path, things, monkeypatch):
    tried = 0
    for name, save in things.items():
        folder = tmp_path / name.replace(".", "-")
        folder.mkdir()
        tried += faults_of(save, folder, name, monkeypatch)
        tried += faults_of(save, folder, name, monkeypatch, clean=False)
    assert tried > 400


@pytest.mark.prove
def test_a_thousand_faults_break_nothing(tmp_path, things, monkeypatch):
    tried, turn = 0, 0
    monkeypatch.setattr(files, "CHUNK", 4096)  # more calls, so more places to fail at
    while tried < 1000:
        for name, save in things.items():
            folder = tmp_path / f"{turn}-{name.replace('.', '-')}"
            folder.mkdir()
            tried += faults_of(save, folder, name, monkeypatch, clean=turn % 2 == 0)
        turn += 1
    print(f"{tried} faults")


NOMEMORY = """
import os, sys, _testcapi
import holdfast as hf
from holdfast.results.store import runs as store
source, target, most = sys.argv[1:4]
run = hf.Trajectory.load(source)
told, failed = store._about(run), 0
store._about = lambda run: told  # what is tried here is the writer, not SymPy
run.save(target)
for number in range(1, int(most)):
    try:
        _testcapi.set_nomemory(number, number + 1)
        run.save(target)
    except Exception:  # CPython itself calls some failed allocations a TypeError
        failed += 1
    finally:
        _testcapi.remove_mem_hooks()
    assert os.listdir(os.path.dirname(target)) == ["target.npz"]
    assert len(hf.Trajectory.load(target).times) == len(run.times)
print("whole after", failed, "failed allocations")
"""


@pytest.mark.prove
def test_allocations_that_fail_break_no_file(tmp_path, things):
    """Python's own allocator fails once, at one place after the other."""
    pytest.importorskip("_testcapi")
    things["run.npz"](tmp_path / "run.npz")
    (tmp_path / "out").mkdir()
    command = [sys.executable, "-c", NOMEMORY, tmp_path / "run.npz", tmp_path / "out" / "target.npz", 400]
    found = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=300, check=False)
    print(found.stdout)
    assert found.returncode == 0, found.stderr
    assert "whole after" in found.stdout


# ── kills and threads ─────────────────────────────────────────────────────────────────────────────

SAVING = """
import os, sys
import numpy as np
os.environ["HOLDFAST_CACHE"] = sys.argv[2]
import holdfast as hf
from holdfast.engine.code import cache
run = hf.Trajectory.load(sys.argv[1])
folder, code = sys.argv[3], bytes(range(256)) * 400
print("ready", flush=True)
for k in range(10**9):
    run.save(folder + "/run.npz")
    run.save(folder + "/run.csv")
    cache.store("key", code)
    hf.dump(run.problem, folder + "/problem.toml")
"""


def kills(count: int, folder: Path, save, monkeypatch, seed: int = 0) -> None:
    """Kill a process that does nothing but write, at random moments."""
    random, cached = np.random.default_rng(seed), folder / "cache"
    monkeypatch.setenv("HOLDFAST_CACHE", str(cached))
    source, target = folder / "source.npz", folder / "out"
    save(source)
    target.mkdir()
    whole = hf.Trajectory.load(source)
    from holdfast.engine.code import cache

    for _ in range(count):
        command = [sys.executable, "-c", SAVING, str(source), str(cached), str(target)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "ready\n"
            time.sleep(float(random.uniform(0, 0.05)))
            process.send_signal(signal.SIGKILL)
        seen = [name for name in names(target) if not files.LEFTOVER.fullmatch(name)]
        assert set(seen) <= {"run.npz", "run.csv", "problem.toml"}
        if "run.npz" in seen:
            assert np.array_equal(hf.Trajectory.load(target / "run.npz").y, whole.y)
        if "run.csv" in seen:
            assert (target / "run.csv").read_text().count("\n") == len(whole.times) + 1
        if "problem.toml" in seen:
            assert hf.load(target / "problem.toml") == whole.problem
        assert cache.fetch("key") in (None, bytes(range(256)) * 400)


def test_killed_writers_break_nothing(tmp_path, things, monkeypatch):
    kills(4, tmp_path, things["run.npz"], monkeypatch)


FORKED = """
import os, signal, sys, time
import numpy as np
os.environ["HOLDFAST_CACHE"] = sys.argv[2]
import holdfast as hf
from holdfast.common import files
from holdfast.engine.code import cache
source, target, count, seed = sys.argv[1], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
whole, code, random = hf.Trajectory.load(source), bytes(range(256)) * 400, np.random.default_rng(seed)
broken = between = 0
text = hf.dumps(whole.problem)
for _ in range(count):
    child = os.fork()
    if not child:
        while True:
            whole.save(target + "/run.npz")
            cache.store("key", code)
            whole.save(target + "/run.csv")
            files.write(target + "/problem.toml", text)
    time.sleep(float(random.uniform(0.001, 0.04)))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    for name in os.listdir(target):
        if files.LEFTOVER.fullmatch(name):
            between += 1
            os.unlink(target + "/" + name)
    seen = os.listdir(target)
    if "run.npz" in seen:
        broken += not np.array_equal(hf.Trajectory.load(target + "/run.npz").y, whole.y)
    if "run.csv" in seen:
        broken += open(target + "/run.csv").read().count("\\n") != len(whole.times) + 1
    if "problem.toml" in seen:
        broken += open(target + "/problem.toml").read() != text
    broken += cache.fetch("key") not in (None, code)
print(count, "kills,", between, "of them in the middle of a file,", broken, "broken")
sys.exit(broken > 0)
"""


@pytest.mark.prove
def test_a_thousand_kills_break_nothing(tmp_path, things):
    source = tmp_path / "source.npz"
    things["run.npz"](source)
    (tmp_path / "out").mkdir()
    command = [sys.executable, "-c", FORKED, source, tmp_path / "cache", tmp_path / "out", 1000, 1]
    found = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=900, check=False)
    print(found.stdout)
    assert found.returncode == 0, found.stdout + found.stderr


def test_threads_that_save_one_name_publish_whole_files(tmp_path):
    equations = hf.derive(hf.loads(PENDULUM))
    runs = [hf.simulate(equations, duration=d) for d in (0.5, 5.0, 10.0)]
    target, broken = tmp_path / "r.npz", []
    runs[0].save(target)

    def work(run):
        for _ in range(8):
            try:
                run.save(target)
                hf.Trajectory.load(target)
            except hf.HoldfastError as error:
                broken.append(error)

    threads = [threading.Thread(target=work, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not broken
    assert names(tmp_path) == ["r.npz"]
