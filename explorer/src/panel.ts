// The panel over the stage: details of the selected node or hyper-node, or the nodes that pass the filter.

import type { Numeric } from "./data";
import type { Matches } from "./filter";
import { button, count, element, figure, percent, shortened } from "./page";
import { HYPER_NODES, mostFrequent, type Item, type Tree } from "./tree";

const MOST_ROWS = 8;
const LEAST_SHOWN = 0.01; // confidence
const PART: Record<string, string> = { train: "training", validation: "validation", test: "test" };

export interface Actions {
  go(item: Item): void;
  toggle(item: Item): void;
  isOpen(item: Item): boolean;
  dismiss(): void;
}

/** Fill the panel, or hide it if nothing is selected and nothing filtered. */
export function fillPanel(panel: HTMLElement, tree: Tree, item: Item | null, matches: Matches, actions: Actions): void {
  panel.hidden = !item && !matches.active;
  panel.replaceChildren(button("×", () => actions.dismiss(), { class: "dismiss", "aria-label": "close the panel" }));
  panel.scrollTop = 0;
  if (item) itemFacts(panel, tree, item, actions);
  else if (matches.active) matching(panel, tree, matches, actions);
}

function itemFacts(panel: HTMLElement, tree: Tree, item: Item, actions: Actions): void {
  panel.append(element("h3", {}, shortened(tree.name(item), 80)));
  if (item.level === 0) {
    if (tree.manifest.numbers) numberFacts(panel, tree, item.index, tree.manifest.numbers);
    else {
      nodeFacts(panel, tree, item.index);
      reasons(panel, tree, item.index, actions);
    }
  } else hyperNodeFacts(panel, tree, item, actions);
  neighbours(panel, tree, item, actions);
  path(panel, tree, item, actions);
}

function matching(panel: HTMLElement, tree: Tree, matches: Matches, actions: Actions): void {
  panel.append(element("h3", {}, matches.describe()));
  const rows = element("ul", { class: "items" });
  const found = matches.list();
  for (const node of found) {
    rows.append(row(tree, { level: 0, index: node }, foundAbout(tree, node), actions));
  }
  panel.append(rows);
  more(panel, matches.total - found.length);
}

function foundAbout(tree: Tree, node: number): string {
  const { classes, numbers } = tree.manifest;
  if (numbers) return figure(tree.value(node)) + (tree.isEvaluated(node) ? `, error ${signed(tree.error(node))}` : "");
  const wrong = tree.isWrong(node) ? `, true class ${classes[tree.label(node)]}` : "";
  return `${classes[tree.predicted(node)]} ${percent(tree.probability(node))}${wrong}`;
}

const signed = (value: number) => `${value < 0 ? "−" : "+"}${figure(Math.abs(value))}`;

function numberFacts(panel: HTMLElement, tree: Tree, node: number, { target, half }: Numeric): void {
  const value = tree.value(node);
  const interval = half === null ? "" : ` (interval ${figure(value - half)} to ${figure(value + half)})`;
  panel.append(element("p", {}, `Predicted ${target}: ${figure(value)}${interval}.`));
  const part = tree.part(node);
  const error = tree.error(node);
  const truth = `True value: ${figure(value - error)}${part ? ` (${PART[part]})` : ""}. Error: ${signed(error)}.`;
  panel.append(element("p", {}, Number.isNaN(error) ? "The true value is unknown." : truth));
  explain(panel, tree, node, "For what led to it, run:");
}

function explain(panel: HTMLElement, tree: Tree, node: number, words: string): void {
  const command = `hiergcn explain ${quoted(tree.manifest.run)} --node=${quoted(tree.ids[node])}`;
  panel.append(element("p", { class: "muted" }, words), element("pre", { tabindex: "0" }, command));
}

function reasons(panel: HTMLElement, tree: Tree, node: number, actions: Actions): void {
  panel.append(element("h4", {}, `Why ${shortened(tree.manifest.classes[tree.predicted(node)])}?`));
  if (tree.manifest.votes) votes(panel, tree, node, actions);
  explain(panel, tree, node, "For the features behind it, run:");
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
    const chance = tree.probability(node, rank);
    if (rank < 2 || chance >= LEAST_SHOWN) rows.push([classes[which], chance, colours[which]]);
  }
  const least = rows.length < keptClasses ? LEAST_SHOWN : tree.probability(node, rows.length - 1);
  const more = rows.length < classes.length ? ` (others below ${Math.max(1, Math.ceil(100 * least))} %)` : "";
  panel.append(element("h4", {}, `Confidence${more}`), bars(rows));
}

function hyperNodeFacts(panel: HTMLElement, tree: Tree, item: Item, actions: Actions): void {
  const sum = tree.summary(item);
  const { classes, colours, evaluated, numbers } = tree.manifest;
  const mean = numbers ? `mean prediction ${figure(sum.value)}` : `mean confidence ${percent(sum.confidence)}`;
  const words = [`Level ${item.level}, ${mean}.`];
  const wrong = numbers ? "with a large error" : "wrong";
  if (sum.evaluated) words.push(`${sum.wrong.toLocaleString("en")} of ${count(sum.evaluated, `${evaluated} node`)} ${wrong}.`);
  panel.append(element("p", {}, words.join(" ")));
  panel.append(button(actions.isOpen(item) ? "Close" : "Open", () => actions.toggle(item)));
  const rows = [...sum.predicted].sort((a, b) => b[1] - a[1]).slice(0, MOST_ROWS);
  panel.append(
    element("h4", {}, numbers ? "Predicted values" : "Predicted classes"),
    bars(rows.map(([which, nodes]) => [classes[which], nodes / sum.nodes, colours[which]])),
  );
  const members = tree.members(item);
  panel.append(element("h4", {}, count(members.length, "member")));
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
  const words = `${percent(same / total)} of the edge weight goes to neighbours with the same predicted class.`;
  if (!tree.manifest.numbers) panel.append(element("p", {}, words));
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
    const colour = share < 0 ? "var(--muted)" : tree.manifest.colours[tree.predicted(node)];
    const ours = index === node ? "the node itself" : index === HYPER_NODES ? "its hyper-nodes" : "";
    const name = ours || button(shortened(tree.ids[index]), () => actions.go({ level: 0, index }));
    const words = `${share < 0 ? "against " : ""}${percent(Math.abs(share) / size)}`;
    rows.append(...bar(name, Math.abs(share) / size, colour, words));
  }
  panel.append(rows);
  more(panel, found.length - MOST_ROWS);
}

function origin(byHyperNodes: number, sum: number): string {
  const share = byHyperNodes / sum;
  if (byHyperNodes < 0) return "Nearby nodes voted for the class, hyper-nodes against it.";
  if (!(share <= 1)) return "Hyper-nodes voted for the class, nearby nodes against it.";
  return `Hyper-nodes gave ${percent(share)} of the evidence, nearby nodes the rest.`;
}

function path(panel: HTMLElement, tree: Tree, item: Item, actions: Actions): void {
  const around = tree.distinctPath(item).slice(1);
  if (!around.length) return;
  const shown = around[0].level >= tree.manifest.modelLevels ? " (for display only)" : "";
  panel.append(element("h4", {}, `Hyper-nodes that contain it${shown}`));
  const rows = element("ol", { class: "path" });
  for (const hyper of around) {
    const name = button(shortened(tree.name(hyper), 60), () => actions.go(hyper));
    rows.append(element("li", {}, element("span", { class: "about level" }, `level ${hyper.level}`), name));
  }
  panel.append(rows);
}

function list(panel: HTMLElement, items: Item[], tree: Tree, actions: Actions, left: number): void {
  const rows = element("ul", { class: "items" });
  for (const item of items) {
    const said = tree.manifest.numbers ? figure(tree.summary(item).value) : tree.manifest.classes[likely(tree, item)];
    const about = tree.weight(item) > 1 ? "" : said;
    rows.append(row(tree, item, about, actions));
  }
  panel.append(rows);
  more(panel, left);
}

function row(tree: Tree, item: Item, about: string, actions: Actions): HTMLElement {
  const dot = element("span", { class: "dot" });
  dot.style.background = tree.manifest.colours[likely(tree, item)];
  const name = button(shortened(tree.name(item)), () => actions.go(item));
  return element("li", {}, dot, element("span", { class: "name" }, name, " ", element("span", { class: "about" }, about)));
}

function more(panel: HTMLElement, left: number): void {
  if (left > 0) panel.append(element("p", { class: "muted" }, `and ${left.toLocaleString("en")} more`));
}

function bars(rows: [name: string, share: number, colour: string][]): HTMLElement {
  const table = element("div", { class: "bars" });
  for (const [name, share, colour] of rows) table.append(...bar(shortened(name), share, colour, percent(share)));
  return table;
}

function bar(name: string | HTMLElement, share: number, colour: string, words: string): HTMLElement[] {
  const filled = element("span", { class: "bar" });
  filled.style.width = `${100 * share}%`;
  filled.style.background = colour;
  return [
    element("span", { class: "name" }, name),
    element("span", { class: "track", "aria-hidden": "true" }, filled),
    element("span", { class: "share" }, words),
  ];
}

function likely(tree: Tree, item: Item): number {
  return mostFrequent(tree.summary(item).predicted)?.[0] ?? 0;
}

/** Quote a word for the shell. */
function quoted(word: string): string {
  return /^[\w./:@-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
