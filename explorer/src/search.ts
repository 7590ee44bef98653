// Search by node id or class: suggestions while typing; Enter or a click goes to the node or shows the class.

import { count, element, figure, shortened } from "./page";
import type { Tree } from "./tree";

const MOST_HITS = 12;
const MOST_CLASSES = 4;

/** What is suggested: a node or a class, by its number. */
export type Hit = { node: number } | { which: number };

/** Names that contain the text: exact matches first, then prefixes, then the rest. */
function containing(ids: string[], text: string, most: number): number[] {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const ranked: [number[], number[], number[]] = [[], [], []];
  const alike = new RegExp(wanted.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i"); // much faster than lower-casing a million ids
  for (let node = 0; node < ids.length; node++) {
    const at = ids[node].search(alike);
    if (at < 0) continue;
    const rank = ids[node].length === wanted.length ? 0 : at === 0 ? 1 : 2;
    if (ranked[rank].length < most) ranked[rank].push(node);
  }
  return ranked.flat().slice(0, most);
}

export function wireSearch(
  input: HTMLInputElement,
  box: HTMLElement,
  nothing: HTMLElement,
  tree: Tree,
  take: (hit: Hit) => void,
): void {
  const { ids } = tree;
  const { classes, colours, numbers } = tree.manifest;
  const sizes = new Uint32Array(classes.length);
  for (let node = 0; node < ids.length; node++) sizes[tree.predicted(node)]++;
  let found: Hit[] = [];
  let at = 0;

  const nameOf = (hit: Hit) => ("node" in hit ? ids[hit.node] : classes[hit.which]);
  const row = (hit: Hit, k: number) => {
    const which = "node" in hit ? tree.predicted(hit.node) : hit.which;
    const dot = element("span", { class: "dot" });
    dot.style.background = colours[which];
    const predicted = "node" in hit && (numbers ? figure(tree.value(hit.node)) : shortened(classes[which]));
    const about = "node" in hit ? predicted || "" : `class of ${count(sizes[which], "node")}`;
    const attributes = { role: "option", id: `explorer-hit-${k}`, "aria-selected": String(k === at), "data-hit": String(k) };
    return element("li", attributes, dot, shortened(nameOf(hit), 60), " ", element("span", { class: "class" }, about));
  };
  const show = () => {
    box.replaceChildren(...found.map(row));
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
  const choose = (hit: Hit) => {
    close();
    input.value = nameOf(hit);
    take(hit);
  };

  input.addEventListener("input", () => {
    const nodes = containing(ids, input.value, MOST_HITS).map((node): Hit => ({ node }));
    const named = numbers ? [] : containing(classes, input.value, MOST_CLASSES);
    found = [...nodes, ...named.map((which): Hit => ({ which }))];
    at = 0;
    show();
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (found.length) at = (at + (event.key === "ArrowDown" ? 1 : found.length - 1)) % found.length;
      show();
      event.preventDefault();
    } else if (event.key === "Enter" && found.length) {
      choose(found[at]);
      event.preventDefault();
    } else if (event.key === "Escape") close();
  });
  box.addEventListener("pointerdown", (event) => {
    const row = (event.target as HTMLElement).closest<HTMLElement>("[data-hit]");
    if (row) choose(found[Number(row.dataset.hit)]);
    event.preventDefault(); // keeps the focus in the input
  });
  input.addEventListener("blur", close);
}
