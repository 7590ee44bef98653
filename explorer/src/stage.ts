// Draws the view with sigma.

import Graph from "graphology";
import Sigma from "sigma";
import type { NodeHoverDrawingFunction } from "sigma/rendering";

import type { Colouring, Colours } from "./colours";
import { shortened } from "./page";
import type { Item, Tree } from "./tree";
import { itemOf, keyOf, type Picture } from "./view";

const OPENED = "around ";

interface Theme {
  ink: string;
  paper: string;
  line: string;
}

export class Stage {
  private readonly graph = new Graph({ type: "undirected", multi: true });
  private readonly sigma: Sigma;
  private selected: string | null = null;

  constructor(
    container: HTMLElement,
    private readonly tree: Tree,
    private readonly colours: Colours,
    press: (item: Item) => void,
  ) {
    this.sigma = new Sigma(this.graph, container, {
      itemSizesReference: "positions",
      zoomToSizeRatioFunction: (ratio) => ratio,
      zIndex: true,
      minEdgeThickness: tree.size(0) > 50_000 ? 0.5 : 0.9,
      labelRenderedSizeThreshold: 15,
      labelDensity: 0.4,
      labelSize: 12,
      labelFont: "system-ui, sans-serif",
      minCameraRatio: 0.002,
      maxCameraRatio: 2,
      hideEdgesOnMove: tree.size(0) > 50_000,
      defaultDrawNodeHover: hover,
      stagePadding: 18,
    });
    this.sigma.setCustomBBox(extent(tree));
    this.sigma.on("clickNode", ({ node }) => press(itemOf(node.replace(OPENED, ""))));
    this.sigma.on("enterNode", () => (container.style.cursor = "pointer"));
    this.sigma.on("leaveNode", () => (container.style.cursor = ""));
    this.sigma.on("doubleClickNode", ({ preventSigmaDefault }) => preventSigmaDefault());
  }

  draw(picture: Picture, by: Colouring, selected: Item | null): void {
    const theme = themeNow();
    this.sigma.setSetting("labelColor", { color: theme.ink });
    this.graph.clear();
    for (const item of picture.opened) {
      const place = this.tree.place(item);
      const colour = this.colours.colour(item, by);
      this.graph.addNode(OPENED + keyOf(item), {
        ...place,
        size: this.ringRadius(item, place),
        color: translucent(colour, 0.16),
        zIndex: -item.level - 1,
        label: "",
        name: this.tree.name(item),
      });
    }
    const enlarged = Math.sqrt(picture.oneOf); // a sample covers the same area as all nodes would
    for (const item of picture.items) {
      this.graph.addNode(keyOf(item), {
        ...this.tree.place(item),
        size: this.tree.radius(item) * (item.level === picture.level ? enlarged : 1),
        color: this.colours.colour(item, by),
        label: item.level === 0 ? this.tree.name(item) : "",
        name: this.tree.name(item), // shown on hover
        zIndex: 1,
      });
    }
    const thin = this.tree.manifest.radius;
    for (const { from, to, weight } of picture.edges) {
      const size = thin * Math.min(0.18 * Math.sqrt(weight), 0.9);
      this.graph.addEdge(from, to, { size, color: theme.line });
    }
    this.select(selected);
  }

  /** Radius of the ring around an opened hyper-node: out to the far side of its outermost member. */
  private ringRadius(item: Item, place: { x: number; y: number }): number {
    const [low, high] = this.tree.nodes(item);
    let far = this.tree.radius(item);
    const some = Math.max(1, Math.floor((high - low) / 2000));
    for (let index = low; index < high; index += some) {
      const node = this.tree.place({ level: 0, index });
      far = Math.max(far, Math.hypot(node.x - place.x, node.y - place.y) + 1.6 * this.tree.manifest.radius);
    }
    return far;
  }

  select(item: Item | null): void {
    if (this.selected && this.graph.hasNode(this.selected)) this.graph.setNodeAttribute(this.selected, "highlighted", false);
    this.selected = item ? keyOf(item) : null;
    if (this.selected && this.graph.hasNode(this.selected)) this.graph.setNodeAttribute(this.selected, "highlighted", true);
  }

  /** Move the camera to an item, close enough to see it and its surroundings. */
  lookAt(item: Item): void {
    const key = this.graph.hasNode(keyOf(item)) ? keyOf(item) : OPENED + keyOf(item);
    this.sigma.refresh();
    const place = this.sigma.getNodeDisplayData(key);
    if (!place) return;
    const ratio = Math.min(this.sigma.getCamera().ratio, Math.max(60 * this.tree.manifest.radius, 10 * this.tree.radius(item)));
    this.move({ x: place.x, y: place.y, ratio });
  }

  zoom(factor: number): void {
    const camera = this.sigma.getCamera();
    this.move({ ratio: camera.getBoundedRatio(camera.ratio / factor) });
  }

  whole(): void {
    this.move({ x: 0.5, y: 0.5, ratio: 1, angle: 0 });
  }

  private move(to: { x?: number; y?: number; ratio?: number; angle?: number }): void {
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    void this.sigma.getCamera().animate(to, { duration: still ? 1 : 350 });
  }

  /** The item's position on the stage, in pixels. */
  onScreen(item: Item): { x: number; y: number } {
    return this.sigma.graphToViewport(this.tree.place(item));
  }
}

function extent(tree: Tree): { x: [number, number]; y: [number, number] } {
  const range = (axis: string): [number, number] => {
    let low = 1;
    let high = 0;
    for (let level = 0; level <= tree.depth; level++) {
      for (const value of tree.array(axis + level)) {
        low = Math.min(low, value / 65535);
        high = Math.max(high, value / 65535);
      }
    }
    return [low, high];
  };
  return { x: range("x"), y: range("y") };
}

function themeNow(): Theme {
  const style = getComputedStyle(document.documentElement);
  const [ink, paper, line] = ["--ink", "--paper", "--edge"].map((name) => style.getPropertyValue(name).trim());
  return { ink, paper, line };
}

/** Sigma blends colours that are multiplied by their alpha already. */
function translucent(colour: string, alpha: number): string {
  const [r, g, b] = [1, 3, 5].map((at) => Math.round(alpha * parseInt(colour.slice(at, at + 2), 16)));
  return `rgba(${r}, ${g}, ${b}, ${alpha})`;
}

/** Draw the name of the hovered or selected node in the page's colours. */
const hover: NodeHoverDrawingFunction = (context, display) => {
  const data = display as typeof display & { name: string };
  const { ink, paper } = themeNow();
  context.beginPath();
  context.arc(data.x, data.y, data.size + 2.5, 0, 2 * Math.PI);
  context.lineWidth = 2.5;
  context.strokeStyle = ink;
  context.stroke();
  const text = shortened(data.name);
  context.font = "600 13px system-ui, sans-serif";
  const left = data.x + data.size + 8;
  const width = context.measureText(text).width;
  context.globalAlpha = 0.92;
  context.fillStyle = paper;
  context.fillRect(left - 4, data.y - 10, width + 8, 20);
  context.globalAlpha = 1;
  context.fillStyle = ink;
  context.fillText(text, left, data.y + 4.5);
};
