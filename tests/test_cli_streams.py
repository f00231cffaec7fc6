"""What surrounds the command line: terminals, streams, other folders, and limits from outside."""

import os
import signal
import subprocess
import sys
import time
from importlib import resources
from pathlib import Path

import pytest
from click.testing import CliRunner

import holdfast as hf
from holdfast.cli.main import main
from holdfast.cli.text import plain_matplotlib, visible

EXAMPLE = resources.files("holdfast") / "examples" / "pendulum.toml"
SOURCE = str(Path(hf.__file__).parents[1])
FREE = 'schema = 1\n[system]\ncoordinates = ["x"]\nkinetic = "x_dot**2/2"\n[run]\nstep = 0.1\nduration = 1\n'
ESCAPE = "\x1b]0;PWNED\x07\x1b[2J\x1b[H\x1b[32mGood: proved.\x1b[0m"
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


def typed(*words, shell="", environment=None, **options):
    """The command as a shell runs it; `shell` is what stands behind it: redirections."""
    command = " ".join([f'"{sys.executable}" -m holdfast', *(f"'{word}'" for word in words), shell])
    inherited = os.environ | {"PYTHONPATH": SOURCE} | (environment or {})
    return subprocess.run(
        ["/bin/sh", "-c", command], capture_output=True, timeout=60, env=inherited, check=False, **options
    )


# ── the terminal ──────────────────────────────────────────────────────────────────────────────────


def test_what_a_terminal_would_obey_is_shown():
    assert visible("a\x1b[2J\r\x9b\u202e\u2066b\ttab\nline") == "a\\x1b[2J\\r\\x9b\\u202e\\u2066b\ttab\nline"
    assert visible("Ω·x² \ud800") == "Ω·x² \\ud800"


@pytest.mark.parametrize("verb", ["check", "derive", "simulate"])
def test_a_title_cannot_write_on_the_terminal(verb, tmp_path):
    title = "".join(f"\\u{ord(letter):04x}" for letter in ESCAPE)
    (tmp_path / "a.toml").write_text(f'title = "{title}\\nGood: proved"\n{FREE}')
    result = CliRunner().invoke(main, [verb, str(tmp_path / "a.toml")])
    assert result.exit_code == 0
    assert "\x1b" not in result.output
    assert "\\x1b]0;PWNED\\x07" in result.output


def test_neither_can_an_error_or_a_command(tmp_path):
    (tmp_path / "a.toml").write_text(f"schema = 1\n{ESCAPE}\n")
    for words in (
        ["check", str(tmp_path / "a.toml")],
        ["check", f"{ESCAPE}.toml"],
        [ESCAPE],
        ["--limit", ESCAPE, "check"],
    ):
        result = CliRunner().invoke(main, words)
        assert result.exit_code == 2
        assert "\x1b" not in result.output
        assert "PWNED" in result.output


# ── streams ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "shell", "said"),
    [
        (["check", "-"], "<&-", "standard input is closed"),
        (["check", str(EXAMPLE)], "> /dev/full", "No space left"),
        (["check", str(EXAMPLE)], ">&-", "closed"),
        (["check", "-"], "< /dev/zero", "larger than"),
        (["check", "."], "", "folder"),
        (["verify", "/dev/zero"], "", "no ordinary file"),
        (["check", "/dev/zero"], "", "not an ordinary file"),
        (["report", "nothing.npz"], "", "not there"),
        (["examples", "pendulum", "-o", "/proc/pendulum.toml"], "", "cannot write"),
    ],
)
def test_streams_and_files_that_do_not_serve(words, shell, said, tmp_path):
    if "/dev/full" in shell and not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full here")
    result = typed(*words, shell=shell, cwd=tmp_path)
    assert result.returncode == 2
    assert said in result.stderr.decode()
    assert "Traceback" not in result.stderr.decode()
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
def test_pipes_are_not_waited_for(tmp_path):
    for name in ("p.json", "p.npz", "p.toml"):
        os.mkfifo(tmp_path / name)
    for words in (["verify", "p.json"], ["report", "p.npz"], ["check", "p.toml"]):
        assert typed(*words, cwd=tmp_path).returncode == 2


@pytest.mark.slow
def test_other_encodings(tmp_path):
    (tmp_path / "omega.toml").write_text(f'title = "Ω"\n{FREE}', encoding="utf-8")
    result = typed("check", "omega.toml", environment={"PYTHONIOENCODING": "latin-1"}, cwd=tmp_path)
    assert result.returncode == 0
    assert result.stdout.startswith(b"\\u03a9: well stated")
    result = typed("check", "-", input=b'schema = 1\ntitle = "\xff"\n', cwd=tmp_path)
    assert result.returncode == 2
    assert b"line 2 is not UTF-8" in result.stderr


# ── faults of our own ─────────────────────────────────────────────────────────────────────────────


def test_a_fault_of_our_own_has_its_own_exit_code_and_a_file_to_send(monkeypatch, tmp_path):
    def broken(*_, **__):
        raise RuntimeError("a bad day")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(hf, "derive", broken)
    result = CliRunner().invoke(main, ["check", str(EXAMPLE)])
    assert result.exit_code == 70
    assert "Traceback" not in result.output
    (file,) = tmp_path.iterdir()
    assert str(file) in result.output
    assert "RuntimeError: a bad day" in file.read_text()
    shown = CliRunner().invoke(main, ["--debug", "check", str(EXAMPLE)])
    assert shown.exit_code == 70
    assert "Traceback" in shown.output


# ── limits from outside ───────────────────────────────────────────────────────────────────────────

ASLEEP = """
import sys
sys.path.insert(0, {source!r})
import holdfast as hf
from holdfast.cli import watch as cli_watch
def slow(*_): {body}
hf.load = slow
cli_watch.MEMORY, cli_watch.INTERVAL = 300_000_000, 0.01
sys.argv = ["holdfast", "--limit", "1", "check", "a.toml"]
cli_watch.main()
"""


@needs_fork
@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("pow(3, 10**9)", "reading the problem takes more than 1 s of computing"),  # one call, deaf to signals
        (
            "a = [bytearray(10**7) for k in range(10**4)]; [b.__setitem__(slice(None), b'1' * 10**7) for b in a]",
            "memory",
        ),
    ],
)
def test_what_no_counter_sees_is_ended_from_outside(body, said, tmp_path):
    start = time.monotonic()
    result = subprocess.run(
        [sys.executable, "-c", ASLEEP.format(source=SOURCE, body=body)], capture_output=True, timeout=50, check=False
    )
    assert result.returncode == 2, result.stderr
    assert said in result.stderr.decode()
    assert "--limit 60" in result.stderr.decode()
    assert time.monotonic() - start < 45


@needs_fork
@pytest.mark.parametrize(("limit", "code"), [("0.01", 2), ("60", 0)])
def test_a_limit_is_kept_below_a_second_too(limit, code):
    result = subprocess.run(
        [sys.executable, "-m", "holdfast", "--limit", limit, "check", str(EXAMPLE)],
        env=os.environ | {"PYTHONPATH": SOURCE}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert result.returncode == code, result.stderr
    assert (f"takes more than {limit} s of computing" in result.stderr) == (code == 2)


WITHIN = """
import signal, sys, time
sys.path.insert(0, {source!r})
from holdfast.cli import watch as cli_watch
def work():
    cli_watch.WATCH.seconds = 0.3
    with cli_watch.limited("proving", more=float("inf")):
        while time.process_time() < 0.6: pass
    with cli_watch.limited("outside"):
        with cli_watch.limited("inside", more=60.0):
            while True: pass
cli_watch.watched(work)
"""


@needs_fork
def test_a_limit_within_another_ends_no_later_and_what_has_none_goes_on():
    result = subprocess.run(
        [sys.executable, "-c", WITHIN.format(source=SOURCE)], capture_output=True, text=True, timeout=30, check=False
    )
    assert result.returncode == 2, result.stderr
    assert "inside takes more than" in result.stderr


@needs_fork
@pytest.mark.slow
def test_an_interruption_reaches_the_work(tmp_path):
    (tmp_path / "long.toml").write_text(FREE.replace("duration = 1", "duration = 1e13") + "every = 1000000000\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "holdfast", "simulate", "long.toml"],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": SOURCE}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    time.sleep(4)
    process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate(timeout=40)
    finally:
        process.kill()
    assert process.returncode == 130, (out, err)


# ── other folders ─────────────────────────────────────────────────────────────────────────────────

UNUSUAL = (
    'schema = 1\n[system]\ncoordinates = ["x"]\nkinetic = "(1 + exp(x)*sin(x)/(1+x**2))*x_dot**2/2"\n'
    'potential = "x**2/(1+sin(x)**2)"\ndissipation = "x_dot**2*(1+x**2)"\n'
)


@pytest.mark.slow
def test_code_beside_a_problem_is_not_run(tmp_path):
    for name in ("sympy", "numpy", "click", "mpmath", "holdfast_extra", "usercustomize", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text('open("OWNED", "w").write("run")\nraise ImportError\n')
    (tmp_path / "problem.toml").write_text(UNUSUAL)
    result = typed("lagrangian", "problem.toml", "--time-limit", "5", cwd=tmp_path)
    assert not (tmp_path / "OWNED").exists()
    assert result.returncode in (0, 1), result.stderr


def test_no_settings_of_matplotlib_are_read_from_the_folder(tmp_path):
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\nfigure.dpi: 7\n")
    code = (
        f"import sys; sys.path.insert(0, {SOURCE!r}); from holdfast.cli.text import plain_matplotlib as load; "
        "m = load(); import os; print(m.rcParams['text.usetex'], m.rcParams['figure.dpi'], os.getcwd())"
    )
    shown = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, cwd=tmp_path, text=True, check=True)
    assert shown.stdout.split()[:2] == ["False", "100.0"]
    assert shown.stdout.split()[2] == os.path.realpath(tmp_path)
    assert plain_matplotlib().__name__ == "matplotlib"
