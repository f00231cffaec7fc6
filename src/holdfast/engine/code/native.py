"""From LLVM IR to object code by tier; and its loading by LLVM itself, where it could not be linked to an image.

    quick       no passes, code generation level 0: there at once
    optimised   level 2, without inlining, unrolling and the straight-line vectoriser, none of which pays:
                several times faster to run, slower to make

Both compute the same bits, since the IR leaves nothing to decide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from itertools import takewhile
from typing import Any

from holdfast.engine.code.image import function_at
from holdfast.engine.code.link import linkable_here
from holdfast.engine.emit.target import Signature
from holdfast.errors import BadRequest

HOT = " noinline hot"  # functions that are optimised in the quick tier too: loops of millions of turns
TELLING = ("vendor_id", "cpu family", "model", "stepping", "flags")  # lines of /proc/cpuinfo


@cache
def binding() -> Any:
    """llvmlite, started once: its import takes ten times longer than the first run of code that is kept."""
    try:
        import llvmlite.binding as llvm
    except (ImportError, OSError, RuntimeError) as error:
        raise BadRequest(
            f"LLVM cannot be loaded: {error}",
            where="llvmlite",
            fix="install it again; where it is not installed at all, runs are made by plain Python, slowly",
        ) from error
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@cache
def available() -> bool:
    """Whether native code can be made here; LLVM is looked for, and not loaded yet."""
    try:
        import_module("llvmlite")
    except ImportError:
        return False
    return True


@cache
def features() -> Any:
    """What the processor can do, by LLVM's names: a mapping to bool, with `flatten`."""
    return binding().get_host_cpu_features()


@cache
def fused() -> bool:
    """Whether products are fused with sums in one instruction here."""
    machine = str(binding().get_process_triple())
    return bool(features().get("fma")) or not machine.startswith(("x86", "i386", "i686"))


@cache
def lane_width() -> int:
    """How many cases side by side go fastest: a register of AVX-512, two of AVX2, whose divisions then overlap."""
    return 8 if features().get("avx512f") or features().get("avx2") else 4


@cache
def register_width() -> int:
    """How many doubles fill a register."""
    return 8 if features().get("avx512f") else 4 if features().get("avx") else 2


@cache
def machine_name() -> str:
    """What object code depends on, besides the IR: who made it, and for which processor."""
    import llvmlite

    return f"{llvmlite.__version__}|{processor()}"


def processor() -> str:
    """The processor and its abilities: as Linux tells them where images are made, since LLVM need not be asked then."""
    if linkable_here():
        with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as lines:
            first = takewhile(str.strip, lines)  # an empty line ends it
            return "|".join(line.strip() for line in first if line.startswith(TELLING))
    llvm = binding()
    return f"{llvm.get_process_triple()}|{llvm.get_host_cpu_name()}|{features().flatten()}"


def object_code(text: str, *, optimised: bool) -> bytes:
    """The IR as an object file for this processor."""
    llvm = binding()
    module = llvm.parse_assembly(text)
    module.triple = llvm.get_process_triple()
    passes = optimised or HOT in text
    target = llvm.Target.from_triple(module.triple).create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=features().flatten(),
        opt=1 if passes else 0,  # higher levels take twice as long and gain nothing on straight-line code
        **({"reloc": "pic", "codemodel": "small"} if linkable_here() else {"jit": True}),
    )
    if passes and not optimised:
        _others_left_as_they_are(module)
    if passes:
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.slp_vectorization = False
        options.loop_vectorization = True
        options.loop_unrolling = False
        options.inlining_threshold = 0
        builder = llvm.create_pass_builder(target, options)
        builder.getModulePassManager().run(module, builder)
    return bytes(target.emit_object(module))


def _others_left_as_they_are(module: Any) -> None:
    """Say of all functions that are not marked, and not written into others, that no pass may touch them."""
    for function in module.functions:
        told = {bytes(attribute).split(b" ")[0] for attribute in function.attributes}
        if not function.is_declaration and not told & {b"hot", b"alwaysinline"}:
            function.add_function_attribute("noinline")
            function.add_function_attribute("optnone")


class LoadedObject:
    """Object code in memory, by MCJIT; functions by name, alive as long as this is."""

    def __init__(self, code: bytes, signatures: Mapping[str, Signature]) -> None:
        llvm = binding()
        empty = llvm.parse_assembly("")
        empty.triple = llvm.get_process_triple()
        target = llvm.Target.from_triple(empty.triple).create_target_machine(opt=0, jit=True)  # the code is there
        self._engine = llvm.create_mcjit_compiler(empty, target)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        self.functions = {name: self._function(name, signature) for name, signature in signatures.items()}

    def _function(self, name: str, signature: Signature) -> Callable[..., Any]:
        address = self._engine.get_function_address(name)
        if not address:
            raise LookupError(f"the object code has no function {name!r}")
        return function_at(address, signature)
