"""FMUs: the binary that no compiler made computes the kernel's bits, and other tools run it."""

import ctypes
import io
import subprocess
import xml.etree.ElementTree as ET
import zipfile
from importlib.util import find_spec

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import holdfast as hf
from holdfast.engine.code import native
from holdfast.engine.code.link import linkable_here
from holdfast.exchange.fmu import binary
from holdfast.exchange.model import model_of
from tests.exchange.compiled_c import COMPILER, STRICT, unfused
from tests.exchange.problems import HOSTILE, NAMES, everything, example, held_rod
from tests.exchange.test_c import kernel_steps, pointer

compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler here")
by_llvm = pytest.mark.skipif(not (linkable_here() and native.available()), reason="no own linker for this machine")
with_fmpy = pytest.mark.skipif(find_spec("fmpy") is None, reason="fmpy is not installed")


def archive(made):
    (content,) = made.files.values()
    return zipfile.ZipFile(io.BytesIO(content))


class Unit:
    """The binary of an FMU, called as an importer calls it."""

    def __init__(self, made, folder, library=None):
        files = archive(made)
        root = ET.fromstring(files.read("modelDescription.xml"))
        self.version = 2 if root.get("fmiVersion") == "2.0" else 3
        self.token = (root.get("guid") or root.get("instantiationToken")).encode()
        if library is None:
            (name,) = [name for name in files.namelist() if name.startswith("binaries/")]
            library = folder / f"{made.name}.so"
            library.write_bytes(files.read(name))
        self._library = ctypes.CDLL(str(library))
        path = "./ModelVariables/ScalarVariable" if self.version == 2 else "./ModelVariables/Float64"
        self.references = {v.get("name"): int(v.get("valueReference")) for v in root.findall(path)}
        self.instance = ctypes.c_void_p(self.create(self.token))

    def function(self, name, returns=ctypes.c_int):
        found = getattr(self._library, f"fmi{self.version}{name}")
        found.restype = returns
        return found

    def create(self, token):
        if self.version == 2:
            return self.function("Instantiate", ctypes.c_void_p)(b"x", 1, token, b"", None, 0, 0)
        make = self.function("InstantiateCoSimulation", ctypes.c_void_p)
        none = ctypes.c_void_p(None)
        return make(b"x", token, b"", False, False, False, False, none, ctypes.c_size_t(0), none, none, none)

    def __call__(self, name, *arguments):
        return self.function(name)(self.instance, *map(self._argument, arguments))

    @staticmethod
    def _argument(value):
        if isinstance(value, np.ndarray):
            return ctypes.c_void_p(value.ctypes.data)
        return ctypes.c_double(value) if isinstance(value, float) else ctypes.c_size_t(value)

    def begin(self, t):
        if self.version == 2:
            assert self("SetupExperiment", 0, 0.0, t, 0, 0.0) == 0
            assert self("EnterInitializationMode") == 0
        else:
            assert self("EnterInitializationMode", 0, 0.0, t, 0, 0.0) == 0
        return self("ExitInitializationMode")

    def get(self, names):
        places, values = np.array([self.references[name] for name in names], np.uint32), np.zeros(len(names))
        ends = (len(names),) if self.version == 3 else ()
        kind = "Real" if self.version == 2 else "Float64"
        assert self(f"Get{kind}", places, len(names), values, *ends) == 0
        return values

    def set(self, given):
        places = np.array([self.references[name] for name in given], np.uint32)
        values, ends = np.array([*given.values()], float), (len(given),) if self.version == 3 else ()
        return self(f"Set{'Real' if self.version == 2 else 'Float64'}", places, len(given), values, *ends)

    def step(self, t, h):
        if self.version == 2:
            return self("DoStep", t, h, 1)
        flags, last = np.ones(3, np.uint8), np.zeros(1)
        status = self("DoStep", t, h, 1, flags[:1], flags[1:2], flags[2:], last)
        assert_array_equal(flags, 0)
        assert status != 0 or last[0] == t + h
        return status


@by_llvm
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_steps_have_the_bits_of_an_unfused_kernel(name, tmp_path):
    equations = example(name)
    h = (equations.problem.run.duration or 1.0) / 1000
    model = model_of(equations, name=name, scheme="rk4", step=h)
    made = hf.export(equations, to="fmu", name=name, scheme="rk4", step=h, fmi=2 + NAMES.index(name) % 2)
    unit = Unit(made, tmp_path)
    assert_array_equal(unit.get(model.states), model.start)
    assert_array_equal(unit.get(model.parameters), model.values)
    assert unit.begin(model.begin) == 0
    for k in range(20):
        assert unit.step(model.begin + k * h, h) == 0
    expected, done, _ = kernel_steps(model, unfused(model.assembly), model.begin, h, 20)
    assert done == 20
    assert_array_equal(unit.get(model.states), expected)
    observed = equations.evaluate(expected, model.begin + 20 * h).observables
    values = np.array([*observed.values()])
    assert_allclose(unit.get(model.observables), values, rtol=1e-9, atol=1e-11 * np.abs(values).max())
    rates = np.zeros(len(model.states) + len(equations.field.watched))
    scratch = np.zeros(model.assembly.work)
    p = np.array([*model.values, 0.0])
    unfused(model.assembly).functions["rates"](model.begin + (19 * h + h), *map(pointer, (expected, p, rates, scratch)))
    assert_allclose(unit.get([f"der({name})" for name in model.states]), rates[: len(model.states)], rtol=1e-12)


@by_llvm
@pytest.mark.parametrize("fmi", [2, 3])
def test_what_an_importer_may_do(fmi, tmp_path):
    equations = held_rod()
    unit = Unit(hf.export(equations, to="fmu", name="rod", scheme="rk4", step=0.01, fmi=fmi), tmp_path)
    assert unit.create(b"another") is None
    assert unit.create(None) is None
    assert unit.function("GetVersion", ctypes.c_char_p)() == f"{fmi}.0".encode()
    n, x = 4, np.zeros(4)
    assert unit("GetContinuousStates", x, n) == 0
    assert unit("GetContinuousStates", x, n + 1) == 3
    assert_array_equal(x, [1, 0, 0, 0])
    assert unit.set({"mass": 2.0, "y_dot": 0.5}) == 0
    assert unit.begin(0.0) == 0
    moved = np.array([0.6, -0.8, 0.1, 0.2])
    assert unit("SetContinuousStates", moved, n) == 0
    assert unit("SetTime", 0.5) == 0
    rates, ask = np.zeros(4), "GetDerivatives" if fmi == 2 else "GetContinuousStateDerivatives"
    assert unit(ask, rates, n) == 0
    expected = hf.right_hand_side(equations, parameters={"mass": 2})(0.5, moved)
    assert_allclose(rates, expected, rtol=1e-13)
    assert unit.get(["time"]) == [0.5]
    # a state that is kept, and come back to
    kept, state = ctypes.c_void_p(None), "State" if fmi == 3 else "state"
    get, put, free = (unit.function(f"{word}FMU{state}") for word in ("Get", "Set", "Free"))
    assert get(unit.instance, ctypes.byref(kept)) == 0
    assert unit.step(0.5, 0.01) == 0
    assert not np.array_equal(unit.get(["x", "y", "x_dot", "y_dot"]), moved)
    assert put(unit.instance, kept) == 0
    assert_array_equal(unit.get(["x", "y", "x_dot", "y_dot"]), moved)
    assert free(unit.instance, ctypes.byref(kept)) == 0
    assert kept.value is None
    # what is not there
    nowhere, value = np.array([10_000], np.uint32), np.zeros(1)
    kind = "Real" if fmi == 2 else "Float64"
    for verb in ("Get", "Set"):
        assert unit(f"{verb}{kind}", nowhere, 1, value, *((1,) if fmi == 3 else ())) == 3
        assert unit(f"{verb}Boolean", nowhere, 1, value, *((1,) if fmi == 3 else ())) == 3
    assert unit.set({"time": 1.0}) == 3
    assert unit.set({"der(x)": 1.0}) == 3
    assert unit("Reset") == 0
    assert_array_equal(unit.get(["x", "mass"]), [1.0, 1.0])
    unit.function("FreeInstance", None)(unit.instance)


@by_llvm
@pytest.mark.parametrize("fmi", [2, 3])
def test_long_steps_are_cut_and_lost_states_are_told(fmi, tmp_path):
    equations = held_rod()
    unit = Unit(hf.export(equations, to="fmu", name="rod", scheme="rk4", step=0.01, fmi=fmi), tmp_path)
    assert unit.begin(0.0) == 0
    assert unit.step(0.0, 0.1) == 0
    run = hf.simulate(equations, "rk4", step=0.01, duration=0.1)
    assert_allclose(unit.get(["x", "y"]), [run["x"][-1], run["y"][-1]], rtol=1e-13)
    assert unit("Reset") == 0
    assert unit.set({"x": 0.0}) == 0  # a rod of no length
    assert unit.begin(0.0) == 3
    rates = np.zeros(4)
    assert unit("GetDerivatives" if fmi == 2 else "GetContinuousStateDerivatives", rates, 4) == 2
    assert unit.step(0.0, 0.01) == 3
    assert_array_equal(unit.get(["x"]), 0.0)


@compiler
@by_llvm
@pytest.mark.parametrize("fmi", [2, 3])
def test_sources_compile_strictly_and_give_the_bits_of_the_binary(fmi, tmp_path):
    equations = everything()
    made = hf.export(equations, to="fmu", name="every", scheme="rk4", step=0.01, fmi=fmi)
    (tmp_path / "every.c").write_bytes(archive(made).read("sources/every.c"))
    library = tmp_path / "compiled.so"
    command = [COMPILER, *STRICT, "-O2", "-fPIC", "-shared", str(tmp_path / "every.c"), "-o", str(library), "-lm"]
    subprocess.run(command, check=True)
    one, other = Unit(made, tmp_path), Unit(made, tmp_path, library)
    for unit in (one, other):
        assert unit.begin(0.0) == 0
        for k in range(50):
            assert unit.step(k * 0.01, 0.01) == 0
    names = [*equations.state_names, *equations.observables]
    assert_array_equal(one.get(names), other.get(names))


HOST = """
#include <dlfcn.h>
typedef void *make(const char *, int, const char *, const char *, void *, int, int);
typedef int one(void *);
typedef int setup(void *, int, double, double, int, double);
typedef int step(void *, double, double, int);
int main(void)
{
    void *unit = dlopen("./every.so", RTLD_NOW | RTLD_LOCAL), *m;
    int k, said;
    if (!unit) return 1;
    m = ((make *)dlsym(unit, "fmi2Instantiate"))("a", 1, "TOKEN", "", 0, 0, 0);
    if (!m) return 2;
    said = ((setup *)dlsym(unit, "fmi2SetupExperiment"))(m, 0, 0, 0, 0, 0);
    said += ((one *)dlsym(unit, "fmi2ExitInitializationMode"))(m);
    for (k = 0; k < 30; k++) said += ((step *)dlsym(unit, "fmi2DoStep"))(m, k * 0.01, 0.01, 1);
    return said ? 3 : 0;
}
"""


@compiler
@by_llvm
def test_a_program_that_knows_nothing_else_loads_the_binary(tmp_path):
    """All that the binary needs is found by what it names itself: no Python, and nothing linked before."""
    unit = Unit(hf.export(everything(), to="fmu", name="every", step=0.01), tmp_path)
    (tmp_path / "host.c").write_text(HOST.replace("TOKEN", unit.token.decode()))
    subprocess.run([COMPILER, "-std=gnu99", "host.c", "-o", "host", "-ldl"], cwd=tmp_path, check=True)
    assert subprocess.run(["./host"], cwd=tmp_path).returncode == 0


@compiler
def test_without_our_linker_the_systems_compiler_serves(tmp_path, monkeypatch):
    monkeypatch.setattr(binary, "linked", lambda file: None)
    unit = Unit(hf.export(held_rod(), to="fmu", name="rod", step=0.01), tmp_path)
    assert unit.begin(0.0) == 0
    assert unit.step(0.0, 0.01) == 0


def test_without_any_compiler_the_sources_leave(monkeypatch):
    monkeypatch.setattr(binary, "linked", lambda file: None)
    monkeypatch.setattr(binary.shutil, "which", lambda name: None)
    made = hf.export(held_rod(), to="fmu", name="rod", step=0.01)
    assert not any(name.startswith("binaries/") for name in archive(made).namelist())
    assert "it has sources, and no binary" in made.notes


@pytest.mark.parametrize("title", HOSTILE)
def test_any_title_is_well_formed(title):
    for fmi in (2, 3):
        made = hf.export(held_rod(title=title), to="fmu", step=0.01, fmi=fmi)
        root = ET.fromstring(archive(made).read("modelDescription.xml"))
        assert root.tag == "fmiModelDescription"
        assert len(root.find("ModelVariables")) > 20


def test_the_same_model_is_the_same_file():
    one, two = (hf.export(held_rod(), to="fmu", name="rod", step=0.01) for _ in range(2))
    assert dict(one.files) == dict(two.files)
    assert dict(hf.export(held_rod(), to="fmu", name="rod", step=0.02).files) != dict(one.files)


def test_refusals():
    with pytest.raises(hf.BadRequest, match="needs a step"):
        hf.export(held_rod(), to="fmu")
    with pytest.raises(hf.BadRequest, match="no FMI 4"):
        hf.export(held_rod(), to="fmu", step=0.01, fmi=4)


@with_fmpy
@pytest.mark.parametrize("fmi", [2, 3])
@pytest.mark.parametrize("name", ["cart_rod", "four_bar", "measured_path", "rocket_ascent", "kepler"])
def test_fmpy_validates_and_runs_it(name, fmi, tmp_path):
    import fmpy
    from fmpy.validation import validate_fmu

    equations = example(name)
    duration = min(1.0, equations.problem.run.duration or 1.0)
    h = duration / 200
    file = tmp_path / f"{name}.fmu"
    hf.export(equations, to="fmu", name=name, scheme="rk4", step=h, fmi=fmi, path=file)
    assert validate_fmu(str(file)) == []
    run = hf.simulate(equations, "rk4", step=h, duration=duration)
    fine = hf.simulate(equations, "dop853", tolerance=1e-11, duration=duration)
    asked = {"start_time": float(run.times[0]), "stop_time": float(run.times[-1]), "output_interval": h}
    together = fmpy.simulate_fmu(str(file), fmi_type="CoSimulation", step_size=h, **asked)
    exchanged = fmpy.simulate_fmu(str(file), fmi_type="ModelExchange", relative_tolerance=1e-9, **asked)
    for state in equations.state_names:
        size = np.abs(run[state]).max() + 1e-9
        assert_allclose(together[state][-1], run[state][-1], rtol=1e-12, atol=1e-13 * size)
        assert_allclose(exchanged[state][-1], fine[state][-1], rtol=1e-4, atol=1e-5 * size)


# ── inputs ────────────────────────────────────────────────────────────────────────────────────────


@by_llvm
@pytest.mark.parametrize("fmi", [2, 3])
@pytest.mark.parametrize("name", ["cart_rod", "mixed_holders", "crane"])
def test_a_plant_takes_its_controls_from_outside(name, fmi, tmp_path):
    equations = example(name)
    controls = list(equations.problem.program.controls)
    made = hf.export(equations, to="fmu", name="plant", scheme="rk4", step=1e-3, inputs=controls, fmi=fmi)
    root = ET.fromstring(archive(made).read("modelDescription.xml"))
    inputs = [v.get("name") for v in root.find("ModelVariables") if v.get("causality") == "input"]
    assert inputs == controls
    unit, step = Unit(made, tmp_path), hf.step_function(equations, "rk4", 1e-3, inputs=controls)
    assert unit.begin(equations.problem.run.begin) == 0
    state = unit.get(step.state_names)
    for k in range(30):
        pushed = [np.sin(k + place) for place in range(len(controls))]
        t = equations.problem.run.begin + k * 1e-3
        assert unit.set(dict(zip(controls, pushed, strict=True))) == 0
        assert unit.step(t, 1e-3) == 0
        state = step(t, state, pushed)
    assert_allclose(unit.get(step.state_names), state, rtol=1e-11, atol=1e-13)
    energy = equations.evaluate(np.append(state, np.zeros(len(equations.state_names) - len(state)))).energy
    assert_allclose(unit.get(["energy"]), energy, rtol=1e-12)
    assert not set(unit.references) & {f"R_{c}" for c in equations.coordinates}  # which the law would decide


def test_inputs_are_judged():
    cart = example("cart_rod")
    with pytest.raises(hf.BadRequest, match="'G' is no input"):
        hf.export(cart, to="fmu", inputs=["G"])
    with pytest.raises(hf.BadRequest, match="M are not among the inputs"):
        hf.export(cart, to="fmu", inputs="F")
    with pytest.raises(hf.BadRequest, match="no controls"):
        hf.export(cart, to="c", inputs=["F", "M"], part="controller")
    module = hf.export(cart, to="numpy", inputs=["F", "M"]).load()
    assert module.PARAMETERS[-2:] == ["F", "M"]
    assert module.CONTROLS == []
    pushed = np.array(module.VALUES)
    pushed[-2:] = 3.0, -1.0
    expected = hf.step_function(cart, "euler", 1.0, inputs=["F", "M"])
    moved = expected(0.0, np.array(module.START), [3.0, -1.0])
    assert_allclose(module.START + module.rhs(0.0, module.START, pushed), moved, rtol=1e-12)
    for to in ("casadi", "jax", "modelica", "c"):
        assert hf.export(cart, to=to, inputs=["F", "M"]).files


@with_fmpy
@pytest.mark.parametrize("fmi", [2, 3])
def test_fmpy_drives_a_plant(fmi, tmp_path):
    import fmpy
    from fmpy.validation import validate_fmu

    cart, file = example("cart_rod"), tmp_path / "plant.fmu"
    hf.export(cart, to="fmu", name="plant", scheme="rk4", step=0.01, inputs=["F", "M"], fmi=fmi, path=file)
    assert validate_fmu(str(file)) == []
    signals = np.array([(0.0, 2.0, 9.0), (1.0, 2.0, 9.0)], dtype=[("time", float), ("F", float), ("M", float)])
    rows = fmpy.simulate_fmu(
        str(file), fmi_type="CoSimulation", stop_time=1.0, step_size=0.01, input=signals, output_interval=0.01
    )
    step = hf.step_function(cart, "rk4", 0.01, inputs=["F", "M"])
    state = step.start()
    for k in range(100):
        state = step(k * 0.01, state, [2.0, 9.0])
    assert_allclose([rows[name][-1] for name in step.state_names], state, rtol=1e-9)
