"""The text of a kernel for graphics cards: a thread takes one case through all its steps.

    fixed       the loop of `drivers.fixed`, in which stages that need only the one before go round in a loop
                (Euler, midpoint, Heun, RK4, ...), so that the body stands there twice and few numbers are held at once
    adaptive    the loop of `drivers.adaptive`, rows at wanted times by the scheme's interpolant

Sums are taken in the order of the drivers and nothing is fused but what bodies say, so that in double a case gives, but
for functions that are asked of the system's library, the bits that it gives on the processor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from holdfast.engine.code.kernel_source import KernelSource
from holdfast.engine.cuda.accumulators import Accumulator
from holdfast.engine.cuda.text import ADAPTIVE, BEGIN, CHAINED, END, FIXED, JOB, PREAMBLE, WATCH, WATCHED, WHOLE
from holdfast.engine.cuda.writer import CudaWriter
from holdfast.engine.drivers.fixed import LEAST_PIVOT
from holdfast.engine.emit import c
from holdfast.engine.emit.body import lowered
from holdfast.engine.emit.c_real import Precision
from holdfast.engine.emit.code_piece import BODY_SIGNATURE
from holdfast.engine.emit.order.few_held import in_few_registers
from holdfast.engine.emit.target import Signature
from holdfast.engine.emit.translate import translate
from holdfast.errors import BadRequest
from holdfast.graph.field import Field
from holdfast.graph.nodes import Node
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.schemes.kinds.scheme import Scheme

THREADS = 128  # of a block


@dataclass(frozen=True, eq=False)
class CudaSource:
    """What a card is to run: the kernel of a field and a scheme, which parameters vary by case, what is summed up.

    What is summed up are nodes of `field`, which is equal to the one that the code was made of, maybe on another graph.
    """

    assembly: KernelSource
    scheme: Scheme
    precision: Precision
    varying: tuple[bool, ...]
    field: Field
    sums: tuple[tuple[Accumulator, Node], ...] = ()

    def __post_init__(self) -> None:
        require_runnable(self.scheme, self.precision.type)

    @property
    def name(self) -> str:
        """The function to launch."""
        return "hf_adaptive" if self.scheme.adaptive else "hf_fixed"

    @property
    def text(self) -> str:
        writer, known = CudaWriter(self.precision), dict[str, Signature]()
        field = self.field
        bodies = {name: body for name, body in self.assembly.bodies.items() if body.outputs}
        if self.sums:
            nodes = dict(enumerate(node for _, node in self.sums))
            bodies["summed"] = lowered(nodes, field.time, field.state, field.parameters)
        writer.elementary(bodies.values(), known)
        for name, body in bodies.items():
            c.write_body(writer, name, in_few_registers(body))
            known[name] = BODY_SIGNATURE
        constants = dict(self.assembly.constants) | {"LEAST_PIVOT": LEAST_PIVOT * self.precision.coarser}
        for source in self._drivers:
            translate(source, writer, constants, known)
        head = f"typedef {self.precision.type} real;\n{PREAMBLE}\n"
        return head + "\n".join(writer.functions) + "\n" + self._kernel(writer)

    @property
    def _drivers(self) -> list[str]:
        """The functions of the driver language that the loops below call."""
        wanted = ["judged"]
        if self.scheme.adaptive:
            wanted += ["take_step", "first_step", "error_norm", "interpolant", "attempt", "next_step", "shorter_step"]
        elif _chain(self.scheme) is None:
            wanted.append("take_step")
        return [text for text in self.assembly.sources if text.split("(")[0].removeprefix("def ") in wanted]

    def _kernel(self, writer: CudaWriter) -> str:
        numbers = self._numbers
        numbers["load"] = "\n".join(self._loads)
        numbers["begin_sums"] = self._sums("begin", "job.t0")
        numbers["add_sums"] = self._sums("add", "later")
        numbers["fresh"] = "done == 0 && counts[0] + counts[1] == 0" if self.scheme.adaptive else "job.first == 0"
        numbers["now"] = "control[0]" if self.scheme.adaptive else "(real)(job.t0 + (double)job.first * job.h)"
        numbers["end"] = "control[0]" if self.scheme.adaptive else "(real)(job.t0 + (double)done * job.h)"
        numbers["watch"] = WATCH % numbers
        numbers["watched_text"] = WATCHED % numbers
        loop = ADAPTIVE if self.scheme.adaptive else FIXED
        numbers["name"] = self.name.removeprefix("hf_")
        if not self.scheme.adaptive:
            numbers["step"] = self._step(writer, numbers)
        return (JOB + BEGIN + loop + END) % numbers

    @property
    def _numbers(self) -> dict[str, object]:
        constants = self.assembly.constants
        n, width, pivots = (int(constants[name]) for name in ("N", "WIDTH", "PIVOTS"))
        return {
            "size": n,
            "n": max(1, n),
            "width": max(1, width),
            "watched": pivots,
            "pivots": max(1, pivots),
            "masks": max(1, -(-pivots // 64)),
            "parameters": max(1, len(self.varying)),
            "common": max(1, len(self.varying)),
            "sums": max(1, 4 * len(self.sums)),
            "threads": THREADS,
            "work": self.assembly.own_work + 1,
            "terms": int(constants.get("TERMS", 0)),
            "resolution": repr(float(constants.get("RESOLUTION", 0.0))),
            "not_converged": repr(float(constants["NOT_CONVERGED"])),
            "collapsed": int(constants.get("STEP_COLLAPSED", 0)),
        }

    @property
    def _loads(self) -> list[str]:
        """Parameters of the case from memory, those that all share from the launch itself."""
        count = sum(self.varying)
        lines, place = [], 0
        for k, differs in enumerate(self.varying):
            lines.append(f"    p[{k}] = " + (f"job.p[j * {count} + {place}];" if differs else f"job.common[{k}];"))
            place += differs
        return lines

    def _sums(self, what: str, time: str) -> str:
        """The values that are summed up, and each put where it belongs."""
        if not self.sums:
            return ""
        lines = ["        {", f"        real value[{len(self.sums)}];"]
        lines.append(f"        hf_summed((real){time}, x, p, value, 0);")
        if what == "add":
            lines.append("        const double before = job.t0 + (double)s * job.h, here = later;")
        for k, (accumulator, _) in enumerate(self.sums):
            text = accumulator.begin if what == "begin" else accumulator.add
            lines.append(f"        {{ double *const a = sums + {4 * k}; const double v = value[{k}]; {text} }}")
        return "\n".join([*lines, "        }"])

    def _step(self, writer: CudaWriter, numbers: dict[str, object]) -> str:
        chain = _chain(self.scheme)
        if chain is None:
            return WHOLE % numbers
        slopes, weights = chain
        numbers = numbers | {
            "first": writer.literal(float(weights[0])),
            "stages": len(weights),
            "slopes": _by_stage(slopes, writer),
            "weights": _by_stage(weights[1:], writer),
        }
        return CHAINED % numbers


def require_runnable(scheme: Scheme, precision: str) -> None:
    """Refuse what cards cannot run."""
    if not scheme.explicit:
        raise BadRequest(
            f"{scheme.name} is implicit, and cards run explicit schemes", where="device", fix='device="cpu"'
        )
    if scheme.adaptive and precision == "float":
        raise BadRequest(
            "steps that are chosen by their error are run in double on a card",
            where="precision",
            fix='precision="double", or a scheme with a fixed step',
        )


def _chain(scheme: Scheme) -> tuple[Sequence[Fraction], Sequence[Fraction]] | None:
    """a_21, a_32, ... and the weights of a scheme whose stages need only the one before; None for others."""
    if not isinstance(scheme, RungeKutta):
        return None
    if any(entry for i, row in enumerate(scheme.stages) for j, entry in enumerate(row) if entry and j != i - 1):
        return None
    return [scheme.stages[i][i - 1] for i in range(1, scheme.stage_count)], list(scheme.weights)


def _by_stage(numbers: Sequence[Fraction], writer: CudaWriter) -> str:
    """The number of a stage, counted from 1, as an expression."""
    text = writer.literal(float(numbers[-1])) if numbers else writer.literal(0.0)
    for place in range(len(numbers) - 2, -1, -1):
        text = f"stage == {place + 1} ? {writer.literal(float(numbers[place]))} : {text}"
    return text
