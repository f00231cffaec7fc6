"""Run files and certificates of others: refused in words or read as what they are, never called good if they lie."""

import collections
import io
import os
import resource
import time
import zipfile
from importlib import resources

import numpy as np
import pytest

import holdfast as hf
from holdfast.errors import HoldfastError
from tests.results import damage

CART = """schema = 1
title = "cart"
[system]
coordinates = ["x", "phi"]
kinetic = "(2*x_dot**2 + 2*x_dot*phi_dot*cos(phi) + phi_dot**2)/2"
potential = "9.81*cos(phi)"
[program]
controls = {F = {x = 1}, M = {phi = 1}}
[program.holonomic]
home = "x"
upright = "phi"
[program.law]
kind = "spring-damper"
stiffness = 4
damping = 4
[start]
x = 0.01
phi = 0.02
[run]
scheme = "rk4"
step = 0.01
duration = 0.5
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run and its certificate, as bytes by the ending of their files."""
    folder = tmp_path_factory.mktemp("whole")
    equations = hf.derive(hf.loads(CART))
    run = hf.simulate(equations)
    run.save(folder / "run.npz")
    run.save(folder / "run.nc")
    hf.certify(equations, effort=2.0).save(folder / "c.json")
    return {suffix: next(folder.glob(f"*{suffix}")).read_bytes() for suffix in (".npz", ".nc", ".json")}


DAMAGE = {".npz": damage.damaged_npz, ".nc": damage.damaged_netcdf, ".json": damage.damaged_certificate}


def attack(count, whole, folder, seed=0, pages=0.02):
    """Load `count` damaged files and ask all that a page asks: how often what happened."""
    random, seen, slowest = np.random.default_rng(seed), collections.Counter(), 0.0
    (folder / "good.npz").write_bytes(whole[".npz"])
    good = hf.Trajectory.load(folder / "good.npz")
    hf.report(good, state_error=False).html  # imports are not counted
    for k in range(count):
        suffix = (".npz", ".nc", ".json")[k % 3]
        file = folder / f"damaged{suffix}"
        file.write_bytes(DAMAGE[suffix](random, whole[suffix]))
        began = time.process_time()
        try:
            if suffix == ".json":
                certificate = hf.Certificate.load(file)
                certificate.summary()
                seen["certificates read"] += 1
                if certificate.label is hf.Label.proved and random.random() < pages:
                    page = hf.report(good, certificate, state_error=False)
                    seen["certificates shown as proved"] += page.word == "proved"
                continue
            run = hf.Trajectory.load(file)
            seen["runs read"] += 1
            finite = all(np.isfinite(values).all() for values in run.columns.values())
            seen["not finite but good"] += run.success and not finite
            repr(run)
            slowest = max(slowest, time.process_time() - began)
            if random.random() < 5 * pages:
                began = time.process_time()
                page = hf.report(run, state_error=False)
                seen["pages not finite but good"] += page.good and not finite
                page.warnings
                seen["verdicts"] += 1
                if random.random() < pages:
                    page.html
                    seen["pages"] += 1
                continue
        except HoldfastError:
            seen["refused"] += 1
        slowest = max(slowest, time.process_time() - began)
    return seen, slowest


def judge(seen, slowest, folder):
    assert seen["not finite but good"] == seen["pages not finite but good"] == 0
    assert slowest < 1.0
    most = 2_000_000  # kB, all other tests of this process included
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < most
    assert not [name for name in os.listdir(folder) if name not in {"good.npz", *(f"damaged{s}" for s in DAMAGE)}]


def test_damaged_files_are_refused_or_read_as_what_they_are(tmp_path, whole):
    seen, slowest = attack(240, whole, tmp_path)
    judge(seen, slowest, tmp_path)
    assert seen["refused"] > 100
    assert seen["runs read"] > 5


@pytest.mark.prove
def test_ten_thousand_damaged_files(tmp_path, whole):
    seen, slowest = attack(10_000, whole, tmp_path, seed=1, pages=0.005)
    print(dict(seen), f"slowest {slowest:.2f} s", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000, "MB")
    judge(seen, slowest, tmp_path)


def parts(whole):
    with np.load(io.BytesIO(whole[".npz"])) as held:
        return held["about"], held["times"], held["table"]


def test_a_run_with_undefined_columns_is_not_good(tmp_path, whole):
    about, times, table = parts(whole)
    states = len(hf.derive(hf.loads(CART)).state_names)
    for row, outcome in {0: "not_finite", states: "undefined"}.items():
        changed = table.copy()
        changed[row:, 5:] = np.nan
        np.savez(tmp_path / "nan.npz", about=about, times=times, table=changed)
        run = hf.Trajectory.load(tmp_path / "nan.npz")
        assert (run.outcome.name, run.success) == (outcome, False)
        assert "row 5" in run.message
        page = hf.report(run, state_error=False)
        assert (page.good, page.word) == (False, "failed")
        assert "undefined" in page.verdict


def test_a_run_that_left_its_program_is_not_good_whatever_its_file_says(tmp_path, whole):
    """The rows are held against each other: columns that their states do not give are nobody's run."""
    about, times, table = parts(whole)
    names = hf.Trajectory.load(_written(tmp_path / "r.npz", whole[".npz"])).names
    changed = table.copy()
    for name in ("x", "y_home"):
        changed[names.index(name)] = np.linspace(0.01, 1e9, len(times))
    np.savez(tmp_path / "left.npz", about=about, times=times, table=changed)
    with pytest.raises(hf.BadRequest, match="is not what its states give"):
        hf.Trajectory.load(tmp_path / "left.npz")


def _written(path, content):
    path.write_bytes(content)
    return path


def test_nothing_is_unpacked_before_its_size_is_known(tmp_path, whole):
    about, times, table = parts(whole)
    (tmp_path / "bomb.npz").write_bytes(damage.bomb(about, len(table), 1_000_000))
    with zipfile.ZipFile(tmp_path / "shape.npz", "w") as archive:
        told = io.BytesIO()
        np.save(told, about)
        archive.writestr("about.npy", told.getvalue())
        archive.writestr("times.npy", damage.header((2**50,)))
        archive.writestr("table.npy", damage.header((len(table), 2**50)))
    np.savez(tmp_path / "pickle.npz", about=np.array([{}], dtype=object), times=times, table=table)
    for kind in ("c16", "i8", "U20", "?", "f2", ">f8"):
        np.savez(tmp_path / f"{kind.strip('>?') or 'flag'}.npz", about=about, times=times, table=table.astype(kind))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for file in tmp_path.glob("*.npz"):
        with pytest.raises(hf.BadRequest, match="does not hold a run"):
            hf.Trajectory.load(file)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


def test_netcdf_of_hdf5_and_of_large_dimensions_is_refused(tmp_path, whole):
    content = whole[".nc"]
    at = content.index(b"time") + 4
    (tmp_path / "large.nc").write_bytes(content[:at] + (2**31 - 1).to_bytes(4, "big") + content[at + 4 :])
    (tmp_path / "four.nc").write_bytes(b"\x89HDF\r\n\x1a\n" + content)
    for file in tmp_path.glob("*.nc"):
        with pytest.raises(hf.BadRequest, match="does not hold a run"):
            hf.Trajectory.load(file)


@pytest.mark.parametrize("text", ["[" * 100_000 + "]" * 100_000, '{"schema": NaN}', '{"a": 1, "a": 2}', "1" * 10_000])
def test_json_that_is_none_is_refused(tmp_path, text):
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(hf.BadRequest, match="is not a certificate"):
        hf.Certificate.load(tmp_path / "c.json")
    np.savez(tmp_path / "r.npz", about=np.array(text), times=np.zeros(1), table=np.zeros((0, 1)))
    with pytest.raises(hf.BadRequest, match="does not hold a run"):
        hf.Trajectory.load(tmp_path / "r.npz")


# ── forged certificates ───────────────────────────────────────────────────────────────────────────


def test_a_page_shows_no_certificate_that_it_has_not_checked(tmp_path, whole):
    """Bounds of 1e-30 under a right checksum, and a label that no proof stands behind."""
    import json

    from holdfast.stability.certificate.certificate import digest

    run = hf.Trajectory.load(_written(tmp_path / "run.npz", whole[".npz"]))
    honest = hf.Certificate.load(_written(tmp_path / "c.json", whole[".json"]))
    assert honest.label is hf.Label.proved
    assert hf.report(run, honest, state_error=False).word == "proved"
    data = json.loads(whole[".json"])
    for block in data["blocks"]:
        block["bounds"] = [1e-30] * len(block["bounds"])
    data["digest"] = digest(data)
    (tmp_path / "forged.json").write_text(json.dumps(data))
    page = hf.report(run, hf.Certificate.load(tmp_path / "forged.json"), state_error=False)
    assert (page.word, page.certificate) == ("no promise", None)
    assert "not verified" in page.html
    assert "10⁻³⁰" not in page.html
    assert any("not verified" in fault for fault in page.faults)


def test_a_certificate_just_made_is_shown_and_a_copy_of_it_is_verified(whole, tmp_path):
    from dataclasses import replace

    equations = hf.derive(hf.loads(CART))
    run = hf.simulate(equations)
    made = hf.certify(equations, trajectory=run, effort=2.0)
    assert hf.report(run, made, state_error=False).certificate is made
    bent = tuple(replace(block, bounds=tuple(1e-30 for _ in block.bounds)) for block in made.blocks)
    page = hf.report(run, replace(made, blocks=bent), state_error=False)
    assert (page.word, page.certificate) == ("no promise", None)


def test_what_was_measured_once_is_not_verified_later(tmp_path):
    """A checked block says nothing that can be re-checked: out of a file it is no promise."""
    equations = hf.derive(hf.loads(CART.replace("duration = 0.5", "duration = 0.1")))
    run = hf.simulate(equations)
    made = hf.certify(equations, trajectory=run, effort=1e-9)
    assert made.label is hf.Label.checked
    made.save(tmp_path / "c.json")
    page = hf.report(run, hf.Certificate.load(tmp_path / "c.json"), state_error=False)
    assert page.word == "no promise"
    assert page.certificate is None


def test_columns_that_their_states_do_not_give_are_refused(tmp_path):
    """Deviations set to 0 beside honest states, times that stand still, rows cut off, parameters changed."""
    run = hf.simulate(hf.derive(hf.load(resources.files("holdfast") / "examples" / "cart_rod.toml")), duration=1)
    run.save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as held:
        about, times, table = held["about"], held["times"], held["table"]
    names = list(run.columns)
    forged = table.copy()
    forged[[k for k, name in enumerate(names) if name.startswith(("y_", "w_"))]] = 0.0
    short = slice(None, 3)
    other = np.array(str(about).replace('"l": 1.0', '"l": 1.5'))
    for what, parts in {
        "zeros": (about, times, forged),
        "still": (about, times * 0, table),
        "short": (about, times[short], table[:, short]),
        "other": (other, times, table),
    }.items():
        assert what != "other" or str(other) != str(about)
        np.savez(tmp_path / f"{what}.npz", about=parts[0], times=parts[1], table=parts[2])
        with pytest.raises(hf.BadRequest):
            hf.Trajectory.load(tmp_path / f"{what}.npz")
    assert hf.Trajectory.load(tmp_path / "run.npz").success
