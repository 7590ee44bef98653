// What every page does: show what needs scripts, filter verdicts, sort tables, and tooltips.

import { button } from "./page";
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

/** Let the head of a column sort its table; numbers begin with the largest, and cells without one come last. */
function wireSorting(): void {
  for (const table of document.querySelectorAll<HTMLTableElement>("table.sortable")) {
    const heads = [...table.tHead!.rows[0].cells];
    const body = table.tBodies[0];
    for (const [column, head] of heads.entries()) {
      if (head.tagName !== "TH") continue; // a column of plots
      const isText = head.classList.contains("words");
      const sort = () => {
        const [first, second] = isText ? ["ascending", "descending"] : ["descending", "ascending"];
        const order = head.ariaSort === first ? second : first;
        for (const other of heads) other.ariaSort = other === head ? order : null;
        const sign = order === "ascending" ? 1 : -1;
        const text = (row: HTMLTableRowElement) => row.cells[column].textContent!.trim();
        const number = (row: HTMLTableRowElement) => (text(row) ? Number(text(row).split(" ")[0].replaceAll(",", "")) : NaN);
        const compare = (a: HTMLTableRowElement, b: HTMLTableRowElement) => {
          if (isText) return sign * text(a).localeCompare(text(b), "en", { numeric: true });
          return Number(isNaN(number(a))) - Number(isNaN(number(b))) || sign * (number(a) - number(b)) || 0;
        };
        body.append(...[...body.rows].sort(compare));
      };
      head.replaceChildren(button(head.textContent!, sort));
    }
  }
}

for (const part of document.querySelectorAll<HTMLElement>(".scripted")) part.hidden = false;
wireVerdicts();
wireSorting();
wireTips();
