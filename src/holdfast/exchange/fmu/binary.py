"""The binary of an FMU: by LLVM and our own linker where that is known, else by the system's compiler, else none."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from holdfast.engine.code import native
from holdfast.engine.code.link import linkable_here, linked
from holdfast.exchange.fmu.assembly import FmuAssembly
from holdfast.exchange.fmu.shared_object import shared_object

LIBRARIES = ("libm.so.6", "libc.so.6")
MACHINES = {"x86_64": "x86_64", "AMD64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}
SYSTEMS = {"linux": ("linux", "so"), "darwin": ("darwin", "dylib")}


class Binary(NamedTuple):
    """A shared object: its folder in the FMU, its suffix, its content, and who made it."""

    folder: str
    suffix: str
    content: bytes
    by: str


def binary_of(assembly: FmuAssembly, version: int, token: str) -> Binary | None:
    """The binary for this kind of machine; None where nothing here can make one."""
    system, suffix = SYSTEMS.get(sys.platform, ("", ""))
    machine = MACHINES.get(platform.machine(), "")
    if not system or not machine:
        return None
    folder = f"{machine}-{system}" if version == 3 else {"linux": "linux64", "darwin": "darwin64"}[system]
    if version == 2 and machine != "x86_64" and system == "linux":
        folder = "aarch64-linux"
    if linkable_here() and native.available():
        image = linked(_object(assembly.llvm(version, token)))
        if image is not None:
            names = [name for name in image.functions if name.startswith(f"fmi{version}")]
            return Binary(folder, suffix, shared_object(image, names, LIBRARIES), "LLVM")
    content = _compiled(assembly.c(version, token), suffix)
    return None if content is None else Binary(folder, suffix, content, "the system's C compiler")


def _object(text: str) -> bytes:
    """The IR as an object file for any processor of this kind."""
    llvm = native.binding()
    module = llvm.parse_assembly(text)
    module.verify()
    module.triple = llvm.get_process_triple()
    target = llvm.Target.from_triple(module.triple).create_target_machine(
        cpu="x86-64", features="", opt=1, reloc="pic", codemodel="small"
    )
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.slp_vectorization = options.loop_vectorization = options.loop_unrolling = False
    options.inlining_threshold = 0
    builder = llvm.create_pass_builder(target, options)
    builder.getModulePassManager().run(module, builder)
    return bytes(target.emit_object(module))


def _compiled(text: str, suffix: str) -> bytes | None:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "fmu.c", Path(folder) / f"fmu.{suffix}"
        source.write_text(text, encoding="utf-8")
        flags = ["-std=c99", "-O2", "-ffp-contract=off", "-fPIC", "-shared"]
        done = subprocess.run([compiler, *flags, str(source), "-o", str(made), "-lm"], capture_output=True)
        return made.read_bytes() if done.returncode == 0 else None
