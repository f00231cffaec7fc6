
// The living part: sliders whose every move runs the equations again, in this page.
function living(section) {
  const data = JSON.parse(section.dataset.live), about = JSON.parse(section.dataset.sliders);
  const inputs = [...section.querySelectorAll("input[data-slider]")];
  const numbers = [...section.querySelectorAll("input[data-number]")];
  const said = document.getElementById("live-said");
  const [m, r] = data.rows, n = data.coordinates, size = data.states;
  const own = about.map((slider) => slider.value);
  let values = [...own], wanted = false;

  // ── numbers ──

  function solved(matrix, right) {  // Gauss with pivots; null where it is singular
    const order = right.length, a = matrix.map((row, i) => [...row, right[i]]);
    for (let k = 0; k < order; k += 1) {
      let best = k;
      for (let i = k + 1; i < order; i += 1) if (Math.abs(a[i][k]) > Math.abs(a[best][k])) best = i;
      if (!(Math.abs(a[best][k]) > 0)) return null;
      [a[k], a[best]] = [a[best], a[k]];
      for (let i = k + 1; i < order; i += 1) {
        const factor = a[i][k] / a[k][k];
        for (let j = k; j <= order; j += 1) a[i][j] -= factor * a[k][j];
      }
    }
    const x = new Array(order).fill(0);
    for (let i = order - 1; i >= 0; i -= 1) {
      let rest = a[i][order];
      for (let j = i + 1; j < order; j += 1) rest -= a[i][j] * x[j];
      x[i] = rest / a[i][i];
    }
    return x.every(Number.isFinite) ? x : null;
  }

  // The least change, by kinetic energy, of what is free that keeps the rows; null where there is none near.
  function kept(state, p, free, positions) {
    const rows = positions ? data.positions : data.rates, first = positions ? 0 : n;
    const moving = [...Array(n).keys()].filter((k) => free[first + k]);
    if (!rows.length) return state;
    const out = new Float64Array(m + r + n * n + m * n + r * n), x = Float64Array.from(state);
    const from = positions ? 0 : m, slopes = m + r + n * n + (positions ? 0 : m * n);
    let smallest = Infinity, best = state;
    for (let turn = 0; turn < 60; turn += 1) {
      hf_program(data.begin, x, p, out);
      const off = rows.map((k) => out[from + k]), worst = Math.max(...off.map(Math.abs));
      if (!Number.isFinite(worst)) break;
      const better = worst < smallest / 2;
      if (worst < smallest) { smallest = worst; best = Array.from(x); }
      if (worst === 0 || (!better && smallest < 1e-9) || !moving.length) break;
      const all = rows.map((k) => moving.map((j) => out[slopes + k * n + j]));
      const acting = all.map((row, i) => i).filter((i) => all[i].some((entry) => entry !== 0));  // others cannot be moved
      const slope = acting.map((i) => all[i]);
      const mass = moving.map((i) => moving.map((j) => out[m + r + i * n + j]));
      const response = slope.map((row) => solved(mass, row) || row);  // M^-1 J^T, by its columns
      const dual = solved(slope.map((row) => response.map((column) => dot(row, column))), acting.map((i) => off[i]));
      if (!dual) break;
      moving.forEach((j, at) => { x[first + j] -= dot(dual, response.map((column) => column[at])); });
    }
    return smallest < 1e-9 * Math.max(1, ...state.map(Math.abs)) ? best : null;
  }

  function dot(a, b) {
    let total = 0;
    for (let k = 0; k < a.length; k += 1) total += a[k] * b[k];
    return total;
  }

  function parameters() {
    const p = Float64Array.from(data.values);
    about.forEach((slider, k) => { if (slider.kind === "gain" || slider.kind === "parameter") p[slider.place] = values[k]; });
    return p;
  }

  // Stated values in terms of parameters, those that a slider moved, and what the program asks of the rest: sought from
  // 0, as the run itself was, and where nothing is found from there, from the start of the run.
  function start(p) {
    const stated = new Float64Array(size);
    hf_start(data.begin, stated, p, stated);
    const near = Array.from(stated, (value, k) => data.free[k] ? data.start[k] : value);
    return placed(Array.from(stated), p) || placed(near, p);
  }

  function placed(state, p) {
    about.forEach((slider, k) => { if (slider.kind === "start" && values[k] !== own[k]) state[slider.place] = values[k]; });
    for (const free of [data.free, data.free.map(() => true)]) {
      const there = kept(state, p, free, true), found = there && kept(there, p, free, false);
      if (found) return found;
      const out = new Float64Array(m + r + n * n + m * n + r * n);
      hf_program(data.begin, Float64Array.from(state), p, out);
      if (!(Math.max(...out.subarray(0, m + r).map(Math.abs)) < 1e-3)) return null;  // more than rounded decimals
    }
    return null;
  }

  function own_start() {
    const found = start(parameters()), scale = Math.max(...data.start.map(Math.abs), 1e-300);
    return found && found.every((value, k) => Math.abs(value - data.start[k]) <= 1e-9 * scale);
  }

  // ── what is drawn ──

  function redraw(run, p, h) {
    const shown = data.drawn.length + data.depth * data.points, rows = run.times.length;
    const column = (name) => {
      const place = data.drawn.indexOf(name);
      return place < 0 ? null : Float64Array.from(run.times, (_, k) => run.observables[k * shown + place]);
    };
    window.movedRun = document.body.classList.contains("changed") ? { times: [...run.times], column } : null;
    for (const panel of document.querySelectorAll("g.panel")) {
      const curves = [...panel.querySelectorAll("path[data-name]")].map((path) => [path, column(path.dataset.name)]);
      const known = curves.length > 0 && curves.every(([, found]) => found);
      if (known) plotted(panel, run.times, curves);
      panel.closest("figure").classList.toggle("redrawn", known);
    }
    if (mechanism) {
      const wide = data.depth * data.points, places = new Float32Array(rows * wide), first = data.drawn.length;
      for (let k = 0; k < rows; k += 1) {
        for (let i = 0; i < wide; i += 1) places[k * wide + i] = run.observables[k * shown + first + i];
      }
      mechanism.replace(Float32Array.from(run.times), places, column);
      mechanism.closest("figure").classList.add("redrawn");
    }
    movedRoots(data, p, h);
  }

  function plotted(panel, times, curves) {
    const log = panel.dataset.log === "1";
    const drawn = curves.map(([path, found]) => [path, path.dataset.size ? found.map(Math.abs) : found]);
    let low = Infinity, high = -Infinity;
    for (const [, found] of drawn) {
      for (const value of found) {
        if (!Number.isFinite(value) || (log && value <= 0)) continue;
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
    }
    if (low > high) [low, high] = log ? [1e-17, 1] : [0, 1];
    const [x0, x1, left, right] = panel.dataset.across.split(" ").map(Number);
    const [, , bottom, top] = panel.dataset.up.split(" ").map(Number);
    const ends = room(low, high, log);
    panel.dataset.up = [...ends, bottom, top].join(" ");
    const place = scale(...ends, bottom, top, log), across = scale(x0, x1, left, right, false);
    for (const [path, found] of drawn) path.setAttribute("d", line(times, found, across, place, log));
    ticks(panel, ends, place, across, [x0, x1], [left, right, bottom, top], log);
  }

  function room(low, high, log) {
    if (log) {
      if (high / low < 1.001) { low /= 2; high *= 2; }
      const beside = Math.pow(high / low, 0.05);
      return [low / beside, high * beside];
    }
    if (high - low <= 1e-12 * Math.max(Math.abs(low), Math.abs(high), 1e-300)) {
      const half = Math.abs(high) * 0.1 || 1;
      return [low - half, high + half];
    }
    return [low - 0.05 * (high - low), high + 0.05 * (high - low)];
  }

  function scale(low, high, from, to, log) {
    if (!log) return (value) => from + (value - low) / (high - low) * (to - from);
    const a = Math.log10(low), b = Math.log10(high);
    return (value) => from + (Math.log10(value) - a) / (b - a) * (to - from);
  }

  function line(times, found, across, place, log) {
    const stride = Math.max(1, Math.floor(times.length / 1200)), parts = [];
    let pen = "M";
    for (let k = 0; k < times.length; k += stride) {
      const value = found[k];
      if (!Number.isFinite(value) || (log && value <= 0)) { pen = "M"; continue; }
      parts.push(pen + across(times[k]).toFixed(1) + " " + Math.max(-9999, Math.min(9999, place(value))).toFixed(1));
      pen = "L";
    }
    return parts.join("");
  }

  function ticks(panel, [low, high], place, across, [x0, x1], [left, right, bottom, top], log) {
    const found = [];
    if (log) {
      const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
      const stride = Math.max(1, Math.ceil((last - first + 1) / 6));
      for (let k = first; k <= last; k += 1) if (k % stride === 0) found.push([Math.pow(10, k), ["10", k]]);
    } else {
      const step = nice((high - low) / Math.max(2, Math.min(6, Math.floor((bottom - top) / 30))));
      const digits = Math.max(0, Math.min(12, -Math.floor(Math.log10(step) + 1e-9)));
      const large = Math.max(Math.abs(low), Math.abs(high)) >= 1e4 || digits > 4;
      for (let k = Math.ceil(low / step - 1e-9); k <= Math.floor(high / step + 1e-9); k += 1) {
        found.push([k * step, [large ? (k * step).toExponential(1) : (k * step).toFixed(digits)]]);
      }
    }
    const group = panel.querySelector("g.up"), grid = [];
    group.replaceChildren();
    for (const [value, [text, power]] of found) {
      const y = place(value), label = document.createElementNS(group.namespaceURI, "text");
      label.setAttribute("x", String(left - 6));
      label.setAttribute("y", String(y + 4.3));
      label.setAttribute("class", "tick");
      label.setAttribute("text-anchor", "end");
      label.textContent = text.replace("-", "\u2212") + (power === undefined ? "" : raised(power));
      group.append(label);
      grid.push("M" + left + " " + y.toFixed(1) + "H" + right);
    }
    const wide = nice((x1 - x0) / Math.max(2, Math.min(7, Math.floor((right - left) / 52))));
    for (let k = Math.ceil(x0 / wide - 1e-9); k <= Math.floor(x1 / wide + 1e-9); k += 1) {
      grid.push("M" + across(k * wide).toFixed(1) + " " + top + "V" + bottom);
    }
    panel.querySelector("path.grid").setAttribute("d", grid.join(""));
  }

  function nice(rough) {
    const power = Math.pow(10, Math.floor(Math.log10(rough)));
    return [1, 2, 5, 10].find((factor) => factor * power >= rough * (1 - 1e-9)) * power;
  }

  function raised(power) {
    return [...String(power)].map((sign) => sign === "-" ? "\u207b" : "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"[sign]).join("");
  }


  // ── the loop ──

  function again() {
    wanted = false;
    const p = parameters(), step = about.findIndex((slider) => slider.kind === "step");
    const h = step < 0 ? data.step : values[step], steps = Math.max(1, Math.floor(data.step * data.steps / h + 1e-6));
    if (steps > data.most) {
      say("A step of " + h.toPrecision(4) + " would make " + steps.toPrecision(3) + " steps; more than " + data.most + " are not run here: the last run stays.");
      return;
    }
    const changed = values.some((value, k) => value !== own[k]);
    document.body.classList.toggle("changed", changed);
    const begun = changed ? start(p) : data.start;
    if (!begun) {
      say("No state near this start keeps the program: the last run stays.");
      return;
    }
    const every = stride(steps), from = performance.now();
    const run = hf_run(begun, p, { t0: data.begin, h, steps, every });
    section.dataset.milliseconds = (performance.now() - from).toFixed(3);
    section.dataset.last = JSON.stringify([...run.states.subarray(run.states.length - size)]);
    redraw(run, p, h);
    const ended = run.status === 0 ? "completed" : run.status === 1 ? "stopped: not finite" : "stopped: the equations are singular";
    say((changed ? "Not the run that was judged: " : "The run that was judged: ") + run.done + " steps of " + Number(h.toPrecision(4))
      + " to t = " + Number(run.times[run.times.length - 1].toPrecision(5)) + ", " + ended + off(run) + (changed ? ". Verdict and promises above are not this run's." : "."));
    share(changed);
  }

  // Rows are kept so that the last one is the end of the run, at most some 4000 of them where that can be.
  function stride(steps) {
    for (let every = Math.ceil(steps / 4000); every <= steps / 500; every += 1) if (steps % every === 0) return every;
    return Math.max(1, steps <= 20000 ? 1 : Math.ceil(steps / 4000));
  }

  // How large the deviation is at the end, in words; nothing where nothing is held.
  function off(run) {
    const place = data.drawn.indexOf("deviation_norm"), wide = data.drawn.length + data.depth * data.points;
    if (place < 0) return "";
    const norm = run.observables[(run.times.length - 1) * wide + place];
    return Number.isFinite(norm) ? ", \u2016z\u2016 = " + norm.toPrecision(3).replace("e-", " \u00d7 10^\u2212").replace("e+", " \u00d7 10^") + " there" : "";
  }

  function say(text) { said.textContent = text; }

  function share(changed) {
    const told = about.map((slider, k) => [k, values[k]]).filter(([k, value]) => value !== own[k]);
    const text = told.map(([k, value]) => k + "=" + value).join("&");
    try { history.replaceState(null, "", changed ? "#live&" + text : "#live"); } catch { /* not from this place */ }
  }

  function show(k) {
    const slider = about[k];
    inputs[k].value = String(slider.log ? Math.log10(values[k] / slider.low) / Math.log10(slider.high / slider.low) : (values[k] - slider.low) / (slider.high - slider.low));
    numbers[k].value = String(Number(values[k].toPrecision(6)));
  }

  function set(k, value) {
    if (!Number.isFinite(value) || (about[k].log && !(value > 0))) return;
    values[k] = value;
    if (!wanted) { wanted = true; requestAnimationFrame(again); }
  }

  inputs.forEach((input, k) => input.addEventListener("input", () => {
    const slider = about[k], part = Number(input.value);
    set(k, slider.log ? slider.low * Math.pow(slider.high / slider.low, part) : slider.low + part * (slider.high - slider.low));
    numbers[k].value = String(Number(values[k].toPrecision(6)));
  }));
  numbers.forEach((input, k) => input.addEventListener("change", () => { set(k, input.value.trim() === "" ? NaN : Number(input.value)); show(k); }));
  document.getElementById("live-reset").addEventListener("click", () => {
    values = [...own];
    about.forEach((_, k) => show(k));
    again();
  });
  document.getElementById("live-link").addEventListener("click", async (event) => {
    const done = await copied(location.href);
    event.target.textContent = done ? "copied" : "not allowed";
    setTimeout(() => { event.target.textContent = "Copy link"; }, 1500);
  });
  if (!own_start()) return;  // a page that does not find the start of its own run would show another one
  section.hidden = false;
  document.querySelector('nav a[href="#live"]')?.removeAttribute("hidden");
  if (location.hash.startsWith("#live&")) {
    for (const pair of location.hash.slice(6).split("&")) {
      const [k, value] = pair.split("=");
      if (/^[0-9]+$/.test(k) && about[Number(k)] && Number.isFinite(Number(value)) && (!about[k].log || Number(value) > 0)) values[Number(k)] = Number(value);
    }
    again();
  }
  about.forEach((_, k) => show(k));
}

const alive = document.getElementById("live");
if (alive) living(alive);
