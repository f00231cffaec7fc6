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
from holdfast.engine.cuda.order import in_few_registers
from holdfast.engine.cuda.writer import CudaWriter
from holdfast.engine.drivers.fixed import LEAST_PIVOT
from holdfast.engine.emit import c
from holdfast.engine.emit.body import lowered
from holdfast.engine.emit.c_real import Precision
from holdfast.engine.emit.code_piece import BODY_SIGNATURE
from holdfast.engine.emit.target import Signature
from holdfast.engine.emit.translate import translate
from holdfast.errors import BadRequest
from holdfast.graph.nodes import Node
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.schemes.kinds.scheme import Scheme

THREADS = 128  # of a block

PREAMBLE = """typedef long long int64_t;
typedef unsigned long long uint64_t;
#define new hf_new  // a word of C++, and an array of the drivers
#define INT64_C(n) n##LL
#define NAN hf_of_bits(0x7ff8000000000000LL)
#define INFINITY hf_of_bits(0x7ff0000000000000LL)
#define FUSED(a, b, c) fma(a, b, c)

__forceinline__ int64_t hf_bits(double a) { return __double_as_longlong(a); }
__forceinline__ double hf_of_bits(int64_t w) { return __longlong_as_double(w); }
__forceinline__ bool hf_below(real a) { return copysign((real)1, a) < 0; }
__forceinline__ real hf_smaller(real a, real b) { return a < b || a != a || (a == b && hf_below(a)) ? a : b; }
__forceinline__ real hf_larger(real a, real b) { return a > b || a != a || (a == b && !hf_below(a)) ? a : b; }
"""

JOB = """struct Job {
    int64_t cases, first, count, every, kept, attempts;
    double t0, h, end, relative, longest;
    real *x;
    const real *p;
    uint64_t *below;
    int *status;
    int64_t *done;
    real *rows, *margins;
    double *sums;
    const double *wanted, *absolutes;
    double *control;
    int64_t *counts;
    real common[%(common)d];
};
"""

BEGIN = """extern "C" __global__ void __launch_bounds__(%(threads)d) hf_%(name)s(const Job job)
{
    const int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= job.cases) return;
    real x[%(n)d], f[%(n)d], p[%(parameters)d];
    uint64_t below[%(masks)d];  // a bit for each pivot that was negative at the start
    double *const sums = job.sums + j * %(sums)d;
    int status = job.status[j];
    int64_t done = job.done[j];
    #pragma unroll
    for (int i = 0; i < %(size)d; i++) x[i] = job.x[j * %(size)d + i];
%(load)s
"""

WATCH = """        real watch[%(pivots)d];
        #pragma unroll
        for (int i = 0; i < %(watched)d; i++) watch[i] = below[i / 64] >> (i %% 64) & 1 ? -1 : 1;
"""

WATCHED = """    {
        real all[%(width)d];
        hf_rates(%(now)s, x, p, all, 0);
        #pragma unroll
        for (int i = 0; i < %(size)d; i++) f[i] = all[i];
        if (%(fresh)s) {
            #pragma unroll
            for (int i = 0; i < %(masks)d; i++) below[i] = 0;
            #pragma unroll
            for (int i = 0; i < %(watched)d; i++)
                below[i / 64] |= (uint64_t)(all[%(size)d + i] < 0) << (i %% 64);
            #pragma unroll
            for (int i = 0; i < %(masks)d; i++) job.below[j * %(masks)d + i] = below[i];
%(watch)s
            status = (int)hf_judged(x, all, watch);
%(begin_sums)s
        } else {
            #pragma unroll
            for (int i = 0; i < %(masks)d; i++) below[i] = job.below[j * %(masks)d + i];
        }
    }
"""

END = """    job.status[j] = status;
    job.done[j] = done;
    #pragma unroll
    for (int i = 0; i < %(size)d; i++) job.x[j * %(size)d + i] = x[i];
    if (%(watched)d) {
        real all[%(width)d];
%(watch)s
        hf_rates(%(end)s, x, p, all, 0);
        #pragma unroll
        for (int i = 0; i < %(watched)d; i++) {
            const real scale = all[%(size)d + %(watched)d + i];
            job.margins[j * %(watched)d + i] = all[%(size)d + i] * watch[i] / (scale < 0 ? -scale : scale);
        }
    }
}
"""

FIXED = """    const real h = (real)job.h;
%(watched_text)s
    real *row = job.rows + (j * job.kept + job.first / job.every) * %(size)d;
    if (job.first == 0) for (int i = 0; i < %(size)d; i++) row[i] = x[i];
    for (int64_t s = job.first; s < job.first + job.count && status == 0; s++) {
        const double later = job.t0 + (double)(s + 1) * job.h;
        const real t = (real)(job.t0 + (double)s * job.h);
        real next[%(n)d], after[%(width)d];
%(step)s
        hf_rates((real)later, next, p, after, 0);
%(watch)s
        status = (int)hf_judged(next, after, watch);
        if (status != 0) break;
        #pragma unroll
        for (int i = 0; i < %(size)d; i++) { x[i] = next[i]; f[i] = after[i]; }
        done = s + 1;
%(add_sums)s
        if (done %% job.every == 0) {
            row += %(size)d;
            #pragma unroll
            for (int i = 0; i < %(size)d; i++) row[i] = x[i];
        }
    }
"""

CHAINED = """        real k[%(n)d], sum[%(n)d];
        #pragma unroll
        for (int i = 0; i < %(size)d; i++) { k[i] = f[i]; sum[i] = %(first)s * f[i]; }
        #pragma unroll 1
        for (int stage = 1; stage < %(stages)d; stage++) {
            const real a = %(slopes)s, b = %(weights)s;
            real all[%(width)d];
            #pragma unroll
            for (int i = 0; i < %(size)d; i++) next[i] = x[i] + h * (a * k[i]);
            hf_rates(t + a * h, next, p, all, 0);
            #pragma unroll
            for (int i = 0; i < %(size)d; i++) { k[i] = all[i]; sum[i] = sum[i] + b * k[i]; }
        }
        #pragma unroll
        for (int i = 0; i < %(size)d; i++) next[i] = x[i] + h * sum[i];"""

WHOLE = """        real work[%(work)d];
        status = (int)hf_take_step(t, h, x, f, p, next, work);
        if (status != 0) break;"""

ADAPTIVE = """    double *const control = job.control + j * 9;
    int64_t *const counts = job.counts + j * 5;
    const double *const absolutes = job.absolutes + j * %(size)d;
%(watched_text)s
    if (done == 0 && counts[0] + counts[1] == 0) {
        real *const row = job.rows + j * job.kept * %(size)d;
        while (done < job.kept && job.wanted[done] <= control[0]) {
            for (int i = 0; i < %(size)d; i++) row[done * %(size)d + i] = x[i];
            done++;
        }
        if (status == 0 && control[1] > control[0]) control[2] = hf_first_step(control, x, f, p, absolutes);
    }
    for (int64_t tried = 0; tried < job.attempts && status == 0; tried++) {
        const double t = control[0], end = control[1];
        if (t >= end) break;
        double h = hf_smaller(control[2], control[7]);
        double later = t + h;
        if (t + 1.01 * h >= end) { h = end - t; later = end; }
        if (h <= %(resolution)s * fabs(t)) {
            status = control[5] == 0.0 || control[5] == %(not_converged)s ? %(collapsed)s : (int)control[5];
            break;
        }
        real next[%(n)d], after[%(width)d], work[%(work)d];
%(watch)s
        const double verdict =
            hf_attempt(t, later, h, x, f, p, watch, next, after, (double *)absolutes, control, counts, work);
        if (control[8] <= 1.0 && verdict == 0.0) {
            if (done < job.kept && job.wanted[done] <= later) {
                real terms[%(terms)d * %(n)d];
                hf_interpolant(t, h, x, f, p, next, after, terms, work);
                while (done < job.kept && job.wanted[done] <= later) {
                    const double theta = (job.wanted[done] - t) / (later - t);
                    real *const row = job.rows + (j * job.kept + done) * %(size)d;
                    for (int i = 0; i < %(size)d; i++) {
                        double value = 0.0;
                        for (int k = %(terms)d - 1; k >= 0; k--)
                            value = (value + terms[k * %(size)d + i]) * (k %% 2 == 0 ? theta : 1 - theta);
                        row[i] = x[i] + value;
                    }
                    done++;
                }
            }
            for (int i = 0; i < %(size)d; i++) { x[i] = next[i]; f[i] = after[i]; }
            control[0] = later;
            control[2] = hf_next_step(h, control, counts, work);
            control[5] = 0.0;
            counts[0]++;
            counts[3] = 0;
        } else {
            control[2] = hf_shorter_step(h, verdict, control, counts, work);
            control[5] = verdict;
            counts[1]++;
            counts[3] = 1;
        }
    }
"""

FIRST_STEP = """__forceinline__ double hf_extent(const real *values, const double *scale)
{
    double total = 0.0;
    for (int i = 0; i < %(size)d; i++) { const double part = values[i] / scale[i]; total = total + part * part; }
    return sqrt(total / %(size)d);
}

__forceinline__ double hf_first_step(const double *control, const real *x, const real *f, const real *p,
    const double *absolutes)
{
    const double duration = control[1] - control[0];
    double scale[%(n)d];
    real trial[%(n)d], rates[%(width)d];
    for (int i = 0; i < %(size)d; i++) scale[i] = absolutes[i] + control[3] * fabs(x[i]);
    const double extent = hf_extent(x, scale), slope = hf_extent(f, scale);
    double guess = hf_smaller(extent, slope) > 1e-5 ? 0.01 * extent / slope : 1e-6;
    guess = hf_smaller(guess, duration);
    for (int i = 0; i < %(size)d; i++) trial[i] = x[i] + guess * f[i];
    hf_rates(control[0] + guess, trial, p, rates, 0);
    for (int i = 0; i < %(size)d; i++) rates[i] = rates[i] - f[i];
    const double largest = hf_larger(slope, hf_extent(rates, scale) / guess);
    if (!(largest < INFINITY)) return guess * 1e-3;
    const double step = largest <= 1e-15 ? hf_larger(1e-6, guess * 1e-3) : pow(0.01 / largest, 1.0 / %(order)d);
    return hf_smaller(hf_smaller(100 * guess, step), duration);
}
"""


@dataclass(frozen=True, eq=False)
class CudaSource:
    """What a card is to run: the kernel of a field and a scheme, which parameters vary by case, what is summed up."""

    assembly: KernelSource
    scheme: Scheme
    precision: Precision
    varying: tuple[bool, ...]
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
        field = self.assembly.field
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
            wanted += ["take_step", "error_norm", "interpolant", "attempt", "next_step", "shorter_step"]
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
        first = FIRST_STEP % numbers if self.scheme.adaptive else ""
        return first + (JOB + BEGIN + loop + END) % numbers

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
            "order": self.scheme.order,
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
