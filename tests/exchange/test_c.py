"""Exported C compiles under the strictest flags and gives the bits of the kernels."""

import ctypes
import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose, assert_array_equal

import holdfast as hf
from holdfast.engine.code import native
from holdfast.engine.code.kernel_source import observing_observables, stepping
from holdfast.exchange.c.header import work_size
from holdfast.exchange.c.own_fma import OWN_FMA
from holdfast.exchange.model import model_of
from tests.exchange.compiled_c import COMPILER, STRICT, Library, unfused
from tests.exchange.problems import EXAMPLES, HOSTILE, NAMES, everything, example, held_rod

compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler here")


def pointer(array):
    return array.ctypes.data


def states_near(model, count, seed=1):
    """States about the start, at which functions have their domains."""
    start = np.array(model.start)
    noise = np.random.default_rng(seed).normal(size=(count, len(start)))
    return np.ascontiguousarray(start * (1 + 0.01 * noise) + 1e-3 * noise)


def kernel_steps(model, loaded, t, h, count):
    """The state after `count` steps of the kernel's own loop, or as far as it comes."""
    size, pivots = len(model.start), len(model.equations.field.pivots)
    width = size + 2 * pivots
    x, p, f = np.array(model.start), np.array([*model.values, 0.0]), np.zeros(width)
    work, scratch = np.zeros(model.assembly.work + 8), np.zeros(model.assembly.work + 8)
    loaded.functions["rates"](t, *map(pointer, (x, p, f, scratch)))
    watch = np.copysign(1.0, f[size : size + pivots])
    watch, events, status, done = np.append(watch, 1.0), np.zeros(2), np.zeros(1), np.zeros(1)
    rows = np.zeros((count, size))
    arrays = [pointer(a) for a in (x, f, p, watch, events, status, done, rows, work)]
    loaded.functions["fixed"](0, count, 1, t, h, *arrays)
    return x, int(done[0]), int(status[0])


@compiler
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_rates_observables_and_a_hundred_steps_have_the_bits_of_an_unfused_kernel(name, tmp_path):
    equations = example(name)
    model = model_of(equations, name=name, scheme="rk4")
    library = Library(hf.export(equations, to="c", name=name, scheme="rk4"), tmp_path)
    t, x, p = library.defaults(len(model.start), len(model.values))
    assert (t, *x[: len(model.start)], *p[: len(model.values)]) == (model.begin, *model.start, *model.values)
    kernel = unfused(model.assembly)
    same_at_many_states(model, library, kernel, t, p)
    h = (equations.problem.run.duration or 1.0) / 1000
    expected, done, status = kernel_steps(model, kernel, t, h, 100)
    assert (done, status) == (100, 0)
    assert not np.array_equal(expected, model.start)
    single = x.copy()
    assert library.run(t, h, 0, 100, x, p, work_size(model)) == (100, 0)
    assert_array_equal(x, expected)
    for k in range(100):
        assert library.call("step", t + k * h, h, single, p, returns=ctypes.c_int) == 0
    assert_array_equal(single, expected)


def same_at_many_states(model, library, kernel, t, p):
    """Rates and observables, near the start."""
    field, watching = model.field, observing_observables(model.field)
    seen, scratch = unfused(watching), np.zeros(max(watching.work, model.assembly.work))
    for state in states_near(model, 30):
        expected, found = np.zeros(len(field.state) + len(field.watched)), library.zeros(len(field.state))
        kernel.functions["rates"](t, *map(pointer, (state, p, expected, scratch)))
        library.call("rhs", t, state, p, found)
        assert_array_equal(found, expected[: len(found)])
        observed, outputs = np.zeros(len(field.observables)), library.zeros(len(field.observables))
        seen.functions["body"](t, *map(pointer, (state, p, observed, scratch)))
        library.call("observe", t, state, p, outputs)
        assert_array_equal(outputs, observed)


@compiler
def test_every_operation_has_the_bits_of_an_unfused_kernel(tmp_path):
    equations = everything()
    model = model_of(equations, name="all_of_them")
    library = Library(hf.export(equations, to="c", name="all_of_them"), tmp_path)
    kernel, p = unfused(model.assembly), np.array(model.values)
    for state in np.random.default_rng(0).uniform(-0.9, 0.9, size=(300, 6)):
        expected, found = np.zeros(6 + len(equations.field.watched)), library.zeros(6)
        kernel.functions["rates"](0.0, *map(pointer, (state, p, expected, np.zeros(model.assembly.work))))
        library.call("rhs", 0.0, state, p, found)
        assert_array_equal(found, expected[:6])
    hf.export(equations, to="c", name="brief", precision="float", path=tmp_path)
    command = [COMPILER, *STRICT, "-Wdouble-promotion", "-c", str(tmp_path / "brief.c")]
    subprocess.run([*command, "-o", str(tmp_path / "brief.o")], check=True)


FMA = """
#include <math.h>
#include <stdint.h>
#include <string.h>
#define HOLDFAST_OWN_FMA
OWN
static uint64_t seed = 88172645463325252u;
static uint64_t next(void) { seed ^= seed << 13; seed ^= seed >> 7; seed ^= seed << 17; return seed; }
static double number(uint64_t bits) { double x; memcpy(&x, &bits, sizeof x); return x; }
static double near(int low, int count)
{
    const uint64_t exponent = (uint64_t)low + next() % (uint64_t)count;
    return number((next() & 0x800FFFFFFFFFFFFFu) | exponent << 52);
}
int main(void)
{
    int i, wrong = 0;
    for (i = 0; i < 400000; i++) {
        double x = number(next()), y = number(next()), z = number(next()), own, right; /* of any size */
        if (i % 4 == 1) { x = near(1000, 46); y = near(1000, 46); z = near(960, 126); }
        if (i % 4 == 2) { x = near(500, 80); y = near(450, 80); z = number(next() & 0x803FFFFFFFFFFFFFu); }
        if (i % 4 == 3) { x = near(1023, 1); y = near(1023, 1); z = -x * y; } /* almost all cancels */
        own = hf_fma(x, y, z);
        right = fma(x, y, z);
        wrong += memcmp(&own, &right, sizeof own) != 0 && !(own != own && right != right);
    }
    return wrong != 0;
}
"""


@compiler
def test_our_own_fused_product_is_exact(tmp_path):
    (tmp_path / "fma.c").write_text(FMA.replace("\nOWN\n", f"\n{OWN_FMA}\n"))
    command = [COMPILER, *STRICT, "-O2", str(tmp_path / "fma.c"), "-o", str(tmp_path / "fma"), "-lm"]
    subprocess.run(command, check=True)
    assert subprocess.run([str(tmp_path / "fma")]).returncode == 0


@compiler
def test_with_our_own_fused_product_nothing_changes(tmp_path):
    equations = everything()
    model = model_of(equations, name="own", scheme="rk4")
    library = Library(hf.export(equations, to="c", name="own", scheme="rk4"), tmp_path, "-DHOLDFAST_OWN_FMA")
    t, x, p = library.defaults(6, len(model.values))
    expected, done, _ = kernel_steps(model, unfused(model.assembly), t, 0.01, 50)
    assert (library.run(t, 0.01, 0, 50, x, p, work_size(model)), done) == ((50, 0), 50)
    assert_array_equal(x, expected)
    symbols = subprocess.run(["nm", "-u", str(library.file)], capture_output=True, text=True).stdout
    assert not re.search(r"\bfma\b", symbols)


@compiler
@pytest.mark.parametrize("scheme", [s for s in hf.ALL_SCHEMES if s.explicit and not s.adaptive], ids=lambda s: s.name)
def test_every_explicit_scheme_leaves(scheme, tmp_path):
    equations = example("four_bar")
    model = model_of(equations, name="bars", scheme=scheme)
    library = Library(hf.export(equations, to="c", name="bars", scheme=scheme), tmp_path)
    t, x, p = library.defaults(len(model.start), len(model.values))
    expected, done, _ = kernel_steps(model, unfused(model.assembly), t, 1e-3, 50)
    assert (done, *library.run(t, 1e-3, 0, 50, x, p, work_size(model))) == (50, 50, 0)
    assert_array_equal(x, expected)


@compiler
@pytest.mark.skipif(not (native.available() and native.features().get("fma")), reason="no fused products here")
@pytest.mark.parametrize("name", ["cart_rod", "four_bar", "kepler", "quadrotor", "measured_path"])
def test_with_fused_products_c_has_the_bits_of_a_run(name, tmp_path):
    equations = example(name)
    run = hf.simulate(equations, "rk4", step=1e-3, duration=0.1)
    made = hf.export(equations, to="c", name=name, scheme="rk4")
    library = Library(made, tmp_path, "-DHOLDFAST_FUSED", "-mfma")
    t, x, p = library.defaults(len(run.y), len(equations.parameter_names))
    model = model_of(equations, name=name, scheme="rk4")
    assert library.run(t, 1e-3, 0, 100, x, p, work_size(model)) == (100, 0)
    assert_array_equal(x, run.y[:, -1])


@compiler
@pytest.mark.parametrize("name", ["cart_rod", "four_bar", "rocket_ascent", "measured_path", "pendulum"])
def test_float_is_double_to_its_own_rounding(name, tmp_path):
    equations = example(name)
    made = hf.export(equations, to="c", name=name, scheme="rk4", precision="float")
    library = Library(made, tmp_path, "-Wdouble-promotion", "-Wfloat-conversion")
    t, x, p = library.defaults(len(equations.state_names), len(equations.parameter_names))
    assert x.dtype == np.float32
    found = library.zeros(len(x))
    library.call("rhs", t, x, p, found)
    expected = hf.right_hand_side(equations)(t, np.array(x, float))
    assert_allclose(found, expected, rtol=3e-3, atol=1e-4 * np.abs(expected).max())
    assert library.call("step", t, 1e-4, x, p, returns=ctypes.c_int) == 0


@compiler
@pytest.mark.parametrize("name", ["cart_rod", "mixed_holders", "quadrotor"])
def test_the_controller_alone_gives_the_controls(name, tmp_path):
    equations = example(name)
    if equations.deviations.extensions:
        with pytest.raises(hf.BadRequest, match="state of its own"):
            hf.export(equations, to="c", part="controller")
        return
    library = Library(hf.export(equations, to="c", name="ctrl", part="controller"), tmp_path)
    p = library.zeros(len(equations.parameter_names))
    library.call("defaults", p)
    model = model_of(equations)
    for state in states_near(model, 5):
        u = library.zeros(len(model.controls))
        library.call("control", model.begin, state, p, u)
        values = equations.evaluate(state, model.begin)
        assert_allclose(u, values.controls, rtol=1e-12, atol=1e-12)
    symbols = subprocess.run(["nm", "-u", str(library.file)], capture_output=True, text=True).stdout
    assert not re.search(r"\bmalloc\b", symbols)


@compiler
@pytest.mark.parametrize("title", HOSTILE)
def test_no_title_leaves_its_comment(title, tmp_path):
    equations = held_rod(title=title)
    made = hf.export(equations, to="c")
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", made.name)
    assert made.name not in {"int", "main"}
    library = Library(made, tmp_path)
    text = made.files[f"{made.name}.h"]
    first = text.index("*/")
    assert text[first + 2 :].lstrip().startswith("#ifndef")
    assert library.names("state") == list(equations.state_names)


@compiler
@pytest.mark.parametrize("names", ["double main", "int restrict", "X x", "p dx", "hf_rates t0"])
def test_words_of_c_may_be_coordinates(names, tmp_path):
    equations = held_rod(names=names)
    library = Library(hf.export(equations, to="c", name="m"), tmp_path)
    assert library.names("state") == list(equations.state_names)
    assert library.names("parameter") == list(equations.parameter_names)
    assert library.names("observable") == list(equations.observables)


@compiler
def test_two_models_and_cpp_link_together(tmp_path):
    for name in ("a", "b"):
        hf.export(held_rod(), to="c", name=name, path=tmp_path)
    (tmp_path / "main.c").write_text(
        '#include "a.h"\n#include "b.h"\nint main(void) { double t, x[a_states], p[a_parameters];\n'
        "a_defaults(&t, x, p); return a_step(t, 0.01, x, p) + b_step(t, 0.01, x, p); }\n"
    )
    files = [str(tmp_path / f"{name}.c") for name in ("main", "a", "b")]
    subprocess.run([COMPILER, *STRICT, *files, "-o", str(tmp_path / "both"), "-lm"], check=True)
    assert subprocess.run([str(tmp_path / "both")]).returncode == 0


@compiler
def test_a_state_without_rates_and_a_blow_up_are_told_and_change_nothing(tmp_path):
    library = Library(hf.export(held_rod(), to="c", name="rod", scheme="rk4"), tmp_path)
    t, x, p = library.defaults(4, 4)
    for bad in ([0.0, 0.0, 0.0, 0.0], [1e200, 0, 1e200, 0], [float("nan"), 0, 0, 0]):
        x[:] = bad  # at the first, the rod has no length and no direction
        before = x.copy()
        assert library.call("step", t, 0.01, x, p, returns=ctypes.c_int) == 1
        assert_array_equal(x, before)


@compiler
def test_a_lost_rank_ends_a_run_where_it_ends_the_kernels(tmp_path):
    """A control along cos x brings x through π/2, where it has no hold."""
    (x,) = hf.coordinates("x,")
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2)
    program = hf.Program(holonomic={"path": x - sp.Rational(3, 2) - hf.time}, controls={"F": {x: sp.cos(x)}})
    equations = hf.derive(hf.Problem(system, program, start={x: 1.5, x.rate: 1}))
    model = model_of(equations, name="lost", scheme="rk4")
    library = Library(hf.export(equations, to="c", name="lost", scheme="rk4"), tmp_path)
    t, state, p = library.defaults(2, len(model.values))
    expected, done, status = kernel_steps(model, unfused(model.assembly), t, 0.01, 50)
    assert (done, status) == (7, 2)
    assert library.run(t, 0.01, 0, 50, state, p, work_size(model)) == (7, 2)
    assert_array_equal(state, expected)


@compiler
def test_smallest_and_largest_units(tmp_path):
    """A rod of nanometres and nanoseconds: constants far from 1 are read back bit for bit."""
    for number, size in enumerate((1e-9, 1e9, 1e-150)):
        x, y = hf.coordinates("x y")
        system = hf.System(
            coordinates=(x, y), kinetic=size * (x.rate**2 + y.rate**2) / 3, potential=sp.Float(size) * 9.81 * y
        )
        program = hf.Program(holonomic={"rod": (x**2 + y**2 - size**2) / 2})
        equations = hf.derive(hf.Problem(system, program, start={x: size}))
        model = model_of(equations, name=f"m{number}", scheme="rk4")
        library = Library(hf.export(equations, to="c", name=model.name, scheme="rk4"), tmp_path)
        t, state, p = library.defaults(4, 0)
        found, expected = library.zeros(4), np.zeros(4 + len(equations.field.watched))
        loaded = unfused(stepping(equations.field, model.scheme))
        loaded.functions["rates"](t, *map(pointer, (state, p, expected, np.zeros(64))))
        library.call("rhs", t, state, p, found)
        assert_array_equal(found, expected[:4])


def test_constants_beyond_float_are_refused():
    x, y = hf.coordinates("x y")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=sp.Integer(10) ** 60 * y)
    equations = hf.derive(hf.Problem(system, hf.Program(), start={x: 1.0}))
    with pytest.raises(hf.BadRequest, match="beyond the range of float"):
        hf.export(equations, to="c", precision="float")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"to": "fortran"}, "nothing is exported to 'fortran'"),
        ({"to": ["c"]}, "nothing is exported to"),
        ({"to": None}, "nothing is exported to"),
        ({"to": "c", "part": "all"}, "no part 'all'"),
        ({"to": "c", "precision": "half"}, "no precision 'half'"),
        ({"to": "c", "scheme": "radau"}, "chooses its own steps"),
        ({"to": "c", "scheme": "implicit-midpoint"}, "solves equations in each step"),
        ({"to": "c", "step": -1}, "step = -1 is no step"),
        ({"to": "c", "step": float("nan")}, "is no step"),
        ({"to": "c", "name": "9x"}, "cannot be the name"),
        ({"to": "c", "name": "int"}, "cannot be the name"),
        ({"to": "c", "name": "a/../b"}, "cannot be the name"),
        ({"to": "c", "name": "hf"}, "cannot be the name"),
        ({"to": "c", "part": "controller"}, "has no controls"),
    ],
)
def test_what_cannot_leave_is_refused_at_the_door(asked, words):
    with pytest.raises(hf.BadRequest, match=words):
        hf.export(held_rod(), **asked)


def test_only_equations_with_numbers_leave():
    with pytest.raises(hf.BadRequest, match="takes Equations"):
        hf.export("cart", to="c")
    (x,), (k,) = hf.coordinates("x,"), hf.parameters("k,")
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, potential=k * x**2 / 2, parameters={k: None})
    with pytest.raises(hf.OpenLetters):
        hf.export(hf.derive(hf.Problem(system, hf.Program(), start={x: 1.0})), to="c")
    tuned = hf.derive(held_rod().problem.with_law(hf.Tuned()))
    with pytest.raises(hf.BadRequest, match="still to be chosen"):
        hf.export(tuned, to="c")


def test_a_problem_in_phases_leaves_phase_by_phase():
    rod = held_rod().problem
    free = replace(rod, phases={"swing": hf.Phase(until="x", then="fly"), "fly": hf.Phase(program=hf.Program())})
    with pytest.raises(hf.BadRequest, match="phases swing, fly"):
        hf.export(hf.derive(free), to="c")
    assert hf.export(hf.derive(free.in_phase("fly")), to="c", name="fly").files


@compiler
def test_a_sampled_controller_and_its_plant_leave_apart(tmp_path):
    """A loop of both, by hand, is the run: the controller of a wrong payload, held from sample to sample."""
    problem = hf.load(EXAMPLES / "wrong_payload.toml")
    sampling = replace(problem.program.sampling, noise={}, delay=0.0)
    equations = hf.derive(replace(problem, program=replace(problem.program, sampling=sampling)))
    with pytest.raises(hf.BadRequest, match="held between samples"):
        hf.export(equations, to="c")
    controls = list(problem.program.controls)
    computer = Library(hf.export(equations, to="c", name="computer", part="controller"), tmp_path)
    plant = Library(hf.export(equations, to="c", name="plant", inputs=controls, scheme="rk4"), tmp_path)
    run = hf.simulate(equations, "rk4", step=sampling.step, duration=50 * sampling.step)
    names = equations.parameter_names
    t, x, p = plant.defaults(len(equations.state_names), len(names) + len(controls))
    known, u = computer.zeros(len(names)), computer.zeros(len(controls))
    computer.call("defaults", known)
    for k in range(50):
        computer.call("control", t + k * sampling.step, x, known, u)
        p[len(names) :] = u
        assert plant.call("step", t + k * sampling.step, sampling.step, x, p, returns=ctypes.c_int) == 0
    assert_allclose(x, run.y[:, -1], rtol=1e-11, atol=1e-12)


def test_what_is_left_out_is_said():
    assert any("noise" in note for note in hf.export(example("gusts"), to="c").notes)
    watched = replace(held_rod().problem, events={"low": "y + 1/2"})
    made = hf.export(hf.derive(watched), to="c", name="rod")
    assert any("low are not watched" in note for note in made.notes)
    assert "low are not watched" in made.files["rod.h"]


@compiler
def test_nothing_is_undefined_and_the_header_is_cpp(tmp_path):
    """With the compiler's own watch on undefined behaviour; the header alone as C++."""
    hf.export(everything(), to="c", name="every", path=tmp_path)
    (tmp_path / "main.c").write_text(
        '#include "every.h"\nint main(void) { double t, x[every_states], p[every_parameters], o[every_observables];\n'
        "int k, said = 0; every_defaults(&t, x, p); for (k = 0; k < 50; k++) said += every_step(t, 0.01, x, p);\n"
        "every_observe(t, x, p, o); return said; }\n"
    )
    watch = ["-fsanitize=undefined", "-fno-sanitize-recover=all"]
    files = [str(tmp_path / "main.c"), str(tmp_path / "every.c")]
    built = subprocess.run([COMPILER, *STRICT, *watch, *files, "-o", str(tmp_path / "run"), "-lm"], capture_output=True)
    if built.returncode:
        pytest.skip("this compiler has no watch on undefined behaviour")
    subprocess.run([str(tmp_path / "run")], check=True)
    (tmp_path / "use.cpp").write_text('#include "every.h"\nint f() { return every_states; }\n')
    if shutil.which("g++"):
        subprocess.run(["g++", "-Wall", "-Wextra", "-pedantic", "-Werror", "-c", "use.cpp"], cwd=tmp_path, check=True)


def test_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(hf.BadRequest, match="no folder"):
        hf.export(held_rod(), to="c", path=tmp_path / "none")
