// The picture on the screen: two canvases, one with everything and one over it with what is in focus, and the camera.
//
// While the picture is moved, the painted canvas itself is moved and scaled, and painted again when there is time: so it
// follows the pointer on slow machines, too.

import type { Placed, Places } from "./arrange";
import { Camera, type Covered, type Spot } from "./camera";
import type { Colours } from "./colours";
import { wireGestures } from "./gestures";
import { figure } from "./page";
import { Painter, type Disc, type Line, type Region } from "./painter";
import { regionsOf } from "./regions";
import { mostFrequent, type Item, type Tree } from "./tree";
import { itemOf, keyOf, type Picture } from "./view";

const MOVE_MS = 350;
const MOST_MOVING = 1500; // items of a picture that moves to the next; a larger one jumps
const MOST_NAMED = 14; // neighbours that are named
const FAST_MS = 12; // a picture that is painted in less time is painted in every frame,
const FRAME_MS = 24; // if frames follow each other in less time than this
const PATIENCE = 8; // another one rests for so many times the time that it took,
const REST_MS = 300; // and at least for so long
const MOST_ZOOM = 4; // classes are named up to this multiple of the scale that shows the whole
const AROUND = 9; // radii of a node that are in view around it
const SMALLEST = 7; // pixels of its radius, if the view goes back to show its neighbours
const REACH = 4; // pixels around a disc that belong to it, too

export interface Look {
  colour(item: Item): string;
  /** Whether the item passes the filter. */
  matches(item: Item): boolean;
  /** The class whose colour the item has; null if colours mean something else. */
  classOf(item: Item): number | null;
}

export class Stage {
  private readonly camera = new Camera();
  private readonly base = new Painter(this.camera, true);
  private readonly over = new Painter(this.camera, false);
  private painted = this.camera.copy(); // the camera of the painted picture
  private paintMs = 0;
  private paintTimer = 0;
  private frame = 0;
  private frameMs = 0; // mean time between frames while the picture is moved
  private lastFrame = 0;
  private places: Places = new Map();
  private discs = new Map<string, Disc>();
  private rings = new Map<string, Disc>();
  private lines: Line[] = [];
  private regions: Region[] = [];
  private fitted = 1; // the scale that shows the whole
  private showsWhole = true;
  private linesOf = new Map<Disc, Line[]>();
  private keys = new Map<Disc, string>();
  private box: [Spot, Spot] = [{ x: 0, y: 0 }, { x: 1, y: 1 }];
  private turns = false;
  private selected: string | null = null;
  private hovered: string | null = null;
  private animation = 0;
  /** Called after the picture was painted. */
  onPaint: (pixelsPerUnit: number) => void = () => undefined;

  constructor(
    private readonly container: HTMLElement,
    hint: HTMLElement,
    private readonly tree: Tree,
    private readonly colours: Colours,
    private readonly covered: () => Covered,
    isFull: () => boolean,
    press: (item: Item | null) => void,
  ) {
    for (const { canvas } of [this.base, this.over]) {
      canvas.setAttribute("aria-hidden", "true");
      container.append(canvas);
    }
    this.resize();
    new ResizeObserver(() => {
      if (!this.resize()) return;
      if (this.showsWhole) this.whole(true);
      else this.paint();
    }).observe(container);
    wireGestures(container, hint, {
      isFull,
      pan: (dx, dy) => this.moved(() => this.camera.pan(dx, dy)),
      zoom: (factor, at) => this.moved(() => this.camera.zoom(factor, at)),
      point: (at) => this.hover(at && this.at(at)),
      press: (at) => {
        const key = this.at(at);
        press(key === null ? null : itemOf(key));
      },
    });
  }

  /** Take the size of the container; return whether it has one and it is new. */
  private resize(): boolean {
    const { clientWidth, clientHeight } = this.container;
    const { width, height } = this.camera;
    if (!clientWidth || !clientHeight || (clientWidth === width && clientHeight === height)) return false;
    Object.assign(this.camera, { width: clientWidth, height: clientHeight });
    return true;
  }

  /** Set the extent of the whole. If `turns`, a wide one is turned upright on an upright screen. */
  setExtent(low: Spot, high: Spot, turns: boolean): void {
    this.box = [low, high];
    this.turns = turns;
  }

  draw(picture: Picture, places: Places, nests: boolean, look: Look): void {
    const before = this.places;
    cancelAnimationFrame(this.animation);
    this.places = places;
    this.hovered = null;
    this.discs = new Map(picture.items.map((item) => [keyOf(item), this.disc(item, look)]));
    const opened = new Set(picture.opened.map(keyOf));
    const inRing = (around: Item | null) => around && opened.has(keyOf(around)) && this.tree.members(around).length === 1;
    const rings = picture.opened.filter((item) => !inRing(this.tree.parent(item))); // one around the same nodes
    this.rings = new Map(nests ? rings.map((item) => [keyOf(item), this.disc(item, look)]) : []);
    this.keys = new Map([...this.discs].map(([key, disc]) => [disc, key]));
    const thin = this.tree.manifest.radius;
    this.lines = picture.edges.map(({ from, to, weight }) => ({
      from: this.discs.get(from) as Disc,
      to: this.discs.get(to) as Disc,
      width: thin * Math.min(0.15 * Math.sqrt(weight), 0.8),
    }));
    this.linesOf = new Map();
    for (const line of this.lines) {
      for (const end of [line.from, line.to]) {
        const found = this.linesOf.get(end);
        if (found) found.push(line);
        else this.linesOf.set(end, [line]);
      }
    }
    this.regions = regionsOf(picture.items, (item) => this.discs.get(keyOf(item)) as Disc, look.classOf, this.tree);
    if (before.size && picture.items.length <= MOST_MOVING && !this.still) this.moveFrom(before);
    else this.paint();
  }

  private disc(item: Item, look: Look): Disc {
    const place = this.places.get(keyOf(item)) as Placed;
    const nodes = this.tree.weight(item);
    const most = mostFrequent(this.tree.summary(item).predicted);
    const kind = this.tree.manifest.numbers ? figure(this.tree.summary(item).value) : most ? this.tree.manifest.classes[most[0]] : "";
    const label = nodes === 1 ? this.tree.ids[this.tree.nodes(item)[0]] : kind;
    return { ...place, colour: look.colour(item), nodes, label, faded: !look.matches(item), at: place };
  }

  /** Let discs move from where they, or the hyper-nodes that held them, stood before. */
  private moveFrom(before: Places): void {
    const moves: [disc: Disc, from: Spot, to: Spot][] = [];
    for (const [key, disc] of [...this.discs, ...this.rings]) {
      const old = this.tree.path(itemOf(key)).map((around) => before.get(keyOf(around))).find(Boolean);
      if (old && (old.x !== disc.x || old.y !== disc.y)) moves.push([disc, old, { x: disc.x, y: disc.y }]);
    }
    if (!moves.length) return this.paint();
    const step = (share: number) => {
      for (const [disc, from, to] of moves) {
        disc.x = from.x + share * (to.x - from.x);
        disc.y = from.y + share * (to.y - from.y);
      }
      this.paint();
    };
    step(0);
    this.animate(step);
  }

  private animate(step: (share: number) => void): void {
    cancelAnimationFrame(this.animation);
    const start = performance.now();
    const next = (now: number) => {
      const t = Math.min(Math.max((now - start) / MOVE_MS, 0), 1);
      step(t * (2 - t));
      if (t < 1) this.animation = requestAnimationFrame(next);
    };
    this.animation = requestAnimationFrame(next);
  }

  private get still(): boolean {
    return matchMedia("(prefers-reduced-motion: reduce)").matches;
  }

  // painting

  private paint(): void {
    clearTimeout(this.paintTimer);
    this.paintTimer = 0;
    const start = performance.now();
    const [ink, paper, edge] = ["--ink", "--paper", "--edge"].map((name) => this.colours.theme(name));
    const discs = [...this.discs.values()];
    this.base.many([...this.rings.values()], this.lines, discs, paper, edge, (colour) => this.colours.faint(colour));
    const names = this.camera.scale < MOST_ZOOM * this.fitted ? this.base.placed(this.regions) : [];
    this.base.labels(discs, ink, paper, names);
    this.base.regions(names, ink, paper);
    this.painted = this.camera.copy();
    this.base.canvas.style.transform = this.over.canvas.style.transform = "";
    this.paintMs = performance.now() - start;
    this.paintFocus();
    this.onPaint(this.camera.scale);
  }

  /** Paint what the pointer or the selection is on, with its neighbours, over the picture, which is dimmed. */
  private paintFocus(): void {
    const [ink, paper, accent] = ["--ink", "--paper", "--accent"].map((name) => this.colours.theme(name));
    const centre = this.focused();
    const rings = [this.selected, this.hovered].filter((key): key is string => key !== null && this.rings.has(key));
    this.over.canvas.hidden = !centre && !rings.length;
    this.base.canvas.classList.toggle("dimmed", centre !== null);
    if (this.over.canvas.hidden) return;
    this.over.begin();
    if (centre) {
      const lines = this.linesOf.get(centre) ?? [];
      const ends = [...new Set(lines.flatMap(({ from, to }) => [from, to]))].filter((disc) => disc !== centre);
      for (const around of this.tree.path(itemOf(this.keys.get(centre) as string))) {
        const ring = this.rings.get(keyOf(around));
        if (ring) this.over.ring(ring);
      }
      this.over.lines(lines, accent);
      this.over.discs([...ends, centre]);
      if (ends.length <= MOST_NAMED) this.over.names(ends, ink, paper, undefined, centre);
      this.over.chosen(centre, this.nameOf(centre), ink, paper, ends);
    }
    for (const key of new Set(rings)) this.over.chosen(this.rings.get(key) as Disc, this.tree.name(itemOf(key)), ink, paper, [...this.discs.values()]);
  }

  private focused(): Disc | null {
    const key = this.hovered !== null && this.discs.has(this.hovered) ? this.hovered : this.selected;
    return (key !== null && this.discs.get(key)) || null;
  }

  private nameOf(disc: Disc): string {
    return this.tree.name(itemOf(this.keys.get(disc) as string));
  }

  /** Keys of the discs that are lit up; null if all are. */
  lit(): string[] | null {
    const centre = this.focused();
    if (!centre) return null;
    const lines = this.linesOf.get(centre) ?? [];
    return [...new Set([centre, ...lines.flatMap(({ from, to }) => [from, to])])].map((disc) => this.keys.get(disc) as string);
  }

  // moving

  /** Change the camera; show the painted picture there at once, and paint it again when there is time. */
  private moved(change: () => void): void {
    cancelAnimationFrame(this.animation);
    this.showsWhole = false;
    change();
    this.frame ||= requestAnimationFrame((now) => {
      this.frame = 0;
      const since = now - this.lastFrame;
      if (since < 250) this.frameMs += 0.3 * (since - this.frameMs);
      this.lastFrame = now;
      if (this.paintMs < FAST_MS && this.frameMs < FRAME_MS) return this.paint();
      this.slide();
      this.paintTimer ||= window.setTimeout(() => this.paint(), Math.max(PATIENCE * this.paintMs, REST_MS));
    });
  }

  /** Move and scale the painted canvases to where the camera is now. */
  private slide(): void {
    const corner = this.camera.toScreen(this.painted.toGraph({ x: 0, y: 0 }));
    const factor = this.camera.scale / this.painted.scale;
    // whole pixels can be copied, which is fast
    const moved = factor === 1 ? `translate(${Math.round(corner.x)}px, ${Math.round(corner.y)}px)` : `translate(${corner.x}px, ${corner.y}px) scale(${factor})`;
    this.base.canvas.style.transform = this.over.canvas.style.transform = moved;
  }

  private moveTo(target: Camera, jump: boolean): void {
    const from = this.camera.copy();
    this.showsWhole = false;
    if (jump || this.still || from.turned !== target.turned) {
      Object.assign(this.camera, target);
      return this.paint();
    }
    const discs = [...this.discs.values(), ...this.rings.values()].map((disc): [Disc, Spot] => {
      const key = this.keys.get(disc) ?? [...this.rings].find(([, ring]) => ring === disc)?.[0];
      return [disc, this.places.get(key as string) as Spot];
    });
    const starts = discs.map(([{ x, y }]) => ({ x, y })); // a move of the discs may be under way
    this.animate((share) => {
      discs.forEach(([disc, to], k) => {
        disc.x = starts[k].x + share * (to.x - starts[k].x);
        disc.y = starts[k].y + share * (to.y - starts[k].y);
      });
      this.camera.between(from, target, share);
      if (this.paintMs < 3 * FAST_MS || share === 1) this.paint();
      else this.slide();
    });
  }

  zoom(factor: number): void {
    const target = this.camera.copy();
    target.zoom(factor);
    this.moveTo(target, false);
  }

  whole(jump = false): void {
    const [low, high] = this.box;
    const covered = this.covered();
    const upright = this.camera.height - covered.bottom > 1.15 * (this.camera.width - covered.right);
    const turned = this.turns && upright && high.x - low.x > 1.15 * (high.y - low.y);
    const target = this.camera.fitted(low, high, covered, 1, turned);
    this.fitted = target.scale;
    this.moveTo(target, jump);
    this.showsWhole = true;
  }

  /** Move the camera to some items, close enough to see them and as much around them as a multiple of their size. */
  lookAt(items: Item[], around: number): void {
    const found = items.flatMap((item) => this.places.get(keyOf(item)) ?? []);
    if (found.length) this.moveTo(this.around(found, around), false);
  }

  /** Move the camera to an item and its neighbours, unless they are so far apart that it could hardly be seen. */
  lookAtNeighbours(item: Item): void {
    const place = this.places.get(keyOf(item));
    if (!place) return;
    const ends = (this.linesOf.get(this.discs.get(keyOf(item)) as Disc) ?? []).flatMap(({ from, to }) => [from, to]);
    const near = this.around([place], AROUND);
    const all = this.around([place, ...ends.map((disc) => this.places.get(this.keys.get(disc) as string) as Placed)], 2);
    if (all.scale > near.scale) return this.moveTo(near, false);
    if (all.scale * place.r > SMALLEST) return this.moveTo(all, false);
    near.zoom(SMALLEST / place.r / near.scale, near.toScreen(place)); // as far back as it can be seen
    this.moveTo(near, false);
  }

  /** A camera that sees some places, and as much around them as a multiple of their size. */
  private around(found: Placed[], multiple: number): Camera {
    const edge = (axis: "x" | "y", sign: number) => sign * Math.max(...found.map((place) => sign * place[axis] + multiple * place.r));
    const [low, high] = [-1, 1].map((sign) => ({ x: edge("x", sign), y: edge("y", sign) }));
    return this.camera.fitted(low, high, this.covered(), 0.75, this.camera.turned);
  }

  // pointing

  /** The key of the disc at a pixel, or of the smallest ring around it. */
  private at(spot: Spot): string | null {
    const reach = REACH / this.camera.scale;
    const place = this.camera.toGraph(spot);
    let best: [string, number] | null = null;
    for (const [key, { x, y, r }] of this.discs) {
      if (Math.abs(x - place.x) > r + reach || Math.abs(y - place.y) > r + reach) continue;
      const far = Math.hypot(x - place.x, y - place.y) - r;
      if (far <= reach && (!best || far < best[1])) best = [key, far];
    }
    if (best) return best[0];
    for (const [key, { x, y, r }] of this.rings) {
      if (Math.hypot(x - place.x, y - place.y) <= r && (!best || r < best[1])) best = [key, r];
    }
    return best && best[0];
  }

  private hover(key: string | null): void {
    if (key === this.hovered) return;
    this.hovered = key;
    this.container.style.cursor = key === null ? "" : "pointer";
    this.paintFocus();
  }

  select(item: Item | null): void {
    const key = item && keyOf(item);
    this.selected = key !== null && (this.discs.has(key) || this.rings.has(key)) ? key : null;
    this.paintFocus();
  }

  /** Where an item is on the stage and its radius, in pixels; its place after a move that is under way. */
  onScreen(item: Item): { x: number; y: number; r: number } | null {
    const place = this.places.get(keyOf(item));
    return place ? { ...this.camera.toScreen(place), r: place.r * this.camera.scale } : null;
  }

  /** The classes that are named in the picture, and where. */
  get regionsOnScreen(): (Spot & { name: string })[] {
    return this.regions.map((region) => ({ ...this.camera.toScreen(region), name: region.name }));
  }

  /** Milliseconds that the last painting took. */
  get paintTime(): number {
    return this.paintMs;
  }

  get view(): { x: number; y: number; scale: number; turned: boolean } {
    const { x, y, scale, turned } = this.camera;
    return { x, y, scale, turned };
  }

  /** The picture as the address of a file. */
  png(): string {
    const both = document.createElement("canvas");
    Object.assign(both, { width: this.base.canvas.width, height: this.base.canvas.height });
    const context = both.getContext("2d") as CanvasRenderingContext2D;
    context.fillStyle = this.colours.theme("--paper");
    context.fillRect(0, 0, both.width, both.height);
    context.globalAlpha = this.base.canvas.classList.contains("dimmed") ? 0.2 : 1;
    context.drawImage(this.base.canvas, 0, 0);
    context.globalAlpha = 1;
    if (!this.over.canvas.hidden) context.drawImage(this.over.canvas, 0, 0);
    return both.toDataURL("image/png"); // toBlob waits for an idle browser, for seconds at times
  }
}
