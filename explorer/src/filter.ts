// Which nodes are shown in full colour: by class, and those that are wrong, unsure, judged, unlabelled and so on.

import { count, figure } from "./page";
import type { Item, Tree } from "./tree";

export type Only = "all" | "open" | "judged" | "wrong" | "unsure" | "doubtful" | "suggested";

export interface Filter {
  only: Only;
  predicted: number | null;
  label: number | null;
}

export const ALL: Filter = { only: "all", predicted: null, label: null };

/** As a class of a filter: all classes without a colour of their own. */
export const RARER = -1;

const MOST_LISTED = 50;

/** Titles of the choices, for a select. */
export function choices(tree: Tree): [Only, string][] {
  const { evaluated, numbers } = tree.manifest;
  const offered: [Only, string][] = [
    ["all", "all nodes"],
    ["open", numbers ? "without a value" : "without a label"],
    ["judged", `${evaluated} nodes`],
    ["wrong", numbers ? "large errors" : "wrong predictions"],
    ["unsure", "unsure predictions"],
    ["doubtful", "doubtful labels"],
    ["suggested", "to be labelled next"],
  ];
  const found = offered.map(([only, title]): [Only, string, number] => [only, title, new Matches(tree, { ...ALL, only }).total]);
  return found
    .filter(([only, , nodes]) => nodes || only === "all")
    .map(([only, title, nodes]) => [only, `${title} (${nodes.toLocaleString("en")})`]);
}

/** The nodes that pass a filter, and how many of them are in an item. */
export class Matches {
  readonly total: number;
  private readonly before: Uint32Array; // matching nodes with a smaller number

  constructor(
    private readonly tree: Tree,
    readonly filter: Filter,
  ) {
    const n = tree.size(0);
    this.before = new Uint32Array(n + 1);
    const passes = this.test();
    for (let node = 0; node < n; node++) this.before[node + 1] = this.before[node] + (passes(node) ? 1 : 0);
    this.total = this.before[n];
  }

  private test(): (node: number) => boolean {
    const { tree } = this;
    const { only, predicted, label } = this.filter;
    const kinds: Record<Only, (node: number) => boolean> = {
      all: () => true,
      open: (node) => tree.label(node) < 0,
      judged: (node) => tree.isEvaluated(node),
      wrong: (node) => tree.isWrong(node),
      unsure: (node) => !tree.isGiven(node) && tree.probability(node) < tree.manifest.unsure,
      doubtful: (node) => tree.has("doubt") && tree.array("doubt")[node] > 0,
      suggested: (node) => tree.has("suggested") && tree.array("suggested")[node] > 0,
    };
    const kind = kinds[only];
    const is = (which: number, wanted: number) => (wanted === RARER ? which >= 0 && tree.isRarer(which) : which === wanted);
    return (node) =>
      kind(node) &&
      (predicted === null || is(tree.predicted(node), predicted)) &&
      (label === null || is(tree.label(node), label));
  }

  get active(): boolean {
    return this.total < this.tree.size(0);
  }

  in(item: Item): number {
    const [low, high] = this.tree.nodes(item);
    return this.before[high] - this.before[low];
  }

  /** The first matching nodes: the most confident mistakes, or else the least confident predictions. */
  list(): number[] {
    const found: number[] = [];
    for (let node = 0; node + 1 < this.before.length; node++) if (this.before[node + 1] > this.before[node]) found.push(node);
    const sign = this.filter.only === "wrong" ? -1 : 1;
    const rank = this.filter.only === "doubtful" ? "doubt" : this.filter.only === "suggested" ? "suggested" : null;
    const by = rank ? this.tree.array(rank) : null;
    const sure = (node: number) => (this.tree.manifest.numbers ? Math.abs(this.tree.error(node)) || 0 : this.tree.probability(node));
    const key = (node: number) => (by ? by[node] : sign * sure(node));
    return found.sort((a, b) => key(a) - key(b) || a - b).slice(0, MOST_LISTED);
  }

  describe(): string {
    const { only, predicted, label } = this.filter;
    const { classes, evaluated, numbers } = this.tree.manifest;
    const kind: Record<Only, string> = {
      all: "",
      open: numbers ? "without a value" : "without a label",
      judged: "",
      wrong: numbers ? `with an error above ${figure(numbers.large)}` : "predicted wrongly",
      unsure: "with an unsure prediction",
      doubtful: "with a doubtful label",
      suggested: "to be labelled next",
    };
    const words = [count(this.total, only === "judged" ? `${evaluated} node` : "node"), kind[only]];
    const name = (which: number) => (which === RARER ? "one of the rarer classes" : classes[which]);
    if (label !== null) words.push(label === RARER ? `of ${name(label)}` : `of class ${name(label)}`);
    if (predicted !== null) words.push(`${label === null || label === predicted ? "predicted" : "predicted as"} ${name(predicted)}`);
    return words.filter(Boolean).join(" ");
  }
}

/** Read a filter from a link: `label=2&predicted=5&only=judged`. */
export function parseFilter(text: string): Filter {
  const given = new URLSearchParams(text);
  const which = (name: string) => (given.has(name) ? Number(given.get(name)) : null);
  return { only: (given.get("only") as Only) ?? "all", predicted: which("predicted"), label: which("label") };
}
