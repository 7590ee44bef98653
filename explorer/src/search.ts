// Search by node id: suggestions while typing; Enter or a click jumps to the node.

import { element, shortened } from "./page";
import type { Tree } from "./tree";

const MOST_HITS = 12;

/** Nodes whose id contains the text: exact matches first, then prefixes, then the rest. */
export function hits(ids: string[], text: string): number[] {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const ranked: [number[], number[], number[]] = [[], [], []];
  const alike = new RegExp(wanted.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i"); // much faster than lower-casing a million ids
  for (let node = 0; node < ids.length; node++) {
    const at = ids[node].search(alike);
    if (at < 0) continue;
    const rank = ids[node].length === wanted.length ? 0 : at === 0 ? 1 : 2;
    if (ranked[rank].length < MOST_HITS) ranked[rank].push(node);
  }
  return ranked.flat().slice(0, MOST_HITS);
}

export function wireSearch(
  input: HTMLInputElement,
  box: HTMLElement,
  nothing: HTMLElement,
  tree: Tree,
  go: (node: number) => void,
): void {
  const { ids } = tree;
  let found: number[] = [];
  let at = 0;

  const hit = (node: number, k: number) => {
    const which = tree.predicted(node);
    const dot = element("span", { class: "dot" });
    dot.style.background = tree.manifest.colours[which];
    const about = element("span", { class: "class" }, shortened(tree.manifest.classes[which]));
    const selected = String(k === at);
    const attributes = { role: "option", id: `explorer-hit-${k}`, "aria-selected": selected, "data-node": String(node) };
    return element("li", attributes, dot, shortened(ids[node], 60), " ", about);
  };
  const show = () => {
    box.replaceChildren(...found.map(hit));
    box.hidden = !found.length;
    nothing.hidden = Boolean(found.length) || !input.value.trim();
    input.setAttribute("aria-expanded", String(!box.hidden));
    if (found.length) input.setAttribute("aria-activedescendant", `explorer-hit-${at}`);
    else input.removeAttribute("aria-activedescendant");
  };
  const close = () => {
    box.hidden = nothing.hidden = true;
    input.setAttribute("aria-expanded", "false");
  };
  const take = (node: number) => {
    close();
    input.value = ids[node];
    go(node);
  };

  input.addEventListener("input", () => {
    found = hits(ids, input.value);
    at = 0;
    show();
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (found.length) at = (at + (event.key === "ArrowDown" ? 1 : found.length - 1)) % found.length;
      show();
      event.preventDefault();
    } else if (event.key === "Enter" && found.length) {
      take(found[at]);
      event.preventDefault();
    } else if (event.key === "Escape") close();
  });
  box.addEventListener("pointerdown", (event) => {
    const row = (event.target as HTMLElement).closest<HTMLElement>("[data-node]");
    if (row) take(Number(row.dataset.node));
    event.preventDefault(); // keeps the focus in the input
  });
  input.addEventListener("blur", close);
}
