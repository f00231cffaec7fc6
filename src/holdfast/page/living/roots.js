
// Roots of the law of a living page: all blocks anew, their marks moved, and axes that hold every one of them.
function movedRoots(data, p, h) {
  const count = data.blocks.reduce((total, order) => total + order * order, 0), out = new Float64Array(count);
  hf_law(data.begin, Float64Array.from(data.start), p, out);
  let from = 0;
  const roots = data.blocks.map((order) => {
    from += order * order;
    return eigenvalues(out.subarray(from - order * order, from), order);
  });
  for (const panel of document.querySelectorAll("g.panel")) {
    const marks = [...panel.querySelectorAll("circle[data-name]")].map((mark) => {
      const found = /^(step )?root ([0-9]+)$/.exec(mark.dataset.name);
      return found && roots[Number(found[2])] ? { mark, block: Number(found[2]), factor: found[1] ? h : 1 } : null;
    });
    if (!marks.length || marks.some((one) => !one)) continue;
    const seen = new Map();
    for (const one of marks) {
      const k = seen.get(one.block) || 0, all = roots[one.block];
      seen.set(one.block, k + 1);
      one.at = all[Math.min(k, all.length - 1)].map((part) => one.factor * part);
    }
    widened(panel, marks.map((one) => one.at));
    const s = plane(panel);
    for (const { mark, at } of marks) {
      mark.setAttribute("cx", s.x(at[0]).toFixed(1));
      mark.setAttribute("cy", s.y(at[1]).toFixed(1));
    }
    panel.closest("figure").classList.add("redrawn");
  }
}

// From values to places, and back, by the scales that the panel carries.
function plane(panel) {
  const [x0, x1, left, right] = panel.dataset.across.split(" ").map(Number);
  const [y0, y1, bottom, top] = panel.dataset.up.split(" ").map(Number);
  return {
    x0, x1, y0, y1, left, right, bottom, top,
    x: (value) => left + (value - x0) / (x1 - x0) * (right - left),
    y: (value) => bottom + (value - y0) / (y1 - y0) * (top - bottom),
    re: (place) => x0 + (place - left) / (right - left) * (x1 - x0),
    im: (place) => y0 + (place - bottom) / (top - bottom) * (y1 - y0),
  };
}

// Both axes larger by one factor, so that they hold all places; their own size again where that will do.
function widened(panel, places) {
  panel.dataset.own ||= panel.dataset.across + " " + panel.dataset.up;
  const [x0, x1, , , y0, y1] = panel.dataset.own.split(" ").map(Number), room = 1.1;
  let factor = 1;
  for (const [re, im] of places) factor = Math.max(factor, room * re / (re < 0 ? x0 : x1), room * im / (im < 0 ? y0 : y1));
  if (!Number.isFinite(factor)) return;
  const old = plane(panel);
  if (old.x0 === factor * x0) return;
  panel.dataset.across = [factor * x0, factor * x1, old.left, old.right].join(" ");
  panel.dataset.up = [factor * y0, factor * y1, old.bottom, old.top].join(" ");
  const now = plane(panel), x = (place) => now.x(old.re(Number(place))).toFixed(2), y = (place) => now.y(old.im(Number(place))).toFixed(2);
  for (const path of panel.querySelectorAll("g[clip-path] > path")) {
    const d = path.getAttribute("d");
    path.setAttribute("d", /[HV]/.test(d)
      ? d.replace(/^M(\S+) (\S+)V/, (_, a, b) => "M" + x(a) + " " + b + "V").replace(/^M(\S+) (\S+)H/, (_, a, b) => "M" + a + " " + y(b) + "H")
      : d.replace(/([ML])([^ MLZ]+) ([^ MLZ]+)/g, (_, pen, a, b) => pen + x(a) + " " + y(b)));
  }
  for (const span of panel.querySelectorAll("g[clip-path] > rect")) {
    const begin = Number(x(span.getAttribute("x")));
    span.setAttribute("x", String(begin));
    span.setAttribute("width", String(Math.max(0, now.right - begin)));
  }
  numbered(panel, now);
}

// Ticks on both axes.
function numbered(panel, s) {
  const grid = [], word = { class: "tick" };
  const ticks = (low, high, most, put) => {
    const rough = (high - low) / most, power = Math.pow(10, Math.floor(Math.log10(rough)));
    const step = [1, 2, 5, 10].find((factor) => factor * power >= rough * (1 - 1e-9)) * power;
    const digits = Math.max(0, Math.min(12, -Math.floor(Math.log10(step) + 1e-9)));
    for (let k = Math.ceil(low / step - 1e-9); k <= Math.floor(high / step + 1e-9); k += 1) {
      const value = k * step, large = Math.abs(high) >= 1e5 || digits > 4;
      put(value, (large && value !== 0 ? value.toExponential(0).replace("e+", "e") : value.toFixed(digits)).replace("-", "\u2212"));
    }
  };
  const written = (group, attributes, text) => {
    const label = document.createElementNS(group.namespaceURI, "text");
    for (const [key, value] of Object.entries({ ...word, ...attributes })) label.setAttribute(key, value);
    label.textContent = text;
    group.append(label);
  };
  const across = panel.querySelector("g.across"), up = panel.querySelector("g.up");
  across.replaceChildren();
  up.replaceChildren();
  ticks(s.x0, s.x1, Math.max(2, Math.min(7, Math.floor((s.right - s.left) / 52))), (value, text) => {
    grid.push("M" + s.x(value).toFixed(1) + " " + s.top + "V" + s.bottom);
    written(across, { x: s.x(value).toFixed(1), y: String(s.bottom + 16), "text-anchor": "middle" }, text);
  });
  ticks(s.y0, s.y1, Math.max(2, Math.min(6, Math.floor((s.bottom - s.top) / 30))), (value, text) => {
    grid.push("M" + s.left + " " + s.y(value).toFixed(1) + "H" + s.right);
    written(up, { x: String(s.left - 6), y: (s.y(value) + 4.3).toFixed(1), "text-anchor": "end" }, text);
  });
  panel.querySelector("path.grid").setAttribute("d", grid.join(""));
}

// Of a small matrix: its polynomial by Faddeev and Le Verrier, the roots of that by Durand and Kerner.
function eigenvalues(flat, order) {
  let largest = 0;
  for (const entry of flat) largest = Math.max(largest, Math.abs(entry));
  if (!Number.isFinite(largest)) return null;
  if (largest === 0) return Array.from({ length: order }, () => [0, 0]);
  const a = (i, j) => flat[i * order + j] / largest, c = [1];
  let b = Array.from({ length: order }, () => new Array(order).fill(0));
  for (let k = 1; k <= order; k += 1) {
    for (let i = 0; i < order; i += 1) b[i][i] += c[k - 1];
    const product = b.map((_, i) => b.map((__, j) => { let t = 0; for (let l = 0; l < order; l += 1) t += a(i, l) * b[l][j]; return t; }));
    let trace = 0;
    for (let i = 0; i < order; i += 1) trace += product[i][i];
    c.push(-trace / k);
    b = product;
  }
  let z = Array.from({ length: order }, (_, k) => [Math.cos(2 * k + 0.4), Math.sin(2 * k + 0.4)]);
  for (let turn = 0; turn < 400; turn += 1) {
    let moved = 0;
    z = z.map(([re, im], i) => {
      let [u, v] = [1, 0], [x, y] = [1, 0];
      for (let k = 1; k <= order; k += 1) [u, v] = [u * re - v * im + c[k], u * im + v * re];
      z.forEach(([p, q], j) => { if (j !== i) [x, y] = [x * (re - p) - y * (im - q), x * (im - q) + y * (re - p)]; });
      const below = x * x + y * y || 1e-300, dx = (u * x + v * y) / below, dy = (v * x - u * y) / below;
      moved = Math.max(moved, Math.hypot(dx, dy));
      return [re - dx, im - dy];
    });
    if (moved < 1e-15) break;
  }
  return z.map(([re, im]) => [largest * re, largest * im]).sort((p, q) => p[0] - q[0] || p[1] - q[1]);
}
