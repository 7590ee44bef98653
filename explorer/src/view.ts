// The items on the screen: the nodes of one level, some of its hyper-nodes replaced by their members.

import type { Item, Tree } from "./tree";

export const MOST_NODES = 20_000;
const MOST_EDGES = 30_000;
const EDGES_PER_NODE = 8; // more would hide the nodes, except in a small picture (ROOM_FOR_EDGES)
const ROOM_FOR_EDGES = 2_000;

export interface Edge {
  from: string;
  to: string;
  weight: number;
}

export interface Picture {
  level: number;
  items: Item[];
  opened: Item[];
  edges: Edge[];
  oneOf: number; // sampling stride: one of so many nodes is drawn; 1 if all are
  edgesLeftOut: number;
}

export const keyOf = ({ level, index }: Item): string => `${level}:${index}`;

export function itemOf(key: string): Item {
  const [level, index] = key.split(":").map(Number);
  return { level, index };
}

export class View {
  private readonly open = new Set<string>();
  private readonly wanted = new Set<string>(); // drawn even if the level is sampled

  constructor(
    private readonly tree: Tree,
    public level: number,
  ) {}

  setLevel(level: number): void {
    this.level = level;
    this.open.clear();
    this.wanted.clear();
  }

  isOpen(item: Item): boolean {
    return this.open.has(keyOf(item));
  }

  canOpen(item: Item): boolean {
    return item.level > 0;
  }

  toggle(item: Item): void {
    const key = keyOf(item);
    if (!this.open.delete(key) && this.canOpen(item)) this.open.add(key);
  }

  /** Open the hyper-nodes that contain the item, so that it is on the screen. */
  reveal(item: Item): void {
    const path = this.tree.path(item);
    for (const around of path) {
      if (around.level === this.level) this.wanted.add(keyOf(around));
      if (around.level > item.level && around.level <= this.level) this.open.add(keyOf(around));
    }
    this.open.delete(keyOf(item));
  }

  /** The item itself if it is drawn, else the hyper-node on the screen that contains it. */
  shown(item: Item): Item | null {
    const path = this.tree.path(item).filter((around) => around.level <= this.level);
    for (const around of path.reverse()) if (!this.isOpen(around)) return around;
    return null;
  }

  /** Close the hyper-node and all that are open in it. */
  closeInside(item: Item): void {
    const [low, high] = this.tree.nodes(item);
    for (const key of this.open) {
      const other = itemOf(key);
      const [first, end] = this.tree.nodes(other);
      if (other.level <= item.level && low <= first && end <= high) this.open.delete(key);
    }
  }

  /** The items without their edges. */
  nodes(): Picture {
    const size = this.tree.size(this.level);
    const stride = Math.ceil(size / MOST_NODES);
    const items: Item[] = [];
    const opened: Item[] = [];
    const add = (item: Item): void => {
      if (!this.isOpen(item)) items.push(item);
      else {
        opened.push(item);
        this.tree.members(item).forEach(add);
      }
    };
    for (let index = 0; index < size; index += stride) add({ level: this.level, index });
    if (stride > 1) {
      for (const key of this.wanted) if (itemOf(key).index % stride) add(itemOf(key));
    }
    return { level: this.level, items, opened, oneOf: stride, edges: [], edgesLeftOut: 0 };
  }

  picture(): Picture {
    const found = this.nodes();
    return { ...found, ...this.edges(found.items) };
  }

  /** Edges between the items. An edge between levels is drawn from its finer end. */
  private edges(items: Item[]): { edges: Edge[]; edgesLeftOut: number } {
    const drawn = new Set(items.map(keyOf));
    const weights = new Map<string, Edge>();
    for (const item of items) {
      const from = keyOf(item);
      const { start, target, weight } = this.tree.links(item.level);
      for (let k = start[item.index]; k < start[item.index + 1]; k++) {
        let other: Item | null = { level: item.level, index: target[k] };
        const same = drawn.has(keyOf(other));
        if (same && target[k] < item.index) continue; // the other end draws it
        while (other && other.level <= this.level && !drawn.has(keyOf(other))) other = this.tree.parent(other);
        if (!other || other.level > this.level) continue;
        const to = keyOf(other);
        const edge = weights.get(`${from} ${to}`);
        if (edge) edge.weight += weight[k];
        else weights.set(`${from} ${to}`, { from, to, weight: weight[k] });
      }
    }
    const edges = [...weights.values()];
    const most = Math.min(MOST_EDGES, Math.max(ROOM_FOR_EDGES, EDGES_PER_NODE * items.length));
    if (edges.length <= most) return { edges, edgesLeftOut: 0 };
    edges.sort((a, b) => b.weight - a.weight);
    return { edges: edges.slice(0, most), edgesLeftOut: edges.length - most };
  }
}
