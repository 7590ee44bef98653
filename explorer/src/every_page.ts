// What every page does: show what needs scripts, filter verdicts, and tooltips.

import { wireTips } from "./tips";

/** Buttons that show the rows of a table with one verdict. */
function wireVerdicts(): void {
  const buttons = [...document.querySelectorAll<HTMLElement>("[data-only]")];
  for (const chosen of buttons) {
    chosen.addEventListener("click", () => {
      for (const one of buttons) one.setAttribute("aria-pressed", String(one === chosen));
      for (const row of document.querySelectorAll<HTMLElement>("[data-verdict]")) {
        row.hidden = Boolean(chosen.dataset.only) && row.dataset.verdict !== chosen.dataset.only;
      }
    });
  }
}

for (const part of document.querySelectorAll<HTMLElement>(".scripted")) part.hidden = false;
wireVerdicts();
wireTips();
