
// Figures that answer: one cursor through all curves over time, values under the pointer, zoom, hiding, downloads.
function figures() {
  const svgs = [...document.querySelectorAll("figure svg")], canvas = document.getElementById("mechanism");
  const panels = [...document.querySelectorAll("g.panel[data-time]")];
  if (!svgs.length) return;
  const numbers = (text) => text.split(" ").map(Number);
  const label = document.createElement("div");
  label.className = "hover";
  label.hidden = true;
  document.body.append(label);

  // ── what is drawn, as numbers ──

  function scales(panel) {
    const [x0, x1, left, right] = numbers(panel.dataset.across), [y0, y1, bottom, top] = numbers(panel.dataset.up);
    const log = panel.dataset.log === "1", from = log ? Math.log10(y0) : y0, to = log ? Math.log10(y1) : y1;
    return {
      x0, x1, left, right, top, bottom,
      time: (x) => x0 + (x - left) / (right - left) * (x1 - x0),
      place: (t) => left + (t - x0) / (x1 - x0) * (right - left),
      value: (y) => { const at = from + (y - bottom) / (top - bottom) * (to - from); return log ? Math.pow(10, at) : at; },
    };
  }

  function curves(panel) {
    return [...panel.querySelectorAll("g[clip-path] > path[fill=none]")].filter((path) => (path.getAttribute("d").match(/[ML]/g) || []).length > 2);
  }

  function points(path) {
    return path.getAttribute("d").split(/(?=[ML])/).map((part) => { const [x, y] = numbers(part.slice(1)); return [part[0], x, y]; });
  }

  // The value of a curve at a place, read off the drawing; null in a gap.
  function at(path, x) {
    const found = points(path);
    for (let k = 1; k < found.length; k += 1) {
      const [pen, a, y] = found[k], [, before, from] = found[k - 1];
      if (pen === "L" && before <= x && x <= a) return a > before ? from + (x - before) / (a - before) * (y - from) : y;
    }
    return null;
  }

  function written(value) {
    const size = Math.abs(value);
    if (value !== 0 && (size < 1e-3 || size >= 1e5)) {
      const [mantissa, power] = value.toExponential(2).split("e");
      return mantissa.replace("-", "\u2212") + " \u00d7 10" + [...String(Number(power))].map((sign) => sign === "-" ? "\u207b" : "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"[sign]).join("");
    }
    return String(Number(value.toPrecision(3))).replace("-", "\u2212");
  }

  // ── the cursor ──

  function made(name, parent, attributes) {
    const part = document.createElementNS(parent.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) part.setAttribute(key, value);
    parent.append(part);
    return part;
  }

  const lines = new Map(panels.map((panel) => [panel, made("path", panel, { class: "s-quiet cursor", "stroke-width": "1", fill: "none", d: "" })]));

  function cursor(time) {
    for (const [panel, line] of lines) {
      const s = scales(panel), x = s.place(time);
      line.setAttribute("d", x >= s.left && x <= s.right ? "M" + x.toFixed(1) + " " + s.top + "V" + s.bottom : "");
    }
  }

  if (canvas) canvas.addEventListener("moved", (event) => cursor(event.detail));

  function where(svg, event) {
    const place = svg.createSVGPoint();
    place.x = event.clientX;
    place.y = event.clientY;
    return place.matrixTransform(svg.getScreenCTM().inverse());
  }

  function under(svg, place) {
    return [...svg.querySelectorAll("g.panel[data-time]")].find((panel) => {
      const s = scales(panel);
      return place.x >= s.left && place.x <= s.right && place.y >= s.top && place.y <= s.bottom;
    });
  }

  function told(panel, x, event) {
    const s = scales(panel), rows = ["t = " + written(s.time(x))];
    for (const path of curves(panel)) {
      if (path.classList.contains("off") || !path.dataset.name) continue;
      const y = at(path, x);
      if (y !== null) rows.push((path.dataset.size ? "|" + path.dataset.name + "|" : path.dataset.name) + " \u2248 " + written(s.value(y)));
    }
    label.textContent = rows.join("\n");
    label.hidden = false;
    const wide = label.offsetWidth, left = event.pageX + 16 + wide > document.documentElement.clientWidth ? event.pageX - 16 - wide : event.pageX + 16;
    move(left, event.pageY + 12);
  }

  // Places are set by rules of a sheet made here: the content policy forbids style attributes written in the page.
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  function move(left, top) { sheet.replaceSync(".hover { left: " + Math.round(left) + "px; top: " + Math.round(top) + "px; }"); }

  // ── zoom: all axes of time together ──

  const whole = new Map(panels.map((panel) => [panel, numbers(panel.dataset.across).slice(0, 2)]));

  function zoom(x0, x1) {
    for (const panel of panels) {
      const s = scales(panel), [a, b] = x0 === null ? whole.get(panel) : [x0, x1];
      const place = (t) => s.left + (t - a) / (b - a) * (s.right - s.left);
      for (const path of curves(panel)) {
        path.setAttribute("d", points(path).map(([pen, x, y]) => pen + place(s.time(x)).toFixed(2) + " " + y).join(""));
      }
      panel.dataset.across = [a, b, s.left, s.right].join(" ");
      ticks(panel, a, b, place, s);
    }
    for (const figure of new Set(panels.map((panel) => panel.closest("figure")))) figure.classList.toggle("zoomed", x0 !== null);
  }

  function ticks(panel, a, b, place, s) {
    const rough = (b - a) / 6, power = Math.pow(10, Math.floor(Math.log10(rough)));
    const step = [1, 2, 5, 10].find((factor) => factor * power >= rough * (1 - 1e-9)) * power;
    const digits = Math.max(0, Math.min(12, -Math.floor(Math.log10(step) + 1e-9)));
    const group = panel.querySelector("g.across"), named = group.childElementCount > 0, grid = panel.querySelector("path.grid");
    const kept = (grid.getAttribute("d").match(/M[^MVH]*H[^M]*/g) || []);
    group.replaceChildren();
    for (let k = Math.ceil(a / step - 1e-9); k <= Math.floor(b / step + 1e-9); k += 1) {
      const x = place(k * step);
      kept.push("M" + x.toFixed(1) + " " + s.top + "V" + s.bottom);
      if (named) made("text", group, { x: x.toFixed(1), y: String(s.bottom + 16), class: "tick", "text-anchor": "middle" }).textContent = (k * step).toFixed(digits).replace("-", "\u2212");
    }
    grid.setAttribute("d", kept.join(""));
  }

  // ── hiding by the legend: all curves of the figure in that colour ──

  function toggled(entry) {
    const sample = entry.querySelector("path, circle"), figure = entry.closest("figure");
    const colour = [...sample.classList].find((name) => /^[sf]-/.test(name)).slice(2);
    const off = entry.classList.toggle("off");
    entry.setAttribute("aria-pressed", String(!off));
    for (const part of figure.querySelectorAll("g[clip-path] .s-" + colour + ", g[clip-path] .f-" + colour)) part.classList.toggle("off", off);
  }

  for (const entry of document.querySelectorAll("g.entry")) {
    const svg = entry.closest("svg");  // a picture with buttons in it is a group
    svg.setAttribute("role", "group");
    svg.setAttribute("aria-label", svg.querySelector("title").textContent);
    entry.setAttribute("role", "button");
    entry.setAttribute("tabindex", "0");
    entry.setAttribute("aria-pressed", "true");
    entry.addEventListener("click", () => toggled(entry));
    entry.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); toggled(entry); } });
  }

  // ── downloads ──

  function saved(name, parts, type) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(parts instanceof Blob ? parts : new Blob([parts], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 5000);
  }

  // The run's own numbers at rows spread over it, or those of the run that a slider made, in full.
  function numbersBehind() {
    if (window.movedRun) return window.movedRun;
    const { names, rows, values } = JSON.parse(document.getElementById("content").dataset.rows);
    const all = new Float64Array(Uint8Array.from(atob(values), (letter) => letter.charCodeAt(0)).buffer);
    const column = (name) => { const place = names.indexOf(name); return place < 0 ? null : all.subarray((place + 1) * rows, (place + 2) * rows); };
    return { times: [...all.subarray(0, rows)], column };
  }

  function csv(svg) {
    const known = numbersBehind(), names = [], drawn = [];
    for (const panel of svg.querySelectorAll("g.panel[data-time]")) {
      for (const path of curves(panel)) {
        if (known.column(path.dataset.name)) names.push(path.dataset.name);
        else drawn.push([panel, path]);
      }
    }
    const plain = (name) => name.replace(/[^\w .]/g, "_"), rows = [["t", ...names.map(plain)].join(",")];
    known.times.forEach((time, k) => rows.push([time, ...names.map((name) => known.column(name)[k])].map(String).join(",")));
    const told = names.length ? rows : [];
    if (drawn.length) told.push("# without numbers of their own, read off the drawing to about three digits:", "quantity,t,value");
    for (const [panel, path] of drawn) {
      const s = scales(panel), name = plain(path.dataset.name || "promised");
      for (const [, x, y] of points(path)) told.push(name + "," + s.time(x).toPrecision(6) + "," + s.value(y).toPrecision(4));
    }
    return told.join("\n") + "\n";
  }

  // The drawing with its colours written out, so that it stands by itself.
  function alone(svg) {
    const copy = svg.cloneNode(true), own = [...svg.querySelectorAll("*")], twins = [...copy.querySelectorAll("*")];
    own.forEach((part, k) => {
      const style = getComputedStyle(part), twin = twins[k];
      for (const key of ["fill", "stroke"]) if (style[key] && part.tagName !== "g") twin.setAttribute(key, style[key]);
      if (part.tagName === "text" || part.tagName === "tspan") { twin.setAttribute("font-size", style.fontSize); twin.setAttribute("font-family", "STIX Two Text, Georgia, serif"); }
      if (part.classList.contains("off") || part.classList.contains("cursor")) twin.setAttribute("display", "none");
      twin.removeAttribute("class");
    });
    return new XMLSerializer().serializeToString(copy);
  }

  // Painted by hand: an image of the drawing would need a wider content policy.
  function png(svg, name) {
    const box = svg.viewBox.baseVal, factor = 3, sheet = document.createElement("canvas"), pen = sheet.getContext("2d");
    sheet.width = box.width * factor;
    sheet.height = box.height * factor;
    pen.fillStyle = getComputedStyle(document.body).backgroundColor;
    pen.fillRect(0, 0, sheet.width, sheet.height);
    for (const part of svg.querySelectorAll("path, rect, circle, text")) {
      if (part.closest("clipPath, .off, .cursor")) continue;
      pen.save();
      pen.scale(factor, factor);
      const group = part.closest("g[clip-path]"), area = group && group.parentNode.querySelector("clipPath rect");
      if (area) { const [x, y, w, h] = ["x", "y", "width", "height"].map((key) => Number(area.getAttribute(key))); pen.beginPath(); pen.rect(x, y, w, h); pen.clip(); }
      if (part.tagName === "text") letters(pen, part);
      else shape(pen, part);
      pen.restore();
    }
    sheet.toBlob((blob) => saved(name, blob), "image/png");
  }

  function shape(pen, part) {
    const style = getComputedStyle(part), get = (key) => Number(part.getAttribute(key));
    let outline = new Path2D(part.getAttribute("d") || "");
    if (part.tagName === "rect") outline.rect(get("x"), get("y"), get("width"), get("height"));
    if (part.tagName === "circle") outline.arc(get("cx"), get("cy"), get("r"), 0, 7);
    if (style.fill !== "none") { pen.globalAlpha = Number(style.fillOpacity); pen.fillStyle = style.fill; pen.fill(outline); }
    pen.globalAlpha = 1;
    if (style.stroke !== "none") {
      pen.strokeStyle = style.stroke;
      pen.lineWidth = parseFloat(style.strokeWidth);
      pen.setLineDash(style.strokeDasharray === "none" ? [] : style.strokeDasharray.split(/[ ,]+/).map(parseFloat));
      pen.stroke(outline);
    }
  }

  function letters(pen, part) {
    const turn = (part.getAttribute("transform") || "").match(/rotate\((\S+) (\S+) (\S+)\)/);
    if (turn) { pen.translate(Number(turn[2]), Number(turn[3])); pen.rotate(Number(turn[1]) * Math.PI / 180); pen.translate(-Number(turn[2]), -Number(turn[3])); }
    let index = 0;
    const walk = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      const style = getComputedStyle(walk.currentNode.parentElement);
      pen.font = style.fontSize + " " + style.fontFamily;
      pen.fillStyle = style.fill;
      const text = walk.currentNode.data;
      if (text.length) { const from = part.getStartPositionOfChar(index); pen.fillText(text, from.x, from.y); }
      index += text.length;
    }
  }

  document.body.csv = csv;

  function tool(word, title, act) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = word;
    button.title = title;
    button.addEventListener("click", act);
    return button;
  }

  for (const svg of svgs) {
    const figure = svg.closest("figure"), name = (figure.id || "figure").replace(/^figure-/, "");
    const tools = document.createElement("div");
    tools.className = "tools";
    if (svg.querySelector("g.panel[data-time]")) {
      tools.append(tool("All", "Show the whole run again", () => zoom(null, null)));
      tools.lastChild.className = "unzoom";
      tools.append(tool("CSV", "The curves as numbers", () => saved(name + ".csv", csv(svg), "text/csv")));
    }
    tools.append(tool("SVG", "This figure as SVG", () => saved(name + ".svg", alone(svg), "image/svg+xml")));
    tools.append(tool("PNG", "This figure as PNG", () => png(svg, name + ".png")));
    figure.append(tools);

    let from = null;
    const band = made("rect", svg, { class: "f-shade", "fill-opacity": "0.35", width: "0", height: "0" });
    svg.addEventListener("pointermove", (event) => {
      const place = where(svg, event), panel = under(svg, place);
      if (!panel) { label.hidden = true; return; }
      cursor(scales(panel).time(place.x));
      told(panel, place.x, event);
      if (from) {
        const s = scales(from.panel);
        for (const [key, value] of [["x", Math.min(from.x, place.x)], ["y", s.top], ["width", Math.abs(place.x - from.x)], ["height", s.bottom - s.top]]) band.setAttribute(key, String(value));
      }
    });
    svg.addEventListener("pointerleave", () => { label.hidden = true; from = null; band.setAttribute("width", "0"); });
    svg.addEventListener("pointerdown", (event) => { const place = where(svg, event), panel = under(svg, place); if (panel && event.pointerType !== "touch") { from = { x: place.x, panel }; event.preventDefault(); } });
    svg.addEventListener("pointerup", (event) => {
      const place = where(svg, event), start = from;
      from = null;
      band.setAttribute("width", "0");
      if (!start) return;
      const s = scales(start.panel), ends = [start.x, Math.max(s.left, Math.min(s.right, place.x))].sort((a, b) => a - b);
      if (ends[1] - ends[0] > 8) zoom(s.time(ends[0]), s.time(ends[1]));
      else if (canvas) canvas.seek(s.time(place.x));
    });
    svg.addEventListener("dblclick", () => zoom(null, null));
  }

  // Where the reader is, in the contents.
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.getAttribute("href").slice(1), link]));
  if (window.IntersectionObserver) {
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) links.get(entry.target.id)?.classList.toggle("here", entry.isIntersecting);
    }, { rootMargin: "-20% 0px -70% 0px" });
    for (const id of links.keys()) { const part = document.getElementById(id); if (part) seen.observe(part); }
  }
}

figures();
