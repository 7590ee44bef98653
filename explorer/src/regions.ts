// Where classes are at home in a picture: the place around which most of their nodes are, if they are the majority there.

import type { Disc, Region } from "./painter";
import type { Item, Tree } from "./tree";

const MOST_ITEMS = 700; // that are looked at, of a larger picture
const NEAR = 0.07; // of the picture's size
const MAJORITY = 0.5; // share of the nodes nearby
const FEWEST = 0.02; // share of all nodes

export function regionsOf(
  items: Item[],
  discOf: (item: Item) => Disc,
  classOf: (item: Item) => number | null,
  tree: Tree,
): Region[] {
  if (!items.length || classOf(items[0]) === null) return [];
  const some = items.filter((_, k) => k % Math.ceil(items.length / MOST_ITEMS) === 0);
  const discs = some.map(discOf);
  const [xs, ys] = [discs.map(({ x }) => x), discs.map(({ y }) => y)];
  const size = Math.max(Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys)) || 1;
  const classes = some.map(classOf);
  const total = discs.reduce((sum, { nodes }) => sum + nodes, 0);
  const best = new Map<number, { at: Disc; near: number; home: boolean; nodes: number }>();
  discs.forEach((disc, i) => {
    const which = classes[i];
    if (which === null || which < 0 || disc.faded || tree.isRarer(which)) return;
    let [same, all] = [0, 0];
    discs.forEach((other, j) => {
      const far = ((other.x - disc.x) ** 2 + (other.y - disc.y) ** 2) / (NEAR * size) ** 2;
      if (far > 9) return;
      const weight = other.nodes * Math.exp(-far / 2);
      all += weight;
      if (classes[j] === which) same += weight;
    });
    const found = best.get(which) ?? { at: disc, near: 0, home: false, nodes: 0 };
    found.nodes += disc.nodes;
    if (same > found.near) Object.assign(found, { at: disc, near: same, home: same > MAJORITY * all });
    best.set(which, found);
  });
  const found = [...best].filter(([, { home, nodes }]) => home && nodes > FEWEST * total);
  if (found.length < 2) return []; // one name alone would seem to be that of the whole
  return found
    .sort(([, a], [, b]) => b.nodes - a.nodes)
    .map(([which, { at }]) => ({ x: at.x, y: at.y, r: at.r, name: tree.manifest.classes[which] }));
}
