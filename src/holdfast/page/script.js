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

// What is wider than the page is set smaller, down to what can be read; what still is fades at the edge behind which it
// goes on.
const SMALLEST = { piece: 0.6, table: 0.8 };

function fitted() {
  for (const part of document.querySelectorAll(".piece, .scroll:not(.lines)")) {
    const inside = part.matches(".piece") ? part.querySelector("math") : part.querySelector("table");
    if (!inside || !part.checkVisibility()) continue;
    inside.style.fontSize = "";
    const share = part.clientWidth / part.scrollWidth, least = part.matches(".piece") ? SMALLEST.piece : SMALLEST.table;
    if (share < 1) inside.style.fontSize = Math.max(least, 0.98 * share) * parseFloat(getComputedStyle(inside).fontSize) + "px";
    part.classList.toggle("cut", part.scrollWidth > part.clientWidth + 1);
  }
}

function asWritten() {
  for (const part of document.querySelectorAll(".piece math, .scroll table")) part.style.fontSize = "";
}

addEventListener("resize", fitted);
document.addEventListener("toggle", fitted, true);
document.fonts.ready.then(fitted);

// Print everything, also what is folded away.
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const part of folded) part.open = true;
  removeEventListener("resize", fitted);
  asWritten();
});
addEventListener("afterprint", () => {
  for (const part of folded) part.open = false;
  addEventListener("resize", fitted);
  fitted();
});
