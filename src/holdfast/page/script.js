"use strict";

// Copy buttons: the text to copy is in the button itself.
for (const button of document.querySelectorAll("button.copy")) {
  button.addEventListener("click", async () => {
    const word = button.textContent;
    button.textContent = (await copied(button.dataset.copy)) ? "copied" : "not allowed";
    setTimeout(() => { button.textContent = word; }, 1500);
  });
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

// Print everything, also what is folded away.
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const part of folded) part.open = true;
});
addEventListener("afterprint", () => { for (const part of folded) part.open = false; });

// The mechanism: points along the run as single floats, drawn to scale.
function floats(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

function player(canvas) {
  const about = JSON.parse(canvas.dataset.about);
  let times = floats(canvas.dataset.times), frames = floats(canvas.dataset.frames), last = times.length - 1;
  const count = about.count, fixed = new Set(about.fixed);
  const pen = canvas.getContext("2d"), scrub = document.getElementById("scrub");
  const button = document.getElementById("play"), clock = document.getElementById("clock");
  const margin = 46;
  let box = about.box, scale, originX, originY;

  function fit() {
    const [left, bottom, right, top] = box;
    scale = Math.min((canvas.width - 2 * margin) / (right - left), (canvas.height - 2 * margin) / (top - bottom));
    originX = canvas.width / 2 - scale * (left + right) / 2;
    originY = canvas.height / 2 + scale * (bottom + top) / 2;
  }

  // Another motion of the same points; the picture shows all of it.
  canvas.replace = (newTimes, newFrames) => {
    times = newTimes;
    frames = newFrames;
    last = times.length - 1;
    scrub.max = String(last);
    about.end = times[last];
    box = [...about.box];
    for (let k = 0; k < frames.length; k += 2) {
      box = [Math.min(box[0], frames[k]), Math.min(box[1], frames[k + 1]),
        Math.max(box[2], frames[k]), Math.max(box[3], frames[k + 1])];
    }
    fit();
    frame = Math.min(frame, last);
    draw();
  };
  const x = (frame, k) => originX + scale * frames[2 * (frame * count + k)];
  const y = (frame, k) => originY - scale * frames[2 * (frame * count + k) + 1];
  const length = about.end - about.begin;
  const pace = length > 30 ? length / 30 : length > 3 ? 1 : length / 6;  // seconds of the run per second of watching
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  let frame = 0, playing = !calm, now = about.begin, before = null;

  function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

  function draw() {
    pen.clearRect(0, 0, canvas.width, canvas.height);
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
    pen.strokeStyle = pen.fillStyle = colour("--ink");
    pen.lineWidth = 5;
    for (const [a, b] of about.links) {
      pen.beginPath();
      pen.moveTo(x(frame, a), y(frame, a));
      pen.lineTo(x(frame, b), y(frame, b));
      pen.stroke();
    }
    for (let k = 0; k !== count; k += 1) {
      pen.fillStyle = colour(fixed.has(k) ? "--quiet" : "--ink");
      pen.beginPath();
      pen.arc(x(frame, k), y(frame, k), fixed.has(k) ? 8 : 10, 0, 7);
      pen.fill();
    }
    names();
    scrub.value = String(frame);
    clock.textContent = "t = " + times[frame].toPrecision(4);
    canvas.dataset.frame = String(frame);
  }

  // Names beside the points, left out where they would cover each other.
  function names() {
    pen.font = '600 24px "Holdfast Text", Georgia, serif';
    pen.textBaseline = "middle";
    pen.fillStyle = colour("--quiet");
    const taken = [];
    for (let k = 0; k !== count; k += 1) {
      const wide = pen.measureText(about.names[k]).width;
      const beside = x(frame, k) + 18 + wide > canvas.width - 4 ? x(frame, k) - 18 - wide : x(frame, k) + 18;
      const above = Math.max(16, y(frame, k) - 20);
      if (taken.some(([a, b, w]) => Math.abs(above - b) < 24 && !(beside > a + w || a > beside + wide))) continue;
      taken.push([beside, above, wide]);
      pen.fillText(about.names[k], beside, above);
    }
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
    if (event.key === " ") play(!playing);
    else if (leap) { play(false); show(frame + leap); }
    else return;
    event.preventDefault();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  document.fonts.ready.then(() => draw());
  fit();
  draw();
  play(playing);
}

const mechanism = document.getElementById("mechanism");
if (mechanism) player(mechanism);
