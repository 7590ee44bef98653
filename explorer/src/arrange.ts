// Where the items of a picture stand: nested in their hyper-nodes, or at places of the nodes such as a map.

import type { Item, Tree } from "./tree";
import { keyOf, type Picture } from "./view";

export interface Placed {
  x: number;
  y: number;
  r: number;
}

export type Places = Map<string, Placed>;

export interface Arrangement {
  readonly name: string;
  readonly title: string;
  /** Whether an opened hyper-node has a ring with its members in it. */
  readonly nests: boolean;
  /** Metres per unit of length; 0 if lengths mean nothing. */
  readonly unit: number;
  place(picture: Picture): Places;
  /** The corners of what is shown at first; null if that is everything. */
  readonly corners: [low: { x: number; y: number }, high: { x: number; y: number }] | null;
}

const GAP = 1.12; // discs are pushed apart to this multiple of the distance at which they touch
const RING = 1.1; // a ring is this much larger than what is in it

export function arrangements(tree: Tree): Arrangement[] {
  const places = tree.manifest.places.map(([name, title, unit]) => new AtPlaces(tree, name, title, unit));
  const map = places.filter(({ name }) => name === "map");
  return [...map, new Nested(tree), ...places.filter(({ name }) => name !== "map")];
}

/** Members stand in the disc of their hyper-node. An opened one grows, and its surroundings make room. */
class Nested implements Arrangement {
  readonly corners = null;
  readonly name = "hierarchy";
  readonly title = "hierarchy";
  readonly nests = true;
  readonly unit = 0;

  constructor(private readonly tree: Tree) {}

  place(picture: Picture): Places {
    const open = new Set(picture.opened.map(keyOf));
    const enlarged = Math.sqrt(picture.oneOf); // a sample covers the same area as all nodes would
    const top = [...picture.items, ...picture.opened].filter(({ level }) => level === picture.level);
    const boxes = top.map((item) => this.box(item, open));
    const centres: Placed[] = top.map((item, k) => ({
      ...this.tree.place(item),
      r: open.has(keyOf(item)) ? boxes[k].r : this.tree.radius(item) * enlarged,
    }));
    if (open.size) makeRoom(centres, top.map((item) => (open.has(keyOf(item)) ? this.tree.radius(item) : 0)));
    const places: Places = new Map();
    boxes.forEach((box, k) => box.put(places, centres[k].x, centres[k].y, centres[k].r));
    return places;
  }

  /** The radius of an item, and how to put it and its members at a place. */
  private box(item: Item, open: Set<string>): { r: number; put(places: Places, x: number, y: number, r: number): void } {
    const key = keyOf(item);
    if (!open.has(key)) return { r: this.tree.radius(item), put: (places, x, y, r) => void places.set(key, { x, y, r }) };
    const members = this.tree.members(item);
    const boxes = members.map((member) => this.box(member, open));
    const area = boxes.reduce((sum, { r }) => sum + r * r, 0);
    const spots = members.map((member, k): Placed => ({ ...this.tree.place(member), r: boxes[k].r }));
    const [cx, cy] = middle(spots);
    const wide = Math.max(...spots.map(({ x, y }) => Math.hypot(x - cx, y - cy))) || 1;
    const scale = spots.length > 1 ? (1.25 * Math.sqrt(area)) / wide : 0;
    for (const spot of spots) [spot.x, spot.y] = [(spot.x - cx) * scale, (spot.y - cy) * scale];
    pushApart(spots, () => 1, 60);
    const [mx, my] = middle(spots);
    for (const spot of spots) [spot.x, spot.y] = [spot.x - mx, spot.y - my];
    const r = (members.length > 1 ? RING : 1) * Math.max(...spots.map(({ x, y, r }) => Math.hypot(x, y) + r));
    return {
      r,
      put: (places, x, y) => {
        places.set(key, { x, y, r });
        boxes.forEach((box, k) => box.put(places, x + spots[k].x, y + spots[k].y, box.r));
      },
    };
  }
}

function middle(spots: Placed[]): [number, number] {
  let [x, y, mass] = [0, 0, 0];
  for (const spot of spots) {
    const area = spot.r * spot.r;
    [x, y, mass] = [x + area * spot.x, y + area * spot.y, mass + area];
  }
  return [x / mass, y / mass];
}

/** Push all discs away from those that have grown. `before` has the old radius of a disc that is opened, else 0. */
function makeRoom(discs: Placed[], before: number[]): void {
  const grown = discs.flatMap((disc, k) => (before[k] ? [{ ...disc, old: before[k], k }] : []));
  for (const { k, old } of grown) {
    const { x, y, r } = discs[k];
    discs.forEach((disc, other) => {
      if (other === k) return;
      const far = Math.hypot(disc.x - x, disc.y - y) || 1e-9;
      const factor = Math.sqrt(1 + (r * r - old * old) / (far * far)); // keeps areas
      [disc.x, disc.y] = [x + (disc.x - x) * factor, y + (disc.y - y) * factor];
    });
  }
  pushApart(discs, (k) => (before[k] ? 50 : 1), 25);
}

/** Move overlapping discs away from each other; a disc with more mass moves less. */
function pushApart(discs: Placed[], mass: (k: number) => number, rounds: number): void {
  const radii = discs.map(({ r }) => r).sort((a, b) => a - b);
  const wide = 2 * GAP * radii[Math.floor(0.98 * (radii.length - 1))] || 1;
  const large = discs.map((_, k) => k).filter((k) => 2 * GAP * discs[k].r > wide);
  for (let round = 0; round < rounds; round++) {
    const cells = new Map<number, number[]>();
    const cellOf = (x: number, y: number) => Math.floor(x / wide) * 1_000_003 + Math.floor(y / wide);
    discs.forEach(({ x, y }, k) => {
      const at = cellOf(x, y);
      const cell = cells.get(at);
      if (cell) cell.push(k);
      else cells.set(at, [k]);
    });
    let moved = 0;
    const push = (i: number, j: number) => {
      const [a, b] = [discs[i], discs[j]];
      const far = Math.hypot(a.x - b.x, a.y - b.y);
      const overlap = GAP * (a.r + b.r) - far;
      if (overlap <= 0) return;
      const [dx, dy] = far > 1e-9 ? [(a.x - b.x) / far, (a.y - b.y) / far] : [Math.cos(i), Math.sin(i)];
      const [ma, mb] = [mass(i) * a.r, mass(j) * b.r];
      const [sa, sb] = [(0.9 * overlap * mb) / (ma + mb), (0.9 * overlap * ma) / (ma + mb)];
      [a.x, a.y, b.x, b.y] = [a.x + dx * sa, a.y + dy * sa, b.x - dx * sb, b.y - dy * sb];
      moved = Math.max(moved, overlap / (a.r + b.r));
    };
    for (let i = 0; i < discs.length; i++) {
      const { x, y } = discs[i];
      for (let dx = -1; dx <= 1; dx++) {
        for (let dy = -1; dy <= 1; dy++) {
          for (const j of cells.get(cellOf(x + dx * wide, y + dy * wide)) ?? []) if (j > i) push(i, j);
        }
      }
    }
    for (const i of large) for (let j = 0; j < discs.length; j++) if (j !== i) push(i, j);
    if (moved < 0.01) return;
  }
}

/** Nodes stand at places of their own, hyper-nodes in the middle of their nodes. */
class AtPlaces implements Arrangement {
  readonly nests = false;
  private readonly x: Float64Array; // sums over the nodes with a smaller number
  private readonly y: Float64Array;
  private readonly radius: number;
  readonly corners: [low: { x: number; y: number }, high: { x: number; y: number }];

  constructor(
    private readonly tree: Tree,
    readonly name: string,
    readonly title: string,
    readonly unit: number,
  ) {
    const [x, y] = ["X", "Y"].map((axis) => tree.array(name + axis));
    [this.x, this.y] = [sums(x), sums(y)];
    const [across, up] = [mainRange(x), mainRange(y)];
    this.corners = [{ x: across[0], y: up[0] }, { x: across[1], y: up[1] }];
    this.radius = (0.25 * Math.max(across[1] - across[0], up[1] - up[0])) / Math.sqrt(tree.size(0));
  }

  place(picture: Picture): Places {
    const enlarged = Math.sqrt(picture.oneOf);
    const places: Places = new Map();
    for (const item of picture.items) {
      const [low, high] = this.tree.nodes(item);
      const nodes = high - low;
      places.set(keyOf(item), {
        x: (this.x[high] - this.x[low]) / nodes,
        y: (this.y[high] - this.y[low]) / nodes,
        r: this.radius * Math.sqrt(nodes) * enlarged,
      });
    }
    return places;
  }
}

/** The range of the middle 98 % of values in 16 bits, as shares, and a tenth more on both sides if there are values. */
function mainRange(values: ArrayLike<number>): [number, number] {
  const sorted = Float64Array.from(values, (value) => value / 65535).sort();
  const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))];
  const room = 0.1 * (at(0.99) - at(0.01));
  return [Math.max(at(0), at(0.01) - room), Math.min(at(1), at(0.99) + room)];
}

function sums(values: ArrayLike<number>): Float64Array {
  const total = new Float64Array(values.length + 1);
  for (let k = 0; k < values.length; k++) total[k + 1] = total[k] + values[k] / 65535;
  return total;
}
