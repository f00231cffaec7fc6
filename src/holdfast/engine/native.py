"""From LLVM IR to functions in memory: object code by tier, loaded by MCJIT.

    quick       no passes, code generation level 0: there at once
    optimised   level 2, without inlining, unrolling and the straight-line vectoriser, none of which pays:
                several times faster to run, slower to make

Both compute the same bits, since the IR leaves nothing to decide.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from holdfast.engine.emit.target import Signature

C_TYPES: dict[str, Any] = {"i": ctypes.c_int64, "d": ctypes.c_double, "r": ctypes.c_double, "": None}


@cache
def binding() -> Any:
    """llvmlite, started once."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@cache
def available() -> bool:
    """Whether native code can be made here."""
    try:
        binding()
    except (ImportError, OSError, RuntimeError):
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


def machine_name() -> str:
    """What object code depends on, besides the IR."""
    llvm = binding()
    import llvmlite

    version = ".".join(map(str, llvm.llvm_version_info))
    return "|".join(
        (llvmlite.__version__, version, llvm.get_process_triple(), llvm.get_host_cpu_name(), features().flatten())
    )


def object_code(text: str, *, optimised: bool) -> bytes:
    """The IR as an object file for this processor."""
    llvm = binding()
    module = llvm.parse_assembly(text)
    module.triple = llvm.get_process_triple()
    target = llvm.Target.from_triple(module.triple).create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=features().flatten(),
        opt=1 if optimised else 0,  # higher levels take twice as long and gain nothing on straight-line code
        jit=True,
    )
    if optimised:
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.slp_vectorization = False
        options.loop_vectorization = True
        options.loop_unrolling = False
        options.inlining_threshold = 0
        builder = llvm.create_pass_builder(target, options)
        builder.getModulePassManager().run(module, builder)
    return bytes(target.emit_object(module))


class Loaded:
    """Object code in memory; functions by name, alive as long as this is."""

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
        arguments = [C_TYPES.get(kind, ctypes.c_void_p) for kind in signature.arguments]
        function: Callable[..., Any] = ctypes.CFUNCTYPE(C_TYPES[signature.returns], *arguments)(address)
        return function
