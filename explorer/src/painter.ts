// Paints discs, edges and names on a canvas. One path per colour: far fewer calls than one per disc.

import type { Camera, Spot } from "./camera";
import { shortened } from "./page";

export interface Disc extends Spot {
  r: number; // in units of the graph
  colour: string;
  label: string;
  faded: boolean;
}

export interface Line {
  from: Disc;
  to: Disc;
  width: number; // in units of the graph
}

const MOST_LABELS = 70;
const NAMED_FROM = 11; // pixels of radius from which on a disc is named
const APART = { x: 24, y: 34 }; // pixels between names
const FONT = "500 12px system-ui, sans-serif";
const STRONG = "600 13px system-ui, sans-serif";
const CROWDED = 0.2; // share of the stage that edges cover before they are drawn lighter
const WIDTHS = [0.9, 1.4, 2.1, 3]; // pixels of the lines that are drawn together

export class Painter {
  readonly canvas: HTMLCanvasElement;
  private readonly context: CanvasRenderingContext2D;

  constructor(
    private readonly camera: Camera,
    opaque: boolean,
  ) {
    this.canvas = document.createElement("canvas");
    // painted by the processor: where WebGL and the canvas are emulated in software this is many times faster
    this.context = this.canvas.getContext("2d", { alpha: !opaque, willReadFrequently: true }) as CanvasRenderingContext2D;
  }

  /** Clear the canvas, which gets the size of the stage. */
  begin(ground: string | null): void {
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const [width, height] = [Math.round(this.camera.width * ratio), Math.round(this.camera.height * ratio)];
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (ground) {
      this.context.fillStyle = ground;
      this.context.fillRect(0, 0, this.camera.width, this.camera.height);
    } else this.context.clearRect(0, 0, this.camera.width, this.camera.height);
  }

  lines(lines: Iterable<Line>, colour: string, thicker = 1): void {
    const { width, height, scale } = this.camera;
    const groups: number[][] = WIDTHS.map(() => []);
    let covered = 0; // pixels
    for (const line of lines) {
      const [a, b] = [this.camera.toScreen(line.from), this.camera.toScreen(line.to)];
      if ((a.x < 0 && b.x < 0) || (a.y < 0 && b.y < 0) || (a.x > width && b.x > width) || (a.y > height && b.y > height)) continue;
      const pixels = line.width * scale * thicker;
      const group = WIDTHS.findIndex((most) => pixels <= most);
      const wide = group < 0 ? WIDTHS.length - 1 : group;
      groups[wide].push(a.x, a.y, b.x, b.y);
      covered += WIDTHS[wide] * Math.min(Math.hypot(a.x - b.x, a.y - b.y), width);
    }
    this.context.strokeStyle = colour;
    if (thicker === 1) this.context.globalAlpha = Math.min(1, Math.max(0.35, (CROWDED * width * height) / covered));
    groups.forEach((ends, k) => {
      if (!ends.length) return;
      this.context.lineWidth = WIDTHS[k] * (thicker > 1 ? 1.5 : 1);
      this.context.beginPath();
      for (let i = 0; i < ends.length; i += 4) {
        this.context.moveTo(ends[i], ends[i + 1]);
        this.context.lineTo(ends[i + 2], ends[i + 3]);
      }
      this.context.stroke();
    });
    this.context.globalAlpha = 1;
  }

  discs(discs: Iterable<Disc>, colourOf: (disc: Disc) => string = ({ colour }) => colour): void {
    const { width, height, scale } = this.camera;
    const groups = new Map<string, number[]>();
    for (const disc of discs) {
      const { x, y } = this.camera.toScreen(disc);
      const r = Math.max(disc.r * scale, 1.2);
      if (x + r < 0 || y + r < 0 || x - r > width || y - r > height) continue;
      const colour = colourOf(disc);
      const group = groups.get(colour);
      if (group) group.push(x, y, r);
      else groups.set(colour, [x, y, r]);
    }
    for (const [colour, group] of groups) {
      this.context.fillStyle = colour;
      this.context.beginPath();
      for (let i = 0; i < group.length; i += 3) {
        const [x, y, r] = [group[i], group[i + 1], group[i + 2]];
        this.context.moveTo(x + r, y);
        this.context.arc(x, y, r, 0, 2 * Math.PI);
      }
      this.context.fill();
    }
  }

  /** Paint the ring of an opened hyper-node. */
  ring(disc: Disc, alpha: number): void {
    const { x, y } = this.camera.toScreen(disc);
    const r = disc.r * this.camera.scale;
    this.context.beginPath();
    this.context.arc(x, y, r, 0, 2 * Math.PI);
    this.context.globalAlpha = alpha;
    this.context.fillStyle = disc.colour;
    this.context.fill();
    this.context.globalAlpha = Math.min(1, 4 * alpha);
    this.context.strokeStyle = disc.colour;
    this.context.lineWidth = 1.5;
    this.context.stroke();
    this.context.globalAlpha = 1;
  }

  /** Name discs, the largest first, where there is room; all of them if `every`. */
  labels(discs: Disc[], ink: string, paper: string, every = false): void {
    const { width, height, scale } = this.camera;
    const large = every ? discs : discs.filter(({ r, label, faded }) => label && !faded && r * scale >= NAMED_FROM);
    const gap = every ? { x: 8, y: 17 } : APART;
    const taken: [number, number, number][] = []; // left, right, height
    this.context.font = FONT;
    for (const disc of [...large].sort((a, b) => b.r - a.r).slice(0, 20 * MOST_LABELS)) {
      const { x, y } = this.camera.toScreen(disc);
      if (x < 0 || y < 0 || x > width || y > height) continue;
      const text = shortened(disc.label, 30);
      const wide = this.context.measureText(text).width;
      const r = disc.r * scale;
      const left = r > 0.4 * wide ? x - wide / 2 : x + r + 4;
      const clashes = taken.some(([a, b, h]) => Math.abs(h - y) < gap.y && left < b + gap.x && left + wide > a - gap.x);
      if (clashes) continue;
      taken.push([left, left + wide, y]);
      this.words(text, left, y + 4, ink, paper);
      if (taken.length >= MOST_LABELS) break;
    }
  }

  private words(text: string, x: number, y: number, ink: string, paper: string): void {
    this.context.lineWidth = 3;
    this.context.lineJoin = "round";
    this.context.strokeStyle = paper;
    this.context.strokeText(text, x, y);
    this.context.fillStyle = ink;
    this.context.fillText(text, x, y);
  }

  /** Mark a disc with a circle around it and its name beside it. */
  chosen(disc: Disc, name: string, ink: string, paper: string): void {
    const { x, y } = this.camera.toScreen(disc);
    const r = Math.max(disc.r * this.camera.scale, 1.2) + 2.5;
    this.context.beginPath();
    this.context.arc(x, y, r, 0, 2 * Math.PI);
    this.context.lineWidth = 2.5;
    this.context.strokeStyle = ink;
    this.context.stroke();
    this.context.font = STRONG;
    const text = shortened(name, 60);
    const wide = this.context.measureText(text).width;
    const left = Math.max(8, Math.min(x + r + 6, this.camera.width - wide - 8));
    this.context.globalAlpha = 0.92;
    this.context.fillStyle = paper;
    this.context.fillRect(left - 4, y - 11, wide + 8, 22);
    this.context.globalAlpha = 1;
    this.context.fillStyle = ink;
    this.context.fillText(text, left, y + 4.5);
  }
}
