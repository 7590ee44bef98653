// The hierarchy explorer of a report: state, controls and keys.

import { Colours, type Colouring } from "./colours";
import { readData } from "./data";
import { byId, count, element } from "./page";
import { fillPanel } from "./panel";
import { wireSearch } from "./search";
import { Stage } from "./stage";
import { Tree, type Item } from "./tree";
import { View, keyOf, type Picture } from "./view";

class Explorer {
  private readonly view: View;
  private readonly colours: Colours;
  private readonly stage: Stage | null;
  private readonly graph = byId("explorer-graph");
  private readonly slider = byId<HTMLInputElement>("explorer-level");
  private readonly select = byId<HTMLSelectElement>("explorer-colour");
  private by: Colouring = "predicted";
  private selected: Item | null = null;
  private picture!: Picture;

  constructor(private readonly tree: Tree) {
    this.view = new View(tree, tree.depth);
    this.colours = new Colours(tree);
    this.stage = this.makeStage();
    this.wireControls();
    this.wireKeys();
    this.draw();
    this.show(null);
  }

  private makeStage(): Stage | null {
    const canvas = document.createElement("canvas");
    if (canvas.getContext("webgl2")) return new Stage(this.graph, this.tree, this.colours, (item) => this.press(item));
    byId("explorer-no-webgl").hidden = false;
    byId("explorer").classList.add("no-webgl"); // keeps the still picture visible
    this.graph.hidden = true;
    return null;
  }

  private wireControls(): void {
    this.slider.max = String(this.tree.depth);
    this.slider.addEventListener("input", () => this.setLevel(Number(this.slider.value)));
    this.select.addEventListener("change", () => {
      this.by = this.select.value as Colouring;
      this.draw();
    });
    wireSearch(byId<HTMLInputElement>("explorer-search"), byId("explorer-hits"), this.tree.ids, (node) =>
      this.go({ level: 0, index: node }),
    );
    byId("explorer-in").addEventListener("click", () => this.stage?.zoom(1.6));
    byId("explorer-out").addEventListener("click", () => this.stage?.zoom(1 / 1.6));
    byId("explorer-whole").addEventListener("click", () => this.stage?.whole());
    byId("explorer-close").addEventListener("click", () => this.setLevel(this.view.level));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  private wireKeys(): void {
    const directions: Record<string, [number, number]> = {
      ArrowLeft: [-1, 0],
      ArrowRight: [1, 0],
      ArrowUp: [0, -1],
      ArrowDown: [0, 1],
    };
    const commands: Record<string, () => void> = {
      Enter: () => this.selected && this.press(this.selected),
      " ": () => this.selected && this.press(this.selected),
      Backspace: () => this.closeParent(),
      Escape: () => this.closeParent(),
      PageUp: () => this.setLevel(this.view.level + 1),
      PageDown: () => this.setLevel(this.view.level - 1),
      "+": () => this.stage?.zoom(1.6),
      "-": () => this.stage?.zoom(1 / 1.6),
      Home: () => this.stage?.whole(),
    };
    this.graph.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const direction = directions[event.key];
      if (direction) this.step(direction);
      else if (commands[event.key]) commands[event.key]();
      else return;
      event.preventDefault();
    });
  }

  setLevel(level: number): void {
    this.view.setLevel(Math.min(Math.max(level, 0), this.tree.depth));
    this.draw();
    this.show(this.selected);
  }

  /** Open or close a hyper-node; select the item. */
  press(item: Item): void {
    if (this.view.canOpen(item)) {
      this.view.toggle(item);
      this.draw();
    }
    this.show(item);
  }

  /** Close the hyper-node that the selected item was opened from. */
  private closeParent(): void {
    const opened = this.selected && (this.view.isOpen(this.selected) ? this.selected : this.tree.parent(this.selected));
    if (opened && this.view.isOpen(opened)) this.press(opened);
    else this.show(null);
  }

  /** Open all hyper-nodes around an item, select it and move the camera to it. */
  go(item: Item): void {
    if (item.level > this.view.level) this.view.setLevel(item.level);
    this.view.reveal(item);
    this.draw();
    this.show(item);
    this.stage?.lookAt(item);
  }

  /** Select the nearest item in a direction on the screen. */
  private step([right, down]: [number, number]): void {
    const stage = this.stage;
    if (!stage) return;
    const from = this.selected && (this.view.shown(this.selected) ?? this.selected);
    const start = from
      ? stage.onScreen(from)
      : { x: this.graph.clientWidth / 2, y: this.graph.clientHeight / 2 };
    let best: Item | null = null;
    let least = Infinity;
    for (const item of this.picture.items) {
      const { x, y } = stage.onScreen(item);
      const ahead = (x - start.x) * right + (y - start.y) * down;
      const aside = Math.abs((x - start.x) * down) + Math.abs((y - start.y) * right);
      const far = from ? ahead + 2 * aside : Math.hypot(x - start.x, y - start.y);
      if ((from && ahead <= 0.5) || far >= least) continue;
      [best, least] = [item, far];
    }
    if (best) this.show(best);
  }

  private show(item: Item | null): void {
    this.selected = item;
    this.stage?.select(item && (this.view.shown(item) ?? item));
    fillPanel(byId("explorer-panel"), this.tree, item, {
      go: (to) => this.go(to),
      toggle: (hyper) => {
        if (!this.view.isOpen(hyper)) this.go(hyper);
        this.press(hyper);
      },
      isOpen: (hyper) => this.view.isOpen(hyper),
    });
    byId("explorer-announcement").textContent = item ? this.announcement(item) : "";
  }

  private announcement(item: Item): string {
    const { classes } = this.tree.manifest;
    if (item.level === 0) return `${this.tree.name(item)}, predicted ${classes[this.tree.predicted(item.index)]}`;
    const state = this.view.isOpen(item) ? "open" : "closed";
    return `${this.tree.name(item)}, ${count(this.tree.weight(item), "node")}, ${state}`;
  }

  private draw(): void {
    this.picture = this.view.picture();
    this.stage?.draw(this.picture, this.by, this.selected && (this.view.shown(this.selected) ?? this.selected));
    this.slider.value = String(this.view.level);
    this.slider.setAttribute("aria-valuetext", this.levelName());
    byId("explorer-level-name").textContent = this.levelName();
    byId("explorer-status").textContent = this.status();
    byId("explorer-legend").replaceChildren(
      ...this.colours.legend(this.by).map(({ colour, name }) => {
        const dot = element("span", { class: "dot" });
        dot.style.background = colour;
        return element("li", {}, dot, name);
      }),
    );
  }

  private levelName(): string {
    const { level } = this.view;
    const added = level >= this.tree.manifest.modelLevels ? " (for display only, not used by the model)" : "";
    return `${level} of ${this.tree.depth}: ${count(this.tree.size(level), level ? "hyper-node" : "node")}${added}`;
  }

  private status(): string {
    const { items, opened, edges, oneOf, edgesLeftOut } = this.picture;
    const { levels } = this.tree.manifest;
    const words = [`${count(items.length, "node")} and ${count(edges.length, "edge")} drawn`];
    if (opened.length) words.push(`${count(opened.length, "hyper-node")} open`);
    if (oneOf > 1) words.push(`a sample of the level's ${count(this.tree.size(this.view.level), "node")}; search finds them all`);
    if (edgesLeftOut) words.push(`${count(edgesLeftOut, "weaker edge")} not drawn`);
    const { kept, edges: all } = levels[this.view.level];
    if (kept < all) words.push(`the page holds ${kept.toLocaleString("en")} of the level's ${count(all, "edge")}: the strongest of each node`);
    return `${words.join("; ")}.`;
  }

  /** The state, for tests and debugging. */
  state(): Record<string, unknown> {
    const { items, opened, edges, oneOf } = this.picture;
    return {
      level: this.view.level,
      levels: this.tree.manifest.levels,
      colour: this.by,
      selected: this.selected && { ...this.selected, key: keyOf(this.selected), name: this.tree.name(this.selected) },
      drawn: items.length,
      edges: edges.length,
      opened: opened.map(keyOf),
      sampled: oneOf > 1,
      webgl: this.stage !== null,
    };
  }

  /** The first items drawn, with their colours and screen positions. */
  items(most = 1000): Record<string, unknown>[] {
    return this.picture.items.slice(0, most).map((item) => ({
      ...item,
      key: keyOf(item),
      name: this.tree.name(item),
      weight: this.tree.weight(item),
      colour: this.colours.colour(item, this.by),
      ...(this.stage?.onScreen(item) ?? {}),
    }));
  }
}

declare global {
  interface Window {
    hiergcn?: { state(): Record<string, unknown>; items(most?: number): Record<string, unknown>[] };
  }
}

async function start(): Promise<void> {
  try {
    const explorer = new Explorer(new Tree(await readData()));
    byId("explorer").classList.add("ready");
    window.hiergcn = { state: () => explorer.state(), items: (most) => explorer.items(most) };
  } catch (error) {
    byId("explorer-status").textContent = `The explorer could not start (${String(error)}). The tables below hold all figures.`;
  }
}

if (document.getElementById("explorer")) void start();
