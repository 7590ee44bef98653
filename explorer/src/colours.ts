// Five ways to colour the items, each with its legend.

import { RARER } from "./filter";
import { mostFrequent, type Item, type Tree } from "./tree";

export type Colouring = "predicted" | "label" | "confidence" | "error" | "level";

/** An entry of a legend: a class with its number, another shade, or a scale from one name to another. */
export interface Shade {
  colour: string;
  name: string;
  which?: number;
  to?: string;
}

type Rgb = [number, number, number];

// cividis, a colour-blind-safe scale
const SCALE: Rgb[] = [
  [0, 34, 78],
  [64, 77, 108],
  [124, 123, 120],
  [187, 175, 113],
  [254, 232, 56],
];
const ERRORS: Rgb[] = [
  [0, 114, 178],
  [236, 214, 160],
  [213, 94, 0],
];

export class Colours {
  private readonly variables = new Map<string, string>();
  private chosen: number | null = null; // a class that gets a colour of its own for now

  constructor(private readonly tree: Tree) {
    this.readTheme();
  }

  /** Read the page's colours again, after a change between light and dark. */
  readTheme(): void {
    const style = getComputedStyle(document.documentElement);
    const names = ["--ink", "--muted", "--paper", "--edge", "--line", "--accent", "--grey"];
    for (const name of [...names, ...this.tree.manifest.colours.map((colour) => colour.slice(4, -1))]) {
      this.variables.set(name, style.getPropertyValue(name).trim());
    }
  }

  /** The value of a variable of the page's style, as #rrggbb. */
  theme(name: string): string {
    return this.variables.get(name) ?? "#888888";
  }

  /** Let a class be seen that shares its colour with others. */
  choose(which: number | null): void {
    this.chosen = which !== null && which >= 0 && this.tree.isRarer(which) ? which : null;
  }

  classColour(which: number): string {
    return this.theme(which === this.chosen ? "--accent" : this.tree.manifest.colours[which].slice(4, -1));
  }

  colour(item: Item, by: Colouring): string {
    if (by === "level") return scale(SCALE, this.tree.depth ? item.level / this.tree.depth : 0);
    const sum = this.tree.summary(item);
    if (by === "confidence") return scale(SCALE, stretched(sum.confidence));
    if (by === "error") return sum.evaluated ? scale(ERRORS, sum.wrong / sum.evaluated) : this.theme("--line");
    const counts = by === "label" ? sum.labels : sum.predicted;
    const { numbers } = this.tree.manifest;
    if (numbers) return counts.size ? this.classColour(numbers.ends.filter((end) => (by === "label" ? sum.truth : sum.value) >= end).length) : this.theme("--line");
    const most = mostFrequent(counts);
    return most ? this.mixed(this.classColour(most[0]), agreement(counts, most[1])) : this.theme("--line");
  }

  /** The class whose colour an item has, -1 without a label; null if colours mean something else. */
  classOf(item: Item, by: Colouring): number | null {
    if ((by !== "label" && by !== "predicted") || this.tree.manifest.numbers) return null;
    const sum = this.tree.summary(item);
    return mostFrequent(by === "label" ? sum.labels : sum.predicted)?.[0] ?? -1;
  }

  /** Colours and names. */
  legend(by: Colouring): Shade[] {
    const { manifest, depth } = this.tree;
    if (by === "level") {
      return manifest.levels.map(({ nodes }, level) => ({
        colour: scale(SCALE, depth ? level / depth : 0),
        name: `level ${level}: ${nodes.toLocaleString("en")} nodes`,
      }));
    }
    if (by === "confidence") return [{ colour: ramp(SCALE), name: "confidence 20 %", to: "100 %" }];
    if (by === "error") {
      return [
        { colour: ramp(ERRORS), name: manifest.numbers ? "no large error" : "all correct", to: manifest.numbers ? "all large" : "all wrong" },
        { colour: "var(--line)", name: `no ${manifest.evaluated} node` },
      ];
    }
    const own = manifest.order.filter((which) => !this.tree.isRarer(which));
    const shades: Shade[] = own.map((which) => ({ colour: manifest.colours[which], name: manifest.classes[which], which }));
    const rest = manifest.classes.length - shades.length;
    if (this.chosen !== null) shades.push({ colour: "var(--accent)", name: manifest.classes[this.chosen], which: this.chosen });
    if (rest) shades.push({ colour: "var(--grey)", name: `${rest} rarer classes`, which: RARER });
    if (by === "label") shades.push({ colour: "var(--line)", name: manifest.numbers ? "unknown" : "no label" });
    return shades;
  }

  /** The colour of what is not in focus: almost that of the paper. */
  faint(colour: string): string {
    return blend(this.theme("--paper"), colour, 0.22);
  }

  /** Mix the colour with that of the paper if the members of a hyper-node disagree. */
  private mixed(colour: string, agreeing: number): string {
    return agreeing === 1 ? colour : blend(this.theme("--paper"), colour, 0.3 + 0.7 * agreeing);
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

function scale(stops: Rgb[], value: number): string {
  const at = Math.min(Math.max(value, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  return hex(mix(stops[low], stops[low + 1], at - low));
}

function ramp(stops: Rgb[]): string {
  return `linear-gradient(to right, ${stops.map(hex).join(", ")})`;
}

export function rgb(colour: string): Rgb {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)) as Rgb;
}

/** A colour between two, `share` of the way to the second. */
function blend(from: string, to: string, share: number): string {
  return hex(mix(rgb(from), rgb(to), share));
}

function mix(a: Rgb, b: Rgb, share: number): Rgb {
  return a.map((value, k) => value + share * (b[k] - value)) as Rgb;
}

function hex(colour: Rgb): string {
  return `#${colour.map((value) => Math.round(value).toString(16).padStart(2, "0")).join("")}`;
}
