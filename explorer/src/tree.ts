// The hierarchy. Level 0 holds the nodes, higher levels the hyper-nodes. Members of a hyper-node have consecutive
// numbers, so a hyper-node is a range of members and also a range of nodes.

import type { Manifest, Numbers, Packed } from "./data";
import { count, figure } from "./page";

export interface Item {
  level: number;
  index: number;
}

export interface Neighbour {
  index: number;
  weight: number;
}

const PARTS = ["", "train", "validation", "test"];
const GREY = "var(--grey)";

/** `Vote.index` of the hyper-nodes that contain a node. */
export const HYPER_NODES = -1;

/** What a node adds to the score of another's predicted class, or of its own. */
export interface Vote {
  index: number; // of the voting node
  share: number; // negative if it votes against the class
}

/** Statistics of the nodes in an item. */
export interface Summary {
  nodes: number;
  predicted: Map<number, number>; // nodes of each predicted class
  labels: Map<number, number>; // nodes of each known label
  confidence: number; // mean
  value: number; // mean predicted number
  truth: number; // mean true number of the nodes that have one
  evaluated: number; // nodes whose prediction is compared with their label
  wrong: number;
}

interface Links {
  start: Uint32Array;
  target: Uint32Array;
  weight: Float32Array;
  edge: Uint32Array; // twice the edge's number in the page's data, plus one if it is seen from its target
}

export class Tree {
  readonly manifest: Manifest;
  readonly ids: string[];
  readonly depth: number;
  private readonly arrays: Map<string, Numbers>;
  private readonly parents: Uint32Array[] = [];
  private readonly firstMember: Uint32Array[] = []; // by level from 1 on
  private readonly firstNode: Uint32Array[] = [];
  private readonly summaries = new Map<string, Summary>(); // of hyper-nodes
  private readonly linksOf: (Links | undefined)[] = [];
  private readonly steps: number;
  private readonly guesses: Numbers;
  private readonly chances: Numbers;
  private readonly labels: Numbers;
  private readonly parts: Numbers;
  private readonly evaluatedParts: Set<number>;

  constructor(packed: Packed) {
    this.manifest = packed.manifest;
    this.arrays = packed.arrays;
    this.ids = packed.ids;
    this.depth = packed.manifest.levels.length - 1;
    this.guesses = this.array("class0");
    this.chances = this.has("probability0") ? this.array("probability0") : new Uint8Array(this.size(0));
    this.labels = this.array("label");
    this.parts = this.array("part");
    this.steps = this.chances instanceof Uint8Array ? 255 : 65535;
    this.evaluatedParts = new Set(this.manifest.evaluatedParts.map((part) => PARTS.indexOf(part)));
    this.firstNode[0] = Uint32Array.from({ length: this.size(0) + 1 }, (_, i) => i);
    for (let level = 1; level <= this.depth; level++) this.addLevel(level);
  }

  private addLevel(level: number): void {
    const members = this.array(`members${level}`);
    const first = new Uint32Array(members.length + 1);
    const nodes = new Uint32Array(members.length + 1);
    const parent = new Uint32Array(this.size(level - 1));
    for (let i = 0; i < members.length; i++) {
      first[i + 1] = first[i] + members[i];
      nodes[i + 1] = this.firstNode[level - 1][first[i + 1]];
      parent.fill(i, first[i], first[i + 1]);
    }
    this.firstMember[level] = first;
    this.firstNode[level] = nodes;
    this.parents[level - 1] = parent;
  }

  has(name: string): boolean {
    return this.arrays.has(name);
  }

  array(name: string): Numbers {
    const found = this.arrays.get(name);
    if (!found) throw new Error(`The page holds no ${name}.`);
    return found;
  }

  size(level: number): number {
    return this.manifest.levels[level].nodes;
  }

  parent({ level, index }: Item): Item | null {
    return level < this.depth ? { level: level + 1, index: this.parents[level][index] } : null;
  }

  /** The item and the hyper-nodes that contain it, finest first. */
  path(item: Item): Item[] {
    const path: Item[] = [];
    for (let at: Item | null = item; at; at = this.parent(at)) path.push(at);
    return path;
  }

  /** As `path`, but of hyper-nodes that hold the same nodes only the coarsest, and none that holds the item alone. */
  distinctPath(item: Item): Item[] {
    const path = this.path(item);
    const sizes = path.map((around) => this.weight(around));
    return path.filter((_, k) => k === 0 || (sizes[k] > sizes[0] && sizes[k] !== sizes[k + 1]));
  }

  members({ level, index }: Item): Item[] {
    if (level === 0) return [];
    const first = this.firstMember[level];
    return Array.from({ length: first[index + 1] - first[index] }, (_, k) => ({
      level: level - 1,
      index: first[index] + k,
    }));
  }

  /** First and last (exclusive) node of level 0 in the item. */
  nodes({ level, index }: Item): [number, number] {
    return [this.firstNode[level][index], this.firstNode[level][index + 1]];
  }

  weight(item: Item): number {
    const [low, high] = this.nodes(item);
    return high - low;
  }

  place({ level, index }: Item): { x: number; y: number } {
    if (level === 0 && !this.has("x0")) return this.aroundParent(index);
    return { x: this.array(`x${level}`)[index] / 65535, y: this.array(`y${level}`)[index] / 65535 };
  }

  /** The place of a node of a large graph: on a sunflower's spiral in the disc of its hyper-node. */
  private aroundParent(index: number): { x: number; y: number } {
    const parent = this.parents[0][index];
    const first = this.firstMember[1];
    const [k, members] = [index - first[parent], first[parent + 1] - first[parent]];
    const { x, y } = this.place({ level: 1, index: parent });
    const far = members > 1 ? 1.25 * this.manifest.radius * Math.sqrt(k + 0.5) : 0;
    const angle = Math.PI * (3 - Math.sqrt(5)) * k;
    return { x: x + far * Math.cos(angle), y: y + far * Math.sin(angle) };
  }

  radius(item: Item): number {
    return this.manifest.radius * Math.sqrt(this.weight(item));
  }

  /** The id of a node; of a hyper-node its size and its most frequent class: "18 nodes, mostly Theory". */
  name(item: Item): string {
    const nodes = this.weight(item);
    if (nodes === 1) return this.ids[this.nodes(item)[0]];
    if (this.manifest.numbers) return `${count(nodes, "node")}, mean ${figure(this.summary(item).value)}`;
    const [which, most] = mostFrequent(this.summary(item).predicted) ?? [0, 0];
    const share = most === nodes ? "all" : most > nodes / 2 ? "mostly" : `${Math.round((100 * most) / nodes)} %`;
    return `${count(nodes, "node")}, ${share} ${this.manifest.classes[which]}`;
  }

  predicted(node: number, rank = 0): number {
    return this.array(`class${rank}`)[node];
  }

  probability(node: number, rank = 0): number {
    return (rank ? this.array(`probability${rank}`) : this.chances)[node] / this.steps;
  }

  /** Whether a class shares its colour with others, because there are too many. */
  isRarer(which: number): boolean {
    return this.manifest.colours[which] === GREY;
  }

  /** The label in the user's file; -1 if there is none. */
  label(node: number): number {
    return this.labels[node] - 1;
  }

  part(node: number): string {
    return PARTS[this.parts[node]];
  }

  /** Whether the label was used in training or validation. */
  isGiven(node: number): boolean {
    return this.parts[node] === 1 || this.parts[node] === 2;
  }

  isEvaluated(node: number): boolean {
    return this.evaluatedParts.has(this.parts[node]);
  }

  /** Whether an evaluated node has another class than predicted, or its number has a large error. */
  isWrong(node: number): boolean {
    if (!this.isEvaluated(node)) return false;
    const { numbers } = this.manifest;
    return numbers ? Math.abs(this.error(node)) > numbers.large : this.predicted(node) !== this.label(node);
  }

  /** The predicted number. */
  value(node: number): number {
    return this.array("value")[node];
  }

  /** The predicted minus the true number; NaN if that is unknown. */
  error(node: number): number {
    return this.value(node) - this.array("truth")[node];
  }

  summary(item: Item): Summary {
    if (item.level === 0) return this.summarised(item);
    const key = `${item.level}:${item.index}`;
    let found = this.summaries.get(key);
    if (!found) this.summaries.set(key, (found = this.summarised(item)));
    return found;
  }

  private summarised(item: Item): Summary {
    const [low, high] = this.nodes(item);
    const sum: Summary = {
      nodes: high - low,
      predicted: new Map(),
      labels: new Map(),
      confidence: 0,
      value: 0,
      truth: 0,
      evaluated: 0,
      wrong: 0,
    };
    let known = 0;
    for (let node = low; node < high; node++) {
      const guess = this.guesses[node];
      const label = this.label(node);
      sum.predicted.set(guess, (sum.predicted.get(guess) ?? 0) + 1);
      if (label >= 0) sum.labels.set(label, (sum.labels.get(label) ?? 0) + 1);
      sum.confidence += this.chances[node] / this.steps / sum.nodes;
      if (this.isEvaluated(node)) sum.evaluated++;
      if (this.isWrong(node)) sum.wrong++;
      if (!this.manifest.numbers) continue;
      sum.value += this.value(node) / sum.nodes;
      if (label >= 0) [sum.truth, known] = [sum.truth + this.array("truth")[node], known + 1];
    }
    sum.truth /= known || 1;
    return sum;
  }

  /** Neighbours at the same level, strongest edge first. */
  neighbours({ level, index }: Item): Neighbour[] {
    const { start, target, weight } = this.links(level);
    const found: Neighbour[] = [];
    for (let k = start[index]; k < start[index + 1]; k++) found.push({ index: target[k], weight: weight[k] });
    return found.sort((a, b) => b.weight - a.weight || a.index - b.index);
  }

  /** The votes for and against a node's predicted class, strongest first. */
  votes(node: number): Vote[] {
    const { start, target, edge } = this.links(0);
    const [there, back] = [this.array("toSource"), this.array("toTarget")];
    const found: Vote[] = [{ index: node, share: this.array("own")[node] }];
    for (let k = start[node]; k < start[node + 1]; k++) {
      found.push({ index: target[k], share: (edge[k] % 2 ? back : there)[edge[k] >> 1] });
    }
    if (this.manifest.hyperNodesVote) found.push({ index: HYPER_NODES, share: this.array("byHyperNodes")[node] });
    return found.sort((a, b) => Math.abs(b.share) - Math.abs(a.share) || a.index - b.index);
  }

  links(level: number): Links {
    return (this.linksOf[level] ??= this.bothWays(level));
  }

  private bothWays(level: number): Links {
    const [steps, gaps, strength] = ["source", "target", "strength"].map((name) => this.array(name + level));
    const source = new Uint32Array(steps.length);
    const count = new Uint32Array(this.size(level) + 1);
    for (let k = 0, at = 0; k < steps.length; k++) {
      at += steps[k];
      source[k] = at;
      count[at + 1]++;
      count[at + gaps[k] + 1]++;
    }
    for (let i = 1; i < count.length; i++) count[i] += count[i - 1];
    const start = count.slice();
    const target = new Uint32Array(2 * steps.length);
    const weight = new Float32Array(2 * steps.length);
    const edge = new Uint32Array(2 * steps.length);
    const put = (from: number, to: number, k: number, seen: number) => {
      target[count[from]] = to;
      edge[count[from]] = 2 * k + seen;
      weight[count[from]++] = strength[k];
    };
    for (let k = 0; k < steps.length; k++) {
      put(source[k], source[k] + gaps[k], k, 0);
      put(source[k] + gaps[k], source[k], k, 1);
    }
    return { start, target, weight, edge };
  }
}

export function mostFrequent(counts: Map<number, number>): [which: number, count: number] | null {
  let best: [number, number] | null = null;
  for (const [which, count] of counts) if (!best || count > best[1]) best = [which, count];
  return best;
}
