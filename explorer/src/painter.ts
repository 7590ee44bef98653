// Paints the picture on a canvas: many discs and lines by way of `Pixels`, words and what is in focus by the canvas.

import type { Camera, Spot } from "./camera";
import { rgb } from "./colours";
import { shortened } from "./page";
import { Pixels } from "./pixels";

export interface Disc extends Spot {
  r: number; // in units of the graph
  colour: string;
  nodes: number;
  label: string; // the id of a node, the class of a hyper-node
  faded: boolean;
  at: Spot; // on the canvas, when it was last painted
}

export interface Line {
  from: Disc;
  to: Disc;
  width: number; // in units of the graph
}

/** The name of a class, where most of its nodes are. */
export interface Region extends Spot {
  name: string;
  r: number; // of the disc there
}

/** Words in the picture, and where they are. */
export interface Words {
  text: string;
  left: number;
  wide: number;
  y: number; // of their middle
}

const MOST_LABELS = 70;
const NAMED_FROM = 11; // pixels of radius from which on a node is named
const COUNTED_FROM = 8; // and from which on a hyper-node shows how many nodes it holds
const APART = { x: 24, y: 34 }; // pixels between names
const FONT = "500 12px system-ui, sans-serif";
const STRONG = "600 13px system-ui, sans-serif";
const REGION = "650 15px system-ui, sans-serif";
const CROWDED = 0.2; // share of the stage that edges cover before they are drawn lighter
const THINNEST = 0.9; // pixels
const WIDEST = 3;
const LEAST = 1.2; // pixels of a disc's radius
const RIM = 1; // pixels between a disc and what is below it

export class Painter {
  readonly canvas: HTMLCanvasElement;
  private readonly context: CanvasRenderingContext2D;
  private readonly pixels = new Pixels();
  private readonly widths = new Map<string, number>(); // of texts, by font and text
  private ratio = 1;

  constructor(
    private readonly camera: Camera,
    opaque: boolean,
  ) {
    this.canvas = document.createElement("canvas");
    // kept in main memory, since its pixels are written there
    this.context = this.canvas.getContext("2d", { alpha: !opaque, willReadFrequently: true }) as CanvasRenderingContext2D;
  }

  /** Clear the canvas, which gets the size of the stage. */
  begin(): void {
    this.resize();
    this.context.clearRect(0, 0, this.camera.width, this.camera.height);
  }

  private resize(): void {
    this.ratio = Math.min(devicePixelRatio || 1, 2);
    const [width, height] = [this.camera.width, this.camera.height].map((size) => Math.round(size * this.ratio));
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
  }

  /** Paint rings of opened hyper-nodes, lines and discs over the ground, the faded ones below the others. */
  many(rings: Disc[], lines: Line[], discs: Disc[], ground: string, edge: string, faint: (colour: string) => string): void {
    this.resize();
    const { ratio, pixels } = this;
    const { width, height } = this.canvas;
    const scale = this.camera.scale * ratio;
    const spot = (disc: Disc): Spot => {
      const { x, y } = this.camera.toScreen(disc);
      return { x: x * ratio, y: y * ratio };
    };
    pixels.begin(width, height, ground);
    for (const ring of rings) {
      const { x, y } = spot(ring);
      pixels.disc(x, y, ring.r * scale, ring.colour, 0.14);
    }
    for (const disc of discs) disc.at = spot(disc);
    const [least, most] = [THINNEST * ratio, WIDEST * ratio];
    for (const faded of [true, false]) {
      const group = lines.filter((line) => (line.from.faded || line.to.faded) === faded && crosses(line, width, height));
      if (!group.length) continue;
      const wide = ({ width }: Line) => Math.min(Math.max(width * scale, least), most);
      let covered = 0;
      for (const line of group) covered += wide(line) * Math.min(length(line), width);
      const alpha = Math.min(1, Math.max(0.35, (CROWDED * width * height) / covered));
      for (const line of group) pixels.line(line.from.at.x, line.from.at.y, line.to.at.x, line.to.at.y, wide(line), alpha);
      pixels.paintLines(faded ? faint(edge) : edge);
    }
    for (const faded of [true, false]) {
      for (const disc of discs) {
        if (disc.faded !== faded) continue;
        const { x, y } = disc.at;
        const r = Math.max(disc.r * scale, LEAST * ratio);
        if (x + r < 0 || y + r < 0 || x - r > width || y - r > height) continue;
        pixels.disc(x, y, r, faded ? faint(disc.colour) : disc.colour, 1, r > 3 * ratio ? RIM * ratio : 0, ground);
      }
    }
    pixels.end(this.context);
    for (const ring of rings) this.ring(ring);
  }

  /** Paint some lines. */
  lines(lines: Iterable<Line>, colour: string): void {
    this.context.strokeStyle = colour;
    for (const { from, to, width } of lines) {
      const [a, b] = [this.camera.toScreen(from), this.camera.toScreen(to)];
      this.context.lineWidth = 1.5 * Math.min(Math.max(width * this.camera.scale, THINNEST), WIDEST);
      this.context.beginPath();
      this.context.moveTo(a.x, a.y);
      this.context.lineTo(b.x, b.y);
      this.context.stroke();
    }
  }

  /** Paint some discs. */
  discs(discs: Iterable<Disc>): void {
    for (const disc of discs) {
      this.circle(disc, 0);
      this.context.fillStyle = disc.colour;
      this.context.fill();
    }
  }

  private circle(disc: Disc, more: number): void {
    const { x, y } = this.camera.toScreen(disc);
    this.context.beginPath();
    this.context.arc(x, y, Math.max(disc.r * this.camera.scale, LEAST) + more, 0, 2 * Math.PI);
  }

  /** Paint the ring of an opened hyper-node. */
  ring(disc: Disc): void {
    this.circle(disc, 0);
    this.context.globalAlpha = 0.4;
    this.context.strokeStyle = disc.colour;
    this.context.lineWidth = 1.5;
    this.context.stroke();
    this.context.globalAlpha = 1;
  }

  /** Write the number of nodes into hyper-nodes, with their class if it fits, and name nodes where there is room. */
  labels(discs: Disc[], ink: string, paper: string, over: Words[]): void {
    const { width, height, scale } = this.camera;
    const large = discs.filter(({ r, faded, nodes }) => !faded && r * scale >= (nodes > 1 ? COUNTED_FROM : NAMED_FROM));
    const beside: Disc[] = [];
    this.context.font = FONT;
    for (const disc of large) {
      const { x, y } = this.camera.toScreen(disc);
      const r = disc.r * scale;
      if (x + r < 0 || y + r < 0 || x - r > width || y - r > height) continue;
      if (over.some(({ left, wide, y: at }) => Math.abs(y - at) < 16 && x > left - 10 && x < left + wide + 10)) continue;
      const words = disc.nodes > 1 ? disc.nodes.toLocaleString("en") : shortened(disc.label, 30);
      if (this.wide(words) > 1.8 * r) {
        if (disc.nodes === 1) beside.push(disc);
        continue;
      }
      const named = disc.nodes > 1 && r > 22 && this.wide(disc.label) < 1.75 * r;
      this.context.textAlign = "center";
      this.context.fillStyle = legible(disc.colour);
      if (named) this.context.fillText(disc.label, x, y - 3);
      this.context.fillText(words, x, y + (named ? 13 : 4.5));
      this.context.textAlign = "left";
    }
    this.names(beside, ink, paper, APART);
  }

  /** Write names beside discs, the largest first, where there is room; on the side that is away from a disc, if given. */
  names(discs: Disc[], ink: string, paper: string, gap = { x: 8, y: 17 }, from?: Disc): void {
    const { width, height, scale } = this.camera;
    const taken: [number, number, number][] = []; // left, right, height
    this.context.font = FONT;
    for (const disc of [...discs].sort((a, b) => b.r - a.r).slice(0, 20 * MOST_LABELS)) {
      const { x, y } = this.camera.toScreen(disc);
      if (x < 0 || y < 0 || x > width || y > height) continue;
      const text = shortened(disc.nodes > 1 ? `${disc.nodes.toLocaleString("en")} · ${disc.label}` : disc.label, 30);
      const [wide, beside] = [this.wide(text), disc.r * scale + 4];
      const left = from && x < this.camera.toScreen(from).x ? x - beside - wide : x + beside;
      const clashes = taken.some(([a, b, h]) => Math.abs(h - y) < gap.y && left < b + gap.x && left + wide > a - gap.x);
      if (clashes) continue;
      taken.push([left, left + wide, y]);
      this.haloed(text, left, y + 4, ink, paper);
      if (taken.length >= MOST_LABELS) break;
    }
  }

  /** Find room for the names of classes over their regions; those that would lie over another are moved down. */
  placed(regions: Region[]): Words[] {
    this.context.font = REGION;
    const taken: Words[] = [];
    for (const region of regions) {
      const spot = this.camera.toScreen(region);
      const text = shortened(region.name, 30);
      const wide = this.wide(text);
      const x = Math.min(Math.max(spot.x, wide / 2 + 6), this.camera.width - wide / 2 - 6);
      if (Math.abs(x - spot.x) > wide) continue; // beside the stage
      let y = spot.y - region.r * this.camera.scale - 9; // above the disc, not on it
      const left = x - wide / 2;
      while (taken.some((other) => Math.abs(other.y - y) < 26 && left < other.left + other.wide + 16 && left + wide > other.left - 16)) y += 26;
      taken.push({ text, left, wide, y });
    }
    return taken;
  }

  /** Write the names of classes. */
  regions(names: Words[], ink: string, paper: string): void {
    this.context.font = REGION;
    for (const { text, left, wide, y } of names) this.plate(text, left, wide, y, ink, paper, 0.84);
  }

  /** Write words on a plate of paper. */
  private plate(text: string, left: number, wide: number, y: number, ink: string, paper: string, opacity: number): void {
    this.context.globalAlpha = opacity;
    this.context.fillStyle = paper;
    this.context.beginPath();
    this.context.roundRect(left - 6, y - 11, wide + 12, 22, 6);
    this.context.fill();
    this.context.globalAlpha = 1;
    this.context.fillStyle = ink;
    this.context.fillText(text, left, y + 4.5);
  }

  private wide(text: string): number {
    const key = this.context.font + text;
    let found = this.widths.get(key);
    if (found === undefined) this.widths.set(key, (found = this.context.measureText(text).width));
    return found;
  }

  private haloed(text: string, x: number, y: number, ink: string, paper: string): void {
    this.context.lineWidth = 3;
    this.context.lineJoin = "round";
    this.context.strokeStyle = paper;
    this.context.strokeText(text, x, y);
    this.context.fillStyle = ink;
    this.context.fillText(text, x, y);
  }

  /** Mark a disc with a circle around it and its name beside it, on the side that covers least of the other discs. */
  chosen(disc: Disc, name: string, ink: string, paper: string, others: Disc[]): void {
    const { x, y } = this.camera.toScreen(disc);
    this.circle(disc, 2.5);
    this.context.lineWidth = 2.5;
    this.context.strokeStyle = ink;
    this.context.stroke();
    this.context.font = STRONG;
    const text = shortened(name, 60);
    const wide = this.wide(text);
    const r = Math.max(disc.r * this.camera.scale, LEAST);
    const { width, height, scale } = this.camera;
    const inside = (left: number) => Math.max(12, Math.min(left, width - wide - 12));
    const sides: [left: number, at: number][] = [
      [x + r + 12, y],
      [x - r - 12 - wide, y],
      [inside(x - wide / 2), y + r + 18],
      [inside(x - wide / 2), y - r - 18],
    ];
    const spots = others.map((other) => ({ ...this.camera.toScreen(other), r: other.r * scale }));
    const covered = ([left, at]: [number, number]) => {
      if (left < 0 || left + wide > width || at < 40 || at > height - 14) return Infinity; // beside the stage, or below the way down
      return spots.filter((spot) => spot.x + spot.r > left && spot.x - spot.r < left + wide && Math.abs(spot.y - at) < spot.r + 11).length;
    };
    const costs = sides.map(covered);
    const best = costs.indexOf(Math.min(...costs));
    const [left, at] = Number.isFinite(costs[best]) ? sides[best] : [inside(x + r + 12), y];
    this.plate(text, left, wide, at, ink, paper, 0.92);
  }
}

function length({ from, to }: Line): number {
  const [dx, dy] = [from.at.x - to.at.x, from.at.y - to.at.y];
  return Math.sqrt(dx * dx + dy * dy);
}

/** Whether a line may be seen. */
function crosses({ from: { at: a }, to: { at: b } }: Line, width: number, height: number): boolean {
  return !((a.x < 0 && b.x < 0) || (a.y < 0 && b.y < 0) || (a.x > width && b.x > width) || (a.y > height && b.y > height));
}

/** Black or white, whichever can be read better on a colour. */
function legible(colour: string): string {
  const [red, green, blue] = rgb(colour).map((value) => (value / 255) ** 2.2);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.3 ? "#101215" : "#ffffff";
}
