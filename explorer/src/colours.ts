// Five ways to colour the items, each with its legend.

import { mostFrequent, type Item, type Tree } from "./tree";

export type Colouring = "predicted" | "label" | "confidence" | "error" | "level";

export interface Shade {
  colour: string;
  name: string;
}

type Rgb = [number, number, number];

const UNKNOWN = "#a7adb6";
const RIGHT: Rgb = [0, 114, 178];
const WRONG: Rgb = [213, 94, 0];
// cividis, a colour-blind-safe scale
const SCALE: Rgb[] = [
  [0, 34, 78],
  [64, 77, 108],
  [124, 123, 120],
  [187, 175, 113],
  [254, 232, 56],
];

export class Colours {
  constructor(private readonly tree: Tree) {}

  colour(item: Item, by: Colouring): string {
    const { manifest } = this.tree;
    if (by === "level") return scale(this.tree.depth ? item.level / this.tree.depth : 0);
    const sum = this.tree.summary(item);
    if (by === "confidence") return scale(stretched(sum.confidence));
    if (by === "error") return sum.evaluated ? mix(RIGHT, WRONG, sum.wrong / sum.evaluated) : UNKNOWN;
    const counts = by === "label" ? sum.labels : sum.predicted;
    const most = mostFrequent(counts);
    return most ? paler(manifest.colours[most[0]], agreement(counts, most[1])) : UNKNOWN;
  }

  legend(by: Colouring): Shade[] {
    const { manifest } = this.tree;
    if (by === "level") {
      return manifest.levels.map(({ nodes }, level) => ({
        colour: scale(this.tree.depth ? level / this.tree.depth : 0),
        name: `level ${level}: ${nodes.toLocaleString("en")} nodes`,
      }));
    }
    if (by === "confidence") {
      return [0.2, 0.4, 0.6, 0.8, 1].map((value) => ({
        colour: scale(stretched(value)),
        name: `${100 * value} %`,
      }));
    }
    if (by === "error") {
      return [
        { colour: mix(RIGHT, WRONG, 0), name: "correct" },
        { colour: mix(RIGHT, WRONG, 0.5), name: "half wrong" },
        { colour: mix(RIGHT, WRONG, 1), name: "wrong" },
        { colour: UNKNOWN, name: `no ${manifest.evaluated} node` },
      ];
    }
    const shared = manifest.classes.length > new Set(manifest.colours).size;
    const grey = manifest.colours.find((colour, at) => manifest.colours.indexOf(colour) !== at);
    const shades = manifest.classes
      .map((name, at) => ({ colour: manifest.colours[at], name }))
      .filter(({ colour }) => !shared || colour !== grey);
    if (shared && grey) shades.push({ colour: grey, name: `${manifest.classes.length - shades.length} rarer classes` });
    if (by === "label") shades.push({ colour: UNKNOWN, name: "no label" });
    return shades;
  }
}

function agreement(counts: Map<number, number>, most: number): number {
  let total = 0;
  for (const count of counts.values()) total += count;
  return most / total;
}

/** The colour scale starts at a confidence of 0.2; lower values are rare. */
function stretched(confidence: number): number {
  return Math.max(0, (confidence - 0.2) / 0.8);
}

function scale(value: number): string {
  const at = Math.min(Math.max(value, 0), 1) * (SCALE.length - 1);
  const low = Math.min(Math.floor(at), SCALE.length - 2);
  return mix(SCALE[low], SCALE[low + 1], at - low);
}

function mix(a: Rgb, b: Rgb, share: number): string {
  return hex(a.map((value, k) => value + share * (b[k] - value)) as Rgb);
}

function hex(rgb: Rgb): string {
  return `#${rgb.map((value) => Math.round(value).toString(16).padStart(2, "0")).join("")}`;
}

/** Mix the colour with grey if the members of a hyper-node disagree. */
function paler(colour: string, agreeing: number): string {
  if (agreeing === 1) return colour;
  const rgb = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)) as Rgb;
  return mix([200, 204, 210], rgb, 0.35 + 0.65 * agreeing);
}
