"""Images: what LLVM compiled, linked by ourselves, computes what LLVM's own loader makes of it."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest

from holdfast.engine import kernel
from holdfast.engine.code import compiled as code
from holdfast.engine.code import kernel_source as assembly
from holdfast.engine.code import native
from holdfast.engine.code.compiled import Code
from holdfast.engine.code.image import Image, LoadedImage, outside_address
from holdfast.engine.code.link import linkable_here, linked
from holdfast.engine.kernel import compiled
from holdfast.graph.field import Field
from holdfast.graph.nodes import Graph
from holdfast.schemes.by_name import ALL_SCHEMES
from holdfast.schemes.tableaus.kutta import RK4
from tests.engine.fields import chain, everything, pendulum

here_only = pytest.mark.skipif(not linkable_here(), reason="images are made for x86-64 Linux")
START, PARAMETERS = [0.7, -0.2], [0.3]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOLDFAST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(kernel, "_MADE", {})
    return tmp_path / "cache"


@here_only
@pytest.mark.parametrize("scheme", ALL_SCHEMES, ids=lambda scheme: scheme.name)
@pytest.mark.parametrize("tier", ["quick", "optimised"])
def test_an_image_computes_the_bits_of_the_object_file(scheme, tier, monkeypatch, folder):
    def run():
        monkeypatch.setattr(kernel, "_MADE", {})
        found = compiled(everything(), scheme, tier=tier)
        if scheme.adaptive:
            return found.run_adaptive(START, PARAMETERS, duration=0.3)
        return found.run(START, PARAMETERS, step=0.01, steps=30)

    by_image = run()
    monkeypatch.setattr(code, "linked", lambda file: None)
    monkeypatch.setenv("HOLDFAST_CACHE", "")
    by_llvm = run()
    assert np.array_equal(by_image.states, by_llvm.states)
    assert np.array_equal(by_image.observables, by_llvm.observables)


@here_only
def test_large_angles_reach_the_systems_own_sine(folder):
    g = Graph()
    t, x = g.input("t"), g.input("x")
    field = Field(time=t, state=(x,), parameters=(), rates=(g.call("sin", x),))
    assert compiled(field, RK4).rates(0.0, [1e22])[0] == math.sin(1e22)


@here_only
def test_memory_with_code_cannot_be_written():
    empty = Image(bytes(4096), {}, {})
    loaded = LoadedImage(empty, {})
    start = np.frombuffer(loaded._memory, np.uint8).ctypes.data
    assert rights_at(start) == "r-xp"


def rights_at(address: int) -> str:
    """What this process may do with the memory at ``address``.

    The system lists neighbours with equal rights as one line, so the line is found by the range that holds the address.
    """
    with open("/proc/self/maps", encoding="ascii") as lines:
        for line in lines:
            ends, rights, *_ = line.split()
            first, last = (int(end, 16) for end in ends.split("-"))
            if first <= address < last:
                return rights
    return "not mapped"


def test_what_is_not_understood_is_left_to_llvm():
    assert linked(b"") is None
    assert linked(b"MZ" + bytes(1000)) is None
    assert linked(b"\x7fELF\x02\x01\x01" + bytes(100)) is None  # not a relocatable file for this processor


@here_only
def test_an_unknown_relocation_is_left_to_llvm():
    """The large code model has absolute addresses, which only LLVM's loader fills in."""
    llvm = native.binding()
    module = llvm.parse_assembly(chain_text())
    target = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(opt=0, jit=True)
    assert linked(target.emit_object(module)) is None


def chain_text() -> str:
    return compiled(chain(2)[0], RK4).assembly.llvm(1, fused=False)


def test_outside_functions_that_are_missing_are_said_to_be():
    with pytest.raises(LookupError, match="no function 'no_such_function'"):
        outside_address("no_such_function")


def test_a_function_that_an_image_lacks_is_named():
    signatures = compiled(pendulum(), RK4).assembly.signatures
    with pytest.raises(LookupError, match="'rates'"):
        LoadedImage(Image(bytes(16), {}, {}), {"rates": signatures["rates"]})


def test_code_is_kept_with_all_that_running_it_takes():
    made = compiled(pendulum(), RK4).assembly
    file = native.object_code(made.llvm(1, fused=native.fused()), optimised=False)
    wanted = {"rates": made.signatures["rates"]}
    for before in (Code.of(file, wanted, made.layout), Code(file, wanted, made.layout)):
        after = Code.from_bytes(before.to_bytes())
        assert (after.signatures, after.layout) == (before.signatures, before.layout)
        assert after.to_bytes() == before.to_bytes()
        assert after.loaded().functions.keys() == {"rates"}


def test_with_kept_code_nothing_is_written_down(folder, monkeypatch):
    def run():
        kernel._MADE.clear()
        rows = compiled(everything(), RK4).run(START, PARAMETERS, step=0.01, steps=10)
        return rows.states, rows.observables

    def refuse(*arguments):
        raise AssertionError("written down again")

    first = run()
    monkeypatch.setattr(assembly, "lowered", refuse)
    monkeypatch.setattr(assembly, "translate", refuse)
    monkeypatch.setattr(assembly, "source_of", refuse)
    again = run()
    assert np.array_equal(first[0], again[0])
    assert np.array_equal(first[1], again[1])


SCRIPT = """
import sys
from holdfast.engine.kernel import compiled
from holdfast.schemes.tableaus.kutta import RK4
from tests.engine.fields import pendulum
rows = compiled(pendulum(), RK4).run([1.0, 0.0], [2.0], step=0.01, steps=10)
print(rows.states.tobytes().hex(), "llvmlite.binding" in sys.modules)
"""


@here_only
def test_a_second_process_runs_kept_code_without_llvm(folder):
    first, second = (
        subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(2)
    )
    assert (first[1], second[1]) == ("True", "False")
    assert first[0] == second[0]


def test_the_key_tells_apart_what_is_computed():
    """Same shape, other numbers; same equations, another scheme; same equations, another least pivot."""
    keys = {assembly.stepping(pendulum(), scheme).fingerprint for scheme in ALL_SCHEMES}
    assert len(keys) == len(ALL_SCHEMES)
    fields = [chain(2)[0], chain(3)[0], everything(), pendulum()]
    keys = {assembly.stepping(field, RK4).fingerprint for field in fields}
    keys |= {assembly.observing(field, field.rates).fingerprint for field in fields}
    assert len(keys) == 2 * len(fields)


def test_work_that_repeats_is_optimised_and_kept_for_later(folder, monkeypatch):
    monkeypatch.setattr("holdfast.engine.code.machine.COMPILING", 1e-5)
    monkeypatch.setattr("holdfast.engine.code.machine.COMPILING_EACH", 0.0)
    found = compiled(everything(), RK4)
    results = [found.run(START, PARAMETERS, step=0.01, steps=10).states for _ in range(50)]
    found.machine.wait()
    assert found.machine.optimised
    results.append(found.run(START, PARAMETERS, step=0.01, steps=10).states)
    kernel._MADE.clear()
    later = compiled(everything(), RK4)
    assert later.machine.optimised
    results.append(later.run(START, PARAMETERS, step=0.01, steps=10).states)
    assert all(np.array_equal(states, results[0]) for states in results)


def test_where_nothing_is_linked_llvm_makes_and_loads_everything(folder, monkeypatch):
    def run():
        kernel._MADE.clear()
        return compiled(everything(), RK4).run(START, PARAMETERS, step=0.01, steps=10).states

    here = run()
    monkeypatch.setattr(native, "linkable_here", lambda: False)
    monkeypatch.setattr(native, "machine_name", native.machine_name.__wrapped__)
    made, kept = run(), run()
    assert native.binding().get_host_cpu_name() in native.machine_name()
    assert np.array_equal(here, made)
    assert np.array_equal(here, kept)


@here_only
def test_a_long_chain_is_linked_and_computes_the_same_bits(monkeypatch, folder):
    field, start, parameters = chain(200)

    def run():
        monkeypatch.setattr(kernel, "_MADE", {})
        return compiled(field, RK4, tier="quick").run(start, parameters, step=1e-3, steps=20).states

    by_image = run()
    monkeypatch.setattr(code, "linked", lambda file: None)
    monkeypatch.setenv("HOLDFAST_CACHE", "")
    assert np.isfinite(by_image).all()
    assert np.array_equal(run(), by_image)


@here_only
def test_a_child_process_runs_what_its_parent_loaded(folder):
    found = compiled(everything(), RK4)
    wanted = found.run(START, PARAMETERS, step=0.01, steps=10).states
    child = os.fork()
    if not child:
        os._exit(not np.array_equal(found.run(START, PARAMETERS, step=0.01, steps=10).states, wanted))
    assert os.waitpid(child, 0)[1] == 0


@here_only
def test_a_function_outlives_what_loaded_it():
    script = (
        "import os; os.environ['HOLDFAST_CACHE'] = ''\n"
        "import numpy as np\n"
        "from holdfast.engine.code.image import Image, LoadedImage\n"
        "from holdfast.engine.emit.target import Signature\n"
        "answer = bytes.fromhex('b82a000000c3')  # mov eax, 42; ret\n"
        "function = LoadedImage(Image(answer, {'f': 0}, {}), {'f': Signature((), 'i')}).functions['f']\n"
        "assert function() == 42\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False, capture_output=True).returncode == 0


def test_work_is_counted_over_all_calls(folder):
    """Three short runs of a model begin the optimised tier, which one of them alone does not."""
    alone = compiled(everything(), RK4)
    alone.run(START, PARAMETERS, step=0.001, steps=200)
    assert alone.machine._thread is None
    for _ in range(40):
        alone.run(START, PARAMETERS, step=0.001, steps=200)
    assert alone.machine._thread is not None
    before = alone.run(START, PARAMETERS, step=0.001, steps=200)
    alone.machine.wait()
    assert alone.machine.optimised
    after = alone.run(START, PARAMETERS, step=0.001, steps=200)
    assert np.array_equal(before.states, after.states)
    assert np.array_equal(before.observables, after.observables)


EXIT = """
from holdfast.engine.kernel import compiled
from holdfast.schemes.tableaus.kutta import RK4
from tests.engine.fields import everything
kernel = compiled(everything(), RK4)
for _ in range(300):
    kernel.run([0.7, -0.2], [0.3], step=0.001, steps=100)
print(kernel.machine._thread is not None)
"""


def test_a_process_that_ends_while_code_is_made_ends_well(folder):
    done = subprocess.run([sys.executable, "-c", EXIT], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "True", "")
