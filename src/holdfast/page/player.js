
// The mechanism: points along the run as single floats, drawn to scale.
function floats(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

function player(canvas) {
  const about = JSON.parse(canvas.dataset.about);
  let times = floats(canvas.dataset.times), last = times.length - 1;
  const count = about.count, fixed = new Set(about.fixed);
  const pen = canvas.getContext("2d"), scrub = document.getElementById("scrub");
  const button = document.getElementById("play"), clock = document.getElementById("clock");
  const margin = 46;
  let space = canvas.dataset.space ? floats(canvas.dataset.space) : null;
  let frames = space ? new Float32Array(2 * count * times.length) : floats(canvas.dataset.frames), yaw = Math.PI / 6, pitch = 0.2928, turned = false;
  let box = about.box, scale, originX, originY;

  function fit() {
    const [left, bottom, right, top] = box;
    scale = Math.min((canvas.width - 2 * margin) / (right - left), (canvas.height - 2 * margin) / (top - bottom));
    originX = canvas.width / 2 - scale * (left + right) / 2;
    originY = canvas.height / 2 + scale * (bottom + top) / 2;
  }

  // Another motion of the same points, flat or in space; the picture shows all of it. `column` gives what bodies show.
  canvas.replace = (newTimes, places, column) => {
    times = newTimes;
    last = times.length - 1;
    if (space) {
      space = places;
      frames = new Float32Array(2 * count * times.length);
      project();
    } else frames = places;
    for (const body of about.bodies) shown(body, column);
    scaled();
    scrub.max = String(last);
    about.end = times[last];
    if (turned) box = ball();
    else box = [...about.box];
    for (let k = 0; k < frames.length && !turned; k += 2) {
      if (!Number.isFinite(frames[k] + frames[k + 1])) continue;
      box = [Math.min(box[0], frames[k]), Math.min(box[1], frames[k + 1]),
        Math.max(box[2], frames[k]), Math.max(box[3], frames[k + 1])];
    }
    fit();
    frame = Math.min(frame, last);
    draw();
  };

  // The turn of a wheel, the force of an arrow, along another motion: columns by name, or numbers that stay.
  function shown(body, column) {
    for (const [key, name] of Object.entries(body.columns || {})) {
      body[key] = (typeof name === "string" && column(name)) || new Float64Array(times.length).fill(Number(name) || 0);
    }
  }

  // Arrows share one scale: that of the stated run, unless another run's would not fit the picture.
  function scaled() {
    const arrows = about.bodies.filter((body) => body.kind === "arrow");
    let longest = 0;
    for (const body of arrows) for (let k = 0; k <= last; k += 1) longest = Math.max(longest, Math.hypot(body.x[k], body.y[k]) || 0);
    for (const body of arrows) {
      const unit = Math.max(longest, body.longest) || 1;
      for (const key of ["x", "y"]) body[key] = body[key].map((part) => part / unit);
    }
    canvas.dataset.arrows = JSON.stringify(arrows.map((body) => [body.x[last], body.y[last]]));
  }
  const across = (frame, k) => frames[2 * (frame * count + k)], up = (frame, k) => frames[2 * (frame * count + k) + 1];
  const x = (frame, k) => originX + scale * across(frame, k);
  const y = (frame, k) => originY - scale * up(frame, k);

  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

  // What is to the right, above and towards the one who looks.
  function view() {
    return [[-Math.sin(yaw), Math.cos(yaw), 0], [-Math.sin(pitch) * Math.cos(yaw), -Math.sin(pitch) * Math.sin(yaw), Math.cos(pitch)],
      [Math.cos(pitch) * Math.cos(yaw), Math.cos(pitch) * Math.sin(yaw), Math.sin(pitch)]];
  }

  function project() {
    const [right, above] = view();
    frames.fill(0);
    for (let k = 0; k < frames.length / 2; k += 1) {
      for (let i = 0; i < 3; i += 1) {
        frames[2 * k] += right[i] * space[3 * k + i];
        frames[2 * k + 1] += above[i] * space[3 * k + i];
      }
    }
  }

  // The ball that holds all points, as it is seen.
  function ball() {
    const low = [Infinity, Infinity, Infinity], high = low.map((far) => -far);
    for (let k = 0; k < space.length; k += 1) {
      if (Math.floor(k / 3) % count >= about.names.length) continue;  // carries a shape, and is no place of its own
      low[k % 3] = Math.min(low[k % 3], space[k]);
      high[k % 3] = Math.max(high[k % 3], space[k]);
    }
    const middle = low.map((far, i) => (far + high[i]) / 2), radius = Math.hypot(...low.map((far, i) => (high[i] - far) / 2)) || 1;
    const [right, above] = view(), a = dot(right, middle), b = dot(above, middle);
    return [a - radius, b - radius, a + radius, b + radius];
  }

  // The view from another side: the same points on another plane, in a circle that holds them from everywhere.
  function turn(byYaw, byPitch) {
    if (!space) return;
    yaw += byYaw;
    pitch = Math.max(-1.5, Math.min(1.5, pitch + byPitch));
    project();
    box = ball();
    turned = true;
    fit();
    draw();
  }

  function follow() {
    if (about.follow === null) return;
    originX = canvas.width / 2 - scale * across(frame, about.follow);
    originY = canvas.height / 2 + scale * up(frame, about.follow);
  }
  const length = about.end - about.begin;
  const pace = length > 30 ? length / 30 : length > 3 ? 1 : length / 6;  // seconds of the run per second of watching
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  let frame = 0, playing = !calm, now = about.begin, before = null;

  function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

  function draw() {
    pen.clearRect(0, 0, canvas.width, canvas.height);
    follow();
    if (space) axes();
    pen.lineCap = pen.lineJoin = "round";
    about.traces.forEach((k, place) => {
      pen.strokeStyle = colour("--s" + place % 6);
      for (const [from, to, alpha, width] of [[0, last, 0.25, 2], [0, frame, 0.9, 2.5]]) {
        pen.globalAlpha = alpha;
        pen.lineWidth = width;
        pen.beginPath();
        for (let i = from; i <= to; i += 1) pen.lineTo(x(i, k), y(i, k));
        pen.stroke();
      }
    });
    pen.globalAlpha = 1;
    for (const body of about.bodies) bodies[body.kind](body);
    solids();
    pen.strokeStyle = pen.fillStyle = colour("--ink");
    pen.lineWidth = 5;
    for (const [a, b] of about.links) {
      pen.beginPath();
      pen.moveTo(x(frame, a), y(frame, a));
      pen.lineTo(x(frame, b), y(frame, b));
      pen.stroke();
    }
    for (let k = 0; k !== about.names.length; k += 1) {
      pen.fillStyle = colour(fixed.has(k) ? "--quiet" : "--ink");
      pen.beginPath();
      pen.arc(x(frame, k), y(frame, k), fixed.has(k) ? 8 : 10, 0, 7);
      pen.fill();
    }
    for (const body of about.bodies) if (body.kind === "arrow") arrow(body);
    names();
    canvas.dispatchEvent(new CustomEvent("moved", { detail: times[frame] }));
    scrub.value = String(frame);
    clock.textContent = "t = " + times[frame].toPrecision(4);
    canvas.dataset.frame = String(frame);
  }

  // Bodies, in the units of the points; lines are as thick as those of links.
  function path(points, closed, fill) {
    pen.beginPath();
    points.forEach(([a, b]) => pen.lineTo(a, b));
    if (closed) pen.closePath();
    if (fill) pen.fill();
    pen.stroke();
  }

  function ready(width) {
    pen.strokeStyle = colour("--ink");
    pen.fillStyle = colour("--faint");
    pen.lineWidth = width;
  }

  const bodies = {
    arrow() {},  // drawn above everything else
    mesh() {},  // all of them together, the farthest face first
    circle(body) { round(body, false); },
    wheel(body) {
      round(body, true);
      const turn = body.angle[frame], r = scale * body.radius, a = x(frame, body.at), b = y(frame, body.at);
      for (let k = 0; k < 3; k += 1) {
        const at = turn + k * Math.PI / 3;
        path([[a - r * Math.cos(at), b + r * Math.sin(at)], [a + r * Math.cos(at), b - r * Math.sin(at)]]);
      }
    },
    box(body) {
      ready(3);
      const w = scale * body.width / 2, h = scale * body.height / 2, a = x(frame, body.at), b = y(frame, body.at);
      path([[a - w, b - h], [a + w, b - h], [a + w, b + h], [a - w, b + h]], true, true);
    },
    ground(body) {
      ready(2);
      pen.strokeStyle = colour("--quiet");
      const level = originY - scale * body.y;
      path([[0, level], [canvas.width, level]]);
      const first = ((originX % 24) + 24) % 24 - 24;  // the hatching stands still while the camera moves
      for (let a = first; a < canvas.width + 24; a += 24) path([[a, level], [a - 12, level + 12]]);
    },
    spring(body) { along(body, zigzag); },
    damper(body) { along(body, dashpot); },
  };

  // Shapes of bodies: their corners go with three or four points, and so they do from every side.
  function solids() {
    const found = [], size = Math.max(box[2] - box[0], box[3] - box[1]);
    for (const body of about.bodies) {
      if (body.kind !== "mesh") continue;
      const o = body.frame[0], tips = body.frame.slice(1);
      const at = (v) => {
        const place = [across(frame, o), up(frame, o), depth(o)];
        tips.forEach((k, i) => {
          place[0] += v[i] * (across(frame, k) - across(frame, o));
          place[1] += v[i] * (up(frame, k) - up(frame, o));
          place[2] += v[i] * (depth(k) - depth(o));
        });
        return [originX + scale * place[0], originY - scale * place[1], place[2]];
      };
      const corners = body.corners.map(at);
      const middle = (face) => face.reduce((sum, k) => sum + corners[k][2], 0) / face.length;
      const sides = body.smooth || 0, line = (far, ...ends) => found.push({ far: far + 1e-6 * size, stroke: ends.map((c) => corners[c]) });
      const seen = body.faces.map((face) => !space || facing(face.map((c) => corners[c])) > 0);
      body.faces.forEach((face, k) => seen[k] && found.push({ far: middle(face), face: face.map((c) => corners[c]), smooth: sides && k > 1 }));
      for (let k = 0; k < sides; k += 1) {  // the edges of what is round: its ends, and where it turns away
        const next = (k + 1) % sides, before = (k + sides - 1) % sides;
        if (seen[2 + k]) {
          const far = middle(body.faces[2 + k]);
          line(far, k, next);
          line(far, sides + k, sides + next);
          if (!seen[2 + before]) line(far, k, sides + k);
          if (!seen[2 + next]) line(far, next, sides + next);
        }
      }
      if (body.ball) found.push({ far: at(body.ball)[2], ball: at(body.ball), radius: scale * body.ball[3] });
      for (const stroke of body.strokes) line(middle(stroke), ...stroke);
    }
    found.sort((a, b) => a.far - b.far);
    for (const piece of found) solid(piece);
  }

  function solid(piece) {
    ready(2);
    if (piece.ball) {
      pen.beginPath();
      pen.arc(piece.ball[0], piece.ball[1], piece.radius, 0, 7);
      pen.fill();
      pen.stroke();
    } else if (piece.stroke) path(piece.stroke);
    else {
      if (piece.smooth) pen.strokeStyle = pen.fillStyle;
      path(piece.face, true, true);
    }
  }

  // Twice the area of a face as it is seen, positive where its outside is seen.
  function facing(face) {
    let area = 0;
    face.forEach(([a, b], k) => {
      const [c, d] = face[(k + 1) % face.length];
      area -= a * d - b * c;
    });
    return area;
  }

  function depth(k) {
    if (!space) return 0;
    const p = 3 * (frame * count + k);
    return dot(view()[2], [space[p], space[p + 1], space[p + 2]]);
  }

  function round(body, filled) {
    ready(3);
    pen.beginPath();
    pen.arc(x(frame, body.at), y(frame, body.at), scale * body.radius, 0, 7);
    if (filled) pen.fill();
    pen.stroke();
  }

  // Drawn from (0, 0) to (length, 0), then turned into its place.
  function along(body, drawing) {
    const [from, to] = body.ends, a = x(frame, from), b = y(frame, from);
    const length = Math.hypot(x(frame, to) - a, y(frame, to) - b), angle = Math.atan2(y(frame, to) - b, x(frame, to) - a);
    pen.save();
    ready(3);
    pen.translate(a, b);
    pen.rotate(angle);
    drawing(length);
    pen.restore();
  }

  function zigzag(length) {
    const points = [[0, 0], [0.1 * length, 0]];
    for (let k = 0; k < 12; k += 1) points.push([length * (0.1 + 0.8 * (k + 0.5) / 12), k % 2 ? 12 : -12]);
    path([...points, [0.9 * length, 0], [length, 0]]);
  }

  function dashpot(length) {
    const cup = 0.35 * length, end = 0.7 * length;
    path([[0, 0], [cup, 0]]);
    path([[end, -12], [cup, -12], [cup, 12], [end, 12]]);
    path([[0.55 * length, -9], [0.55 * length, 9]]);
    path([[0.55 * length, 0], [length, 0]]);
  }

  function arrow(body) {
    const unit = 0.25 * Math.max(canvas.width, canvas.height), a = x(frame, body.at), b = y(frame, body.at);
    const dx = unit * body.x[frame], dy = -unit * body.y[frame], length = Math.hypot(dx, dy);
    if (length < 3) return;
    pen.strokeStyle = pen.fillStyle = colour("--s1");
    pen.lineWidth = 4;
    path([[a, b], [a + dx, b + dy]]);
    const ux = dx / length, uy = dy / length, head = Math.min(16, length);
    path([[a + dx, b + dy], [a + dx - head * (ux + 0.45 * uy), b + dy - head * (uy - 0.45 * ux)],
      [a + dx - head * (ux - 0.45 * uy), b + dy - head * (uy + 0.45 * ux)]], true, true);
  }

  // Which way x, y and z point.
  function axes() {
    const views = [[-Math.sin(yaw), Math.sin(pitch) * Math.cos(yaw)], [Math.cos(yaw), Math.sin(pitch) * Math.sin(yaw)], [0, -Math.cos(pitch)]];
    pen.font = 'italic 22px "Holdfast Text", Georgia, serif';
    pen.textBaseline = "middle";
    pen.strokeStyle = pen.fillStyle = colour("--quiet");
    pen.lineWidth = 2;
    views.forEach(([dx, dy], k) => {
      path([[70, canvas.height - 60], [70 + 40 * dx, canvas.height - 60 + 40 * dy]]);
      pen.fillText("xyz"[k], 66 + 56 * dx, canvas.height - 60 + 56 * dy);
    });
  }

  // Names beside the points, left out where they would cover each other.
  function names() {
    pen.font = '600 24px "Holdfast Text", Georgia, serif';
    pen.textBaseline = "middle";
    pen.fillStyle = colour("--quiet");
    const taken = [];
    for (let k = 0; k !== about.names.length; k += 1) {
      const wide = pen.measureText(about.names[k]).width;
      const [half, high] = extent(k);  // beside the body that stands there
      const beside = x(frame, k) + half + 18 + wide > canvas.width - 4 ? x(frame, k) - half - 18 - wide : x(frame, k) + half + 18;
      const above = Math.max(16, y(frame, k) - Math.max(20, high - 10));
      if (taken.some(([a, b, w]) => Math.abs(above - b) < 24 && !(beside > a + w || a > beside + wide))) continue;
      taken.push([beside, above, wide]);
      pen.fillText(about.names[k], beside, above);
    }
  }

  // How far the box, wheel or disc at a point reaches; a circle that is larger than a quarter of the picture is no body.
  function extent(k) {
    let found = [0, 0];
    for (const body of about.bodies) {
      if (body.at !== k || body.kind === "arrow") continue;
      const w = scale * (body.width ? body.width / 2 : body.radius), h = scale * (body.height ? body.height / 2 : body.radius);
      if (w < canvas.width / 8) found = [Math.max(found[0], w), Math.max(found[1], h)];
    }
    return found;
  }

  function show(wanted) {
    frame = Math.max(0, Math.min(last, wanted));
    now = times[frame];
    draw();
  }

  function play(on) {
    playing = on;
    before = null;
    button.textContent = on ? "Pause" : "Play";
    if (on) requestAnimationFrame(tick);
  }

  function tick(at) {
    if (!playing) return;
    if (before !== null) now += pace * Math.min(0.25, (at - before) / 1000);
    before = at;
    if (now >= about.end) now = about.begin;
    let wanted = now < times[frame] ? 0 : frame;
    while (wanted < last && times[wanted + 1] <= now) wanted += 1;
    if (wanted !== frame) {
      frame = wanted;
      draw();
    }
    requestAnimationFrame(tick);
  }

  button.addEventListener("click", () => play(!playing));
  scrub.addEventListener("input", () => { play(false); show(Number(scrub.value)); });
  canvas.tabIndex = 0;
  canvas.addEventListener("keydown", (event) => {
    const leap = { ArrowRight: 1, ArrowLeft: -1, PageUp: 30, PageDown: -30, Home: -last, End: last }[event.key];
    const look = event.shiftKey && space && { ArrowRight: [0.1, 0], ArrowLeft: [-0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] }[event.key];
    if (look) turn(...look);
    else if (event.key === " ") play(!playing);
    else if (leap) { play(false); show(frame + leap); }
    else return;
    event.preventDefault();
  });
  let held = null;
  canvas.addEventListener("pointerdown", (event) => { held = space ? [event.clientX, event.clientY] : null; });
  addEventListener("pointerup", () => { held = null; });
  canvas.addEventListener("pointermove", (event) => {
    if (!held) return;
    turn((held[0] - event.clientX) / 150, (event.clientY - held[1]) / 150);
    held = [event.clientX, event.clientY];
  });
  canvas.seek = (time) => {
    let wanted = 0;
    while (wanted < last && times[wanted + 1] <= time) wanted += 1;
    play(false);
    show(wanted);
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  document.fonts.ready.then(() => draw());
  if (space) project();
  fit();
  draw();
  play(playing);
}

const mechanism = document.getElementById("mechanism");
if (mechanism) player(mechanism);
