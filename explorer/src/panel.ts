// The side panel: details of the selected node or hyper-node, with links to others.

import { button, count, element, percent, shortened } from "./page";
import { HYPER_NODES, mostFrequent, type Item, type Tree } from "./tree";

const MOST_ROWS = 8;

export interface Actions {
  go(item: Item): void;
  toggle(item: Item): void;
  isOpen(item: Item): boolean;
}

export function fillPanel(panel: HTMLElement, tree: Tree, item: Item | null, actions: Actions): void {
  panel.replaceChildren();
  if (!item) {
    panel.append(
      element("p", { class: "muted" }, "Select a node: click it, use the arrow keys, or search for its id."),
    );
    return;
  }
  panel.append(element("h3", {}, shortened(tree.name(item), 60)));
  if (item.level === 0) {
    nodeFacts(panel, tree, item.index);
    reasons(panel, tree, item.index, actions);
  } else hyperNodeFacts(panel, tree, item, actions);
  neighbours(panel, tree, item, actions);
  path(panel, tree, item, actions);
}

function reasons(panel: HTMLElement, tree: Tree, node: number, actions: Actions): void {
  panel.append(element("h4", {}, `Why ${shortened(tree.manifest.classes[tree.predicted(node)])}?`));
  if (tree.manifest.votes) votes(panel, tree, node, actions);
  panel.append(
    element("p", { class: "muted" }, "For the features behind it, run:"),
    element("pre", {}, `hiergcn explain ${quoted(tree.manifest.run)} --node=${quoted(tree.ids[node])}`),
  );
}

function nodeFacts(panel: HTMLElement, tree: Tree, node: number): void {
  const { classes, colours, keptClasses } = tree.manifest;
  const guess = tree.predicted(node);
  const label = tree.label(node);
  const part = tree.part(node);
  const words = [`Predicted: ${classes[guess]}.`];
  if (label >= 0) words.push(`Label: ${classes[label]}${part ? ` (${PART[part]})` : ""}.`);
  else words.push("No label.");
  if (tree.isEvaluated(node)) words.push(guess === label ? "The prediction is correct." : "The prediction is wrong.");
  panel.append(element("p", {}, words.join(" ")));
  const rows: [string, number, string][] = [];
  for (let rank = 0; rank < keptClasses; rank++) {
    const which = tree.predicted(node, rank);
    rows.push([classes[which], tree.probability(node, rank), colours[which]]);
  }
  panel.append(element("h4", {}, keptClasses < classes.length ? `${keptClasses} most probable classes` : "Probabilities"), bars(rows));
}

const PART: Record<string, string> = { train: "training", validation: "validation", test: "test" };

function hyperNodeFacts(panel: HTMLElement, tree: Tree, item: Item, actions: Actions): void {
  const { classes, colours, evaluated } = tree.manifest;
  const sum = tree.summary(item);
  const members = tree.members(item);
  const words = [
    `${count(sum.nodes, "node")} in ${count(members.length, "member")} of level ${item.level - 1}.`,
    `Mean confidence ${percent(sum.confidence)}.`,
  ];
  if (sum.evaluated) words.push(`${sum.evaluated - sum.wrong} of ${count(sum.evaluated, `${evaluated} node`)} correct.`);
  panel.append(element("p", {}, words.join(" ")));
  const open = actions.isOpen(item);
  panel.append(button(open ? "Close" : "Open", () => actions.toggle(item), { class: "act" }));
  const mix = [...sum.predicted].sort((a, b) => b[1] - a[1]).slice(0, MOST_ROWS);
  const rows = mix.map(([which, n]): [string, number, string] => [classes[which], n / sum.nodes, colours[which]]);
  panel.append(element("h4", {}, "Predicted classes"), bars(rows));
  panel.append(element("h4", {}, "Members"));
  list(panel, members.slice(0, MOST_ROWS), tree, actions, members.length - MOST_ROWS);
}

function neighbours(panel: HTMLElement, tree: Tree, item: Item, actions: Actions): void {
  const found = tree.neighbours(item);
  const level = tree.manifest.levels[item.level];
  const thinned = level.kept < level.edges ? " (the page holds only the strongest edge of each node)" : "";
  panel.append(element("h4", {}, `${count(found.length, "neighbour")}${thinned}`));
  if (!found.length) return;
  const own = likely(tree, item);
  let total = 0;
  let same = 0;
  for (const { index, weight } of found) {
    total += weight;
    if (likely(tree, { level: item.level, index }) === own) same += weight;
  }
  panel.append(
    element("p", {}, `${percent(same / total)} of the edge weight goes to neighbours with the same predicted class.`),
  );
  const items = found.slice(0, MOST_ROWS).map(({ index }) => ({ level: item.level, index }));
  list(panel, items, tree, actions, found.length - MOST_ROWS);
}

/** Show how the node, its neighbours and, if they vote, its hyper-nodes contribute to the predicted class. */
function votes(panel: HTMLElement, tree: Tree, node: number, actions: Actions): void {
  const found = tree.votes(node);
  const sum = found.reduce((total, { share }) => total + share, 0);
  const size = found.reduce((total, { share }) => total + Math.abs(share), 0);
  if (!size) {
    panel.append(element("p", {}, "No vote favours any class."));
    return;
  }
  panel.append(element("p", {}, `${origin(tree.array("byHyperNodes")[node], sum)} Votes for and against the class:`));
  const rows = element("div", { class: "bars votes" });
  for (const { index, share } of found.slice(0, MOST_ROWS)) {
    const bar = element("span", { class: "bar" });
    bar.style.width = `${(100 * Math.abs(share)) / size}%`;
    bar.style.background = share < 0 ? "var(--muted)" : tree.manifest.colours[tree.predicted(node)];
    const ours = index === node ? "the node itself" : index === HYPER_NODES ? "its hyper-nodes" : "";
    rows.append(
      element("span", { class: "name" }, ours || button(shortened(tree.ids[index]), () => actions.go({ level: 0, index }))),
      element("span", { class: "track", "aria-hidden": "true" }, bar),
      element("span", { class: "share" }, `${share < 0 ? "against " : ""}${percent(Math.abs(share) / size)}`),
    );
  }
  panel.append(rows);
  const more = found.length - MOST_ROWS;
  if (more > 0) panel.append(element("p", { class: "muted" }, `and ${more.toLocaleString("en")} more`));
}

function origin(byHyperNodes: number, sum: number): string {
  const share = byHyperNodes / sum;
  if (byHyperNodes < 0) return "Nearby nodes voted for the class, hyper-nodes against it.";
  if (!(share <= 1)) return "Hyper-nodes voted for the class, nearby nodes against it.";
  return `Hyper-nodes gave ${percent(share)} of the evidence, nearby nodes the rest.`;
}

function path(panel: HTMLElement, tree: Tree, item: Item, actions: Actions): void {
  const around = tree.path(item).slice(1);
  if (!around.length) return;
  panel.append(element("h4", {}, "Hyper-nodes that contain it"));
  const rows = element("ol", { class: "path" });
  for (const hyper of around) {
    const most = mostFrequent(tree.summary(hyper).predicted);
    const text = `level ${hyper.level}: ${count(tree.weight(hyper), "node")}`;
    const mix = most ? `, ${percent(most[1] / tree.weight(hyper))} ${tree.manifest.classes[most[0]]}` : "";
    const added = hyper.level >= tree.manifest.modelLevels ? " (for display only)" : "";
    rows.append(element("li", {}, button(text, () => actions.go(hyper)), shortened(mix, 50) + added));
  }
  panel.append(rows);
}

function list(panel: HTMLElement, items: Item[], tree: Tree, actions: Actions, more: number): void {
  const rows = element("ul", { class: "items" });
  for (const item of items) {
    const which = likely(tree, item);
    const dot = element("span", { class: "dot" });
    dot.style.background = tree.manifest.colours[which];
    const size = tree.weight(item) > 1 ? `, ${count(tree.weight(item), "node")}` : "";
    rows.append(
      element("li", {}, dot, button(shortened(tree.name(item)), () => actions.go(item)), ` ${tree.manifest.classes[which]}${size}`),
    );
  }
  if (more > 0) rows.append(element("li", { class: "muted" }, `and ${more.toLocaleString("en")} more`));
  panel.append(rows);
}

function bars(rows: [name: string, share: number, colour: string][]): HTMLElement {
  const table = element("div", { class: "bars" });
  for (const [name, share, colour] of rows) {
    const bar = element("span", { class: "bar" });
    bar.style.width = `${100 * share}%`;
    bar.style.background = colour;
    table.append(
      element("span", { class: "name" }, shortened(name)),
      element("span", { class: "track", "aria-hidden": "true" }, bar),
      element("span", { class: "share" }, percent(share)),
    );
  }
  return table;
}

function likely(tree: Tree, item: Item): number {
  return mostFrequent(tree.summary(item).predicted)?.[0] ?? 0;
}

/** Quote a word for the shell. */
function quoted(word: string): string {
  return /^[\w./:@-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
