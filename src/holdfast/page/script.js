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

// Tables that are wider than the page fade at the edge behind which they go on.
function faded() {
  for (const part of document.querySelectorAll(".scroll:not(.lines)")) part.classList.toggle("cut", part.scrollWidth > part.clientWidth + 1);
}
addEventListener("resize", faded);
document.addEventListener("toggle", faded, true);
document.fonts.ready.then(faded);

// Print everything, also what is folded away.
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const part of folded) part.open = true;
});
addEventListener("afterprint", () => { for (const part of folded) part.open = false; });
