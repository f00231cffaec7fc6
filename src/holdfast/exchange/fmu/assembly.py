"""The code of an FMU: bodies, drivers and core, as LLVM IR and as one file of C."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from holdfast.engine.drivers import fixed
from holdfast.engine.emit import c
from holdfast.engine.emit.body import CodeBody
from holdfast.engine.emit.c_real import PRECISIONS
from holdfast.engine.emit.code_piece import BODY_SIGNATURE
from holdfast.engine.emit.llvm import scratch_size, write_body, write_elementary
from holdfast.engine.emit.llvm_writer import LLVMWriter
from holdfast.engine.emit.target import Signature, Target
from holdfast.engine.emit.translate import source_of, translate
from holdfast.exchange.c.source import PREAMBLE, helpers
from holdfast.exchange.c.writer import ExportWriter
from holdfast.exchange.fmu import core, glue_c, glue_llvm
from holdfast.exchange.model import Model

CORE = (
    core.fmu_refresh,
    core.fmu_reset,
    core.fmu_time,
    core.fmu_begin,
    core.fmu_put_states,
    core.fmu_states,
    core.fmu_rates,
    core.fmu_nominals,
    core.fmu_advance,
)
EXPORTED = """#if defined(_WIN32)
#define HF_EXPORT __declspec(dllexport)
#else
#define HF_EXPORT
#endif
"""


@dataclass(frozen=True, eq=False)
class FmuAssembly:
    """What an FMU computes, and where it keeps what."""

    model: Model
    step: float

    @cached_property
    def bodies(self) -> dict[str, CodeBody]:
        found = {name: body for name, body in self.model.assembly.bodies.items() if body.outputs}
        return {**found, "observe": self.model.observing}

    @cached_property
    def places(self) -> dict[str, int]:
        """Constants of the core: sizes, and where each part of an instance begins."""
        model, field = self.model, self.model.field
        n, width = len(field.state), len(field.state) + len(field.watched)
        scratch = max(map(scratch_size, self.bodies.values()))
        found = {"N": n, "PARAMETERS": len(field.parameters), "PIVOTS": len(field.pivots), "WIDTH": width}
        lengths = {
            "X": n, "P": len(field.parameters), "RATES": width, "OBSERVED": len(field.observables),
            "WATCH": len(field.pivots), "STALE": 1, "BEGUN": 1, "WORK": model.assembly.own_work + scratch,
            "SCRATCH": scratch,
        }  # fmt: skip
        at = 1
        for name, length in lengths.items():
            found[name] = at
            at += length
        return found | {"SIZE": at}

    @property
    def sizes(self) -> dict[str, int]:
        """What the interface must know of an instance."""
        at = self.places
        return {
            "states": at["N"], "variables": at["WATCH"], "settable": at["N"] + at["PARAMETERS"], "stale": at["STALE"],
            "size": at["SIZE"], "bytes": 8 * at["SIZE"],
        }  # fmt: skip

    def references(self) -> dict[str, int]:
        """Value references of all variables by name; of derivatives, der(NAME)."""
        model, at = self.model, self.places
        found: dict[str, int] = {}
        for names, start in ((model.states, "X"), (model.parameters, "P"), (model.observables, "OBSERVED")):
            found |= {name: at[start] + k for k, name in enumerate(names)}
        return found | {f"der({name})": at["RATES"] + k for k, name in enumerate(model.states)}

    def _translate(self, target: Target, known: dict[str, Signature]) -> None:
        """Drivers and core, to a target that has the bodies already."""
        constants = dict(self.model.assembly.constants) | self.places | {"STEP": self.step, "ALMOST": core.ALMOST}
        step = next(text for text in self.model.assembly.sources if text.startswith("def take_step("))
        for text in (source_of(fixed.judged), step, self._defaults(), *(source_of(function) for function in CORE)):
            translate(text, target, constants, known)

    def _defaults(self) -> str:
        lines = ["def fmu_defaults(m: Reals) -> None:", f"    m[0] = {self.model.begin!r}"]
        for start, values in (("X", self.model.start), ("P", self.model.values)):
            lines += [f"    m[{start} + {k}] = {value!r}" for k, value in enumerate(values)]
        return "\n".join(lines) + "\n"

    def llvm(self, version: int, token: str) -> str:
        """The module, for a binary; no product is fused, so that it computes the same on every processor."""
        writer, known = LLVMWriter(1, fused=False), dict[str, Signature]()
        write_elementary(writer, self.bodies.values(), known)
        for name, body in self.bodies.items():
            write_body(writer, name, body, fused=False)
            known[name] = BODY_SIGNATURE
        self._translate(writer, known)
        return writer.module + "\n" + "\n".join(glue_llvm.glue(version, token, self.sizes)) + "\n"

    def c(self, version: int, token: str) -> str:
        """One file of C, for the sources."""
        writer, known = ExportWriter(PRECISIONS["double"]), dict[str, Signature]()
        writer.elementary(self.bodies.values(), known)
        for name, body in self.bodies.items():
            c.write_body(writer, name, body)
            known[name] = BODY_SIGNATURE
        self._translate(writer, known)
        own, sizes = "\n".join(writer.functions), self.sizes
        sized = {"HF_STATES": "states", "HF_VARIABLES": "variables", "HF_SETTABLE": "settable", "HF_STALE": "stale"}
        defined = "".join(f"#define {name} {sizes[key]}u\n" for name, key in (sized | {"HF_SIZE": "size"}).items())
        head = (
            f'#include <stdlib.h>\n{PREAMBLE}\n{EXPORTED}{defined}#define HF_TOKEN "{token}"\n\ntypedef double real;\n'
        )
        return f"{head}\n{helpers(own, PRECISIONS['double'])}\n{own}\n" + "\n".join(glue_c.glue(version)) + "\n"
