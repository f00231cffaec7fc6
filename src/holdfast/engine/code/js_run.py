"""A whole run in JavaScript: the kernel's functions behind one, for pages and exports.

    run(start, parameters, {t0, h, steps, every}) gives {times, states, observables, status, done}

`states` and `observables` are Float64Arrays of one row after the other; a run that ends early has fewer rows, and
`status` says why, in the numbers of `Status`.
"""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.common.frozen import Frozen
from holdfast.engine.code.kernel_source import KernelSource
from holdfast.engine.emit.body import CodeBody
from holdfast.engine.emit.js import module_text

RUN = """function hf_run(start, parameters, how) {
  const {t0, h, steps, every} = how;
  const x = Float64Array.from(start), p = Float64Array.from(parameters), f = new Float64Array(%(width)d);
  const kept = Math.floor(steps / every), rows = new Float64Array(kept * %(n)d);
  const watch = new Float64Array(%(pivots)d), status = new Float64Array(1), done = new Float64Array(1);
  const work = new Float64Array(%(work)d);
  hf_rates(t0, x, p, f);
  for (let i = 0; i < %(pivots)d; i++) watch[i] = f[%(n)d + i] < 0 ? -1 : 1;
  status[0] = hf_judged(x, f, watch);
  if (status[0] === 0) hf_fixed(0, steps, every, t0, h, x, f, p, watch, work, status, done, rows, work);
  const count = 1 + Math.floor(done[0] / every);
  const times = new Float64Array(count), states = new Float64Array(count * %(n)d);
  states.set(start);
  states.set(rows.subarray(0, (count - 1) * %(n)d), %(n)d);
  const observables = new Float64Array(count * %(seen)d);
  for (let k = 0; k < count; k++) {
    times[k] = t0 + k * every * h;
    hf_observe(times[k], states.subarray(k * %(n)d, (k + 1) * %(n)d), p, observables.subarray(k * %(seen)d));
  }
  return {times, states, observables, status: status[0], done: done[0]};
}
"""


def run_text(assembly: KernelSource, observing: CodeBody, further: Mapping[str, CodeBody] = Frozen()) -> str:
    """All functions of an explicit scheme of fixed step without events, further bodies by name, and `hf_run`."""
    bodies = {**assembly.bodies, "observe": observing, **further}
    sources = [text for text in assembly.sources if not text.startswith(("def fixed_blocks(", "def rates_blocks("))]
    constants = assembly.constants
    numbers = {"n": constants["N"], "width": constants["WIDTH"], "pivots": constants["PIVOTS"]}
    numbers |= {"work": assembly.work + 1, "seen": len(observing.outputs)}
    return module_text(bodies, sources, constants) + "\n" + RUN % numbers
