// The explorer of a report: state, controls and keys.

import "./every_page";

import { arrangements, type Arrangement } from "./arrange";
import type { Covered } from "./camera";
import { Colours, type Colouring } from "./colours";
import { readData } from "./data";
import { ALL, Matches, RARER, choices, parseFilter, type Filter, type Only } from "./filter";
import { FullScreen } from "./full_screen";
import { button, byId, count, element, figure, shortened } from "./page";
import { fillPanel } from "./panel";
import { wireSearch } from "./search";
import { Stage } from "./stage";
import { Tree, type Item } from "./tree";
import { MOST_NODES, View, keyOf, type Picture } from "./view";

const COLOURINGS: [Colouring, string][] = [
  ["predicted", "predicted class"],
  ["label", "label"],
  ["confidence", "confidence"],
  ["error", "error"],
  ["level", "level"],
];

const OF_NUMBERS: Partial<Record<Colouring, string>> = { predicted: "predicted value", label: "true value", error: "large errors" };
const MANY = 20; // classes
const FEWEST = 50; // nodes of a level worth starting at

class Explorer {
  private readonly view: View;
  private readonly colours: Colours;
  private readonly stage: Stage;
  private readonly graph = byId("explorer-graph");
  private readonly panel = byId("explorer-panel");
  private readonly slider = byId<HTMLInputElement>("explorer-level");
  private readonly only = byId<HTMLSelectElement>("explorer-only");
  private readonly classes = byId<HTMLSelectElement>("explorer-class");
  private readonly colouring = byId<HTMLSelectElement>("explorer-colour");
  private readonly arranging = byId<HTMLSelectElement>("explorer-arrange");
  private readonly arrangements: Arrangement[];
  private readonly full: FullScreen;
  private arrangement: Arrangement;
  private by: Colouring = "predicted";
  private matches: Matches;
  private selected: Item | null = null;
  private picture!: Picture;

  constructor(private readonly tree: Tree) {
    this.colours = new Colours(tree);
    this.arrangements = arrangements(tree);
    this.arrangement = this.arrangements[0];
    this.view = new View(tree, this.firstLevel());
    this.matches = new Matches(tree, ALL);
    this.full = new FullScreen(byId("explorer-frame"), byId("explorer-full"));
    const isFull = () => this.full.isFull;
    this.stage = new Stage(this.graph, byId("explorer-hint"), tree, this.colours, () => this.covered(), isFull, (item) =>
      this.press(item),
    );
    this.stage.onPaint = (scale) => showScale(byId("explorer-scale"), scale / this.arrangement.unit);
    this.fillControls();
    this.wireControls();
    this.wireKeys();
    const asked = location.hash;
    this.arrange(this.arrangement);
    this.show(null);
    this.followHash(asked);
  }

  /** A map starts with its nodes, if they can all be drawn; the hierarchy starts at the top, if something is there. */
  private firstLevel(): number {
    const sizes = this.tree.manifest.levels.map(({ nodes }) => nodes);
    if (!this.arrangement.nests) return sizes.findIndex((nodes) => nodes <= MOST_NODES);
    return Math.max(0, sizes.filter((nodes) => nodes >= FEWEST).length - 1);
  }

  /** The part of the stage that the panel and the way down cover. */
  private covered(): Covered {
    const top = byId("explorer-path").offsetHeight;
    const { offsetWidth: width, offsetHeight: height } = this.panel; // 0 if it is hidden
    const below = width > 0.8 * this.graph.clientWidth;
    return below ? { top, right: 0, bottom: height } : { top, right: width, bottom: 0 };
  }

  private fillControls(): void {
    const { classes, numbers, order } = this.tree.manifest;
    const judged = new Matches(this.tree, { ...ALL, only: "judged" }).total;
    options(this.only, choices(this.tree));
    const every = numbers ? "all values" : classes.length > MANY ? `all ${classes.length} classes` : "all classes";
    options(this.classes, [["", every]]);
    const [own, rarer] = [false, true].map((is) => order.filter((which) => this.tree.isRarer(which) === is));
    const entries = (found: number[]) => found.map((which) => option(String(which), classes[which]));
    if (rarer.length) {
      this.classes.append(element("optgroup", { label: "in colour" }, ...entries(own)));
      const together = option(String(RARER), `all ${rarer.length} together`);
      this.classes.append(element("optgroup", { label: "rarer classes" }, together, ...entries(rarer)));
    } else this.classes.append(...entries(own));
    const ways = numbers
      ? COLOURINGS.flatMap(([name, title]): [Colouring, string][] => (name === "confidence" ? [] : [[name, OF_NUMBERS[name] ?? title]]))
      : COLOURINGS;
    options(this.colouring, ways.filter(([name]) => name !== "error" || judged));
    if (numbers) {
      this.classes.labels![0].textContent = "Predicted";
      byId<HTMLInputElement>("explorer-search").placeholder = "id";
    }
    options(this.arranging, this.arrangements.map(({ name, title }) => [name, title]));
    byId("explorer-arrange-field").hidden = this.arrangements.length < 2;
    this.slider.max = String(this.tree.depth);
    this.slider.parentElement!.hidden = this.tree.depth === 0;
  }

  private wireControls(): void {
    this.slider.addEventListener("input", () => this.setLevel(Number(this.slider.value)));
    this.colouring.addEventListener("change", () => {
      this.by = this.colouring.value as Colouring;
      this.draw();
    });
    this.only.addEventListener("change", () => this.setFilter({ ...this.matches.filter, only: this.only.value as Only }));
    this.classes.addEventListener("change", () =>
      this.setFilter({ only: this.only.value as Only, label: null, predicted: this.classes.value ? Number(this.classes.value) : null }),
    );
    this.arranging.addEventListener("change", () => this.arrange(this.named(this.arranging.value)));
    wireSearch(byId("explorer-search"), byId("explorer-hits"), byId("explorer-no-hit"), this.tree, (hit) =>
      "node" in hit ? this.go({ level: 0, index: hit.node }) : this.setFilter({ ...ALL, predicted: hit.which }),
    );
    byId("explorer-in").addEventListener("click", () => this.stage.zoom(1.6));
    byId("explorer-out").addEventListener("click", () => this.stage.zoom(1 / 1.6));
    byId("explorer-whole").addEventListener("click", () => this.stage.whole());
    byId("explorer-reset").addEventListener("click", () => this.reset());
    const more = byId("explorer-more"); // on a small screen some controls are folded
    more.addEventListener("click", () => {
      const open = more.parentElement!.parentElement!.classList.toggle("open");
      more.setAttribute("aria-expanded", String(open));
      more.textContent = open ? "less" : "more";
    });
    byId("explorer-save").addEventListener("click", () => this.save());
    addEventListener("resize", () => (byId("explorer-legend").style.minHeight = ""));
    addEventListener("hashchange", () => this.followHash(location.hash));
    for (const link of document.querySelectorAll<HTMLElement>("[data-show]")) {
      link.addEventListener("click", (event) => {
        event.preventDefault();
        this.follow(link.dataset.show ?? "");
        this.scrollHere();
        this.panel.focus({ preventScroll: true });
      });
    }
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.colours.readTheme();
      this.draw();
    });
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
      Escape: () => (this.selected ? this.closeParent() : this.full.isFull && this.full.set(false)),
      PageUp: () => this.setLevel(this.view.level + 1),
      PageDown: () => this.setLevel(this.view.level - 1),
      "+": () => this.stage.zoom(1.6),
      "-": () => this.stage.zoom(1 / 1.6),
      Home: () => this.stage.whole(),
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

  private named(name: string): Arrangement {
    return this.arrangements.find((one) => one.name === name) ?? this.arrangement;
  }

  private arrange(arrangement: Arrangement): void {
    this.arrangement = arrangement;
    this.arranging.value = arrangement.name;
    const [low, high] = arrangement.corners ?? [{ x: Infinity, y: Infinity }, { x: -Infinity, y: -Infinity }];
    for (const level of arrangement.nests ? this.tree.manifest.levels.keys() : []) {
      // all places, discs included
      for (const { x, y, r } of arrangement.place(new View(this.tree, level).nodes()).values()) {
        [low.x, low.y] = [Math.min(low.x, x - r), Math.min(low.y, y - r)];
        [high.x, high.y] = [Math.max(high.x, x + r), Math.max(high.y, y + r)];
      }
    }
    this.stage.setExtent(low, high, arrangement.nests);
    this.draw();
    this.stage.whole();
  }

  /** Offer the picture as a file. */
  private save(): void {
    element("a", { href: this.stage.png(), download: `${this.tree.manifest.run}.png` }).click();
  }

  setLevel(level: number): void {
    this.view.setLevel(Math.min(Math.max(level, 0), this.tree.depth));
    this.draw();
    this.show(this.selected);
  }

  /** Close all hyper-nodes, show all nodes and select none. */
  private reset(): void {
    byId<HTMLInputElement>("explorer-search").value = "";
    this.setLevel(this.firstLevel());
    this.setFilter(ALL);
  }

  setFilter(filter: Filter): void {
    this.matches = new Matches(this.tree, filter);
    this.colours.choose(filter.predicted ?? filter.label);
    this.only.value = filter.only;
    this.classes.value = filter.predicted === null ? "" : String(filter.predicted);
    if (this.matches.active && this.tree.size(0) <= MOST_NODES) this.view.setLevel(0); // shows the nodes themselves
    this.draw();
    this.show(null);
    this.stage.whole();
    if (this.matches.active) byId("explorer-announcement").textContent = this.matches.describe();
  }

  /** Show what a link asks for: an arrangement or a filter. */
  follow(text: string): void {
    const arrange = new URLSearchParams(text).get("arrange");
    if (arrange) this.arrange(this.named(arrange));
    this.setFilter(parseFilter(text));
  }

  /** Show the node that the address names: `report.html#node=ID`. */
  private followHash(hash: string): void {
    const id = new URLSearchParams(hash.slice(1)).get("node");
    const node = id === null ? -1 : this.tree.ids.indexOf(id);
    if (node < 0) return;
    this.go({ level: 0, index: node });
    this.scrollHere();
  }

  /** Scroll the page so that the explorer is on the screen, and keep it there while the page is laid out. */
  private scrollHere(): void {
    byId("explorer-frame").scrollIntoView();
  }

  /** Let the address name the selected node, so that it can be shared. */
  private nameInAddress(item: Item | null): void {
    const wanted = item && item.level === 0 ? `#node=${encodeURIComponent(this.tree.ids[item.index])}` : "";
    if (!wanted && !location.hash.startsWith("#node=")) return;
    try {
      history.replaceState(null, "", wanted || location.pathname + location.search);
    } catch {
      // a page inside a notebook has no address of its own
    }
  }

  /** Open or close a hyper-node and look at it; select the item. Nothing is selected by a press beside all items. */
  press(item: Item | null): void {
    if (!item) return this.show(null);
    const opens = this.view.canOpen(item);
    if (opens) {
      this.view.toggle(item);
      this.draw();
    }
    this.show(item);
    if (opens) this.stage.lookAt(this.view.isOpen(item) && !this.arrangement.nests ? this.tree.members(item) : [item], 1.6);
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
    this.stage.lookAtNeighbours(this.view.shown(item) ?? item);
  }

  /** Go up to a hyper-node of the way down: close what is open in it. */
  private climb(item: Item): void {
    this.view.closeInside(item);
    this.draw();
    this.show(item);
    this.stage.lookAt([item], 1.6);
  }

  /** Close all hyper-nodes and select none. */
  private toTop(): void {
    this.show(null);
    this.setLevel(this.view.level);
    this.stage.whole();
  }

  /** Select the nearest item in a direction on the screen. */
  private step([right, down]: [number, number]): void {
    const from = this.selected && (this.view.shown(this.selected) ?? this.selected);
    const middle = { x: this.graph.clientWidth / 2, y: this.graph.clientHeight / 2 };
    const start = (from && this.stage.onScreen(from)) ?? middle;
    let best: Item | null = null;
    let least = Infinity;
    for (const item of this.picture.items) {
      const place = this.stage.onScreen(item);
      if (!place || !this.matches.in(item)) continue;
      const { x, y } = place;
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
    this.stage.select(item && (this.view.shown(item) ?? item));
    fillPanel(this.panel, this.tree, item, this.matches, {
      go: (to) => this.go(to),
      toggle: (hyper) => {
        if (!this.view.isOpen(hyper)) this.go(hyper);
        this.press(hyper);
      },
      isOpen: (hyper) => this.view.isOpen(hyper),
      dismiss: () => {
        if (this.selected) this.show(null);
        else this.setFilter(ALL);
        this.graph.focus({ preventScroll: true });
      },
    });
    this.showPath(item);
    this.nameInAddress(item);
    byId("explorer-announcement").textContent = item ? this.announcement(item) : "";
  }

  /** The way down to the selected item, level by level. */
  private showPath(item: Item | null): void {
    const way = item ? this.tree.distinctPath(item).filter(({ level }) => level <= this.view.level).reverse() : [];
    byId("explorer-path").hidden = !item;
    const { level } = this.view;
    const top = `level ${level}: ${count(this.tree.size(level), level ? "hyper-node" : "node")}`;
    const rows = way.map((step) =>
      step === item
        ? element("li", { "aria-current": "true" }, shortened(this.tree.name(step), 40))
        : element("li", {}, button(shortened(this.tree.name(step), 40), () => this.climb(step))),
    );
    const steps = byId("explorer-path").firstElementChild!;
    steps.replaceChildren(element("li", {}, button(top, () => this.toTop())), ...rows);
    steps.scrollLeft = steps.scrollWidth; // on a phone the way down is one line
  }

  private announcement(item: Item): string {
    const { classes, numbers } = this.tree.manifest;
    const said = (node: number) => (numbers ? figure(this.tree.value(node)) : classes[this.tree.predicted(node)]);
    if (item.level === 0) return `${this.tree.name(item)}, predicted ${said(item.index)}`;
    return `${this.tree.name(item)}, ${this.view.isOpen(item) ? "open" : "closed"}`;
  }

  private draw(): void {
    this.picture = this.view.picture();
    const { nests } = this.arrangement;
    this.stage.draw(this.picture, this.arrangement.place(this.picture), nests, {
      colour: (item) => this.colours.colour(item, this.by),
      matches: (item) => this.matches.in(item) > 0,
      classOf: (item) => this.colours.classOf(item, this.by),
    });
    this.slider.value = String(this.view.level);
    this.slider.setAttribute("aria-valuetext", this.levelName());
    byId("explorer-level-name").textContent = this.levelName();
    byId("explorer-status").textContent = this.status();
    this.drawLegend();
  }

  /** Entries of classes are buttons that filter. */
  private drawLegend(): void {
    const side = this.by === "label" ? "label" : "predicted";
    const chosen = this.matches.filter[side];
    const legend = byId("explorer-legend");
    legend.replaceChildren(
      ...this.colours.legend(this.by).map(({ colour, name, which, to }) => {
        const sign = element("span", { class: to ? "ramp" : "dot" });
        sign.style.background = colour;
        if (to) return element("li", {}, name, sign, to);
        if (which === undefined) return element("li", {}, sign, name);
        const pressed = chosen === which;
        const press = () => this.setFilter({ ...this.matches.filter, [side]: pressed ? null : which });
        const entry = button("", press, { "aria-pressed": String(pressed), title: "show this class alone" });
        entry.append(sign, name);
        return element("li", chosen !== null && !pressed ? { class: "off" } : {}, entry);
      }),
    );
    legend.style.minHeight = `${legend.offsetHeight}px`; // it never shrinks, so that the stage does not jump
  }

  private levelName(): string {
    const { level } = this.view;
    return `${level} of ${this.tree.depth}: ${count(this.tree.size(level), level ? "hyper-node" : "node")}`;
  }

  private status(): string {
    const { items, opened, edges, oneOf, edgesLeftOut } = this.picture;
    const { levels } = this.tree.manifest;
    const hyper = items.filter((item) => this.tree.weight(item) > 1).length;
    const kinds = [hyper && count(hyper, "hyper-node"), hyper < items.length && count(items.length - hyper, "node"), count(edges.length, "edge")];
    const words = [kinds.filter(Boolean).join(", ")];
    if (hyper && !this.tree.manifest.numbers && (this.by === "predicted" || this.by === "label")) words.push("paler discs hold mixed classes");
    if (this.view.level >= this.tree.manifest.modelLevels && this.view.level) words.push("this level is for display only, the model does not use it");
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
      arrangement: this.arrangement.name,
      filter: this.matches.filter,
      matches: this.matches.total,
      selected: this.selected && { ...this.selected, key: keyOf(this.selected), name: this.tree.name(this.selected) },
      drawn: items.length,
      edges: edges.length,
      opened: opened.map(keyOf),
      rings: opened.map((item) => this.stage.onScreen(item)),
      lit: this.stage.lit(),
      camera: this.stage.view,
      paintMs: this.stage.paintTime,
      regions: this.stage.regionsOnScreen,
      full: this.full.isFull,
      sampled: oneOf > 1,
    };
  }

  /** The first items drawn, with their colours and screen positions. */
  items(most = 1000): Record<string, unknown>[] {
    return this.picture.items.slice(0, most).map((item) => ({
      ...item,
      key: keyOf(item),
      parent: this.tree.path(item).map(keyOf)[1],
      name: this.tree.name(item),
      weight: this.tree.weight(item),
      matches: this.matches.in(item),
      colour: this.colours.colour(item, this.by),
      ...this.stage.onScreen(item),
    }));
  }
}

/** Show a bar of a round length on a map; pixels per metre are infinite if lengths mean nothing. */
function showScale(bar: HTMLElement, pixelsPerMetre: number): void {
  bar.hidden = !Number.isFinite(pixelsPerMetre);
  if (bar.hidden) return;
  const most = 140 / pixelsPerMetre;
  const power = 10 ** Math.floor(Math.log10(most));
  const metres = power * (most / power >= 5 ? 5 : most / power >= 2 ? 2 : 1);
  bar.style.width = `${metres * pixelsPerMetre}px`;
  bar.textContent = metres >= 1000 ? `${(metres / 1000).toLocaleString("en")} km` : `${metres} m`;
}

function options(select: HTMLSelectElement, entries: [string, string][]): void {
  select.replaceChildren(...entries.map(([value, title]) => option(value, title)));
}

const option = (value: string, title: string) => element("option", { value }, shortened(title, 50));

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
    byId("explorer-frame").hidden = true;
    const sorry = `The explorer could not start (${String(error)}). The pictures and tables hold all figures.`;
    byId("explorer").append(element("p", { class: "warnings narrow" }, sorry));
  }
}

if (document.getElementById("explorer")) void start();
