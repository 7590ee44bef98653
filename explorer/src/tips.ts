// Tooltips of charts: of marks that carry a text, and of lines, whose values are read back from their paths.

import { element } from "./page";

type Axis = [low: number, high: number, log: number];

const NEAR = 24; // pixels within which a mark is pointed at

export function wireTips(): void {
  const box = element("div", { id: "tip", role: "tooltip" });
  box.hidden = true;
  document.body.append(box);
  const show = (text: string, x: number, y: number) => {
    box.textContent = text;
    box.hidden = !text;
    if (!text) return;
    const { width, height } = box.getBoundingClientRect();
    box.style.left = `${Math.min(Math.max(4, x + 14), innerWidth - width - 4)}px`;
    box.style.top = `${y - height - 12 > 4 ? y - height - 12 : y + 18}px`;
  };
  const look = (event: PointerEvent) => {
    const target = event.target as Element;
    const chart = target.closest?.("svg.cell, svg.plot");
    show(chart ? (markAt(chart, event) ?? valuesAt(chart, event) ?? "") : "", event.clientX, event.clientY);
  };
  document.addEventListener("pointermove", look);
  document.addEventListener("pointerdown", look);
  document.addEventListener("scroll", () => show("", 0, 0), { passive: true });
}

/** The text of the mark nearest to the pointer. */
function markAt(chart: Element, { clientX, clientY }: PointerEvent): string | null {
  let best: string | null = null;
  let least = NEAR;
  for (const mark of chart.querySelectorAll<SVGElement>("[data-tip]")) {
    const box = mark.getBoundingClientRect();
    const x = Math.max(box.left - clientX, 0, clientX - box.right);
    const y = Math.max(box.top - clientY, 0, clientY - box.bottom);
    const far = Math.hypot(x, y);
    if (far > least || (far === least && best)) continue;
    [best, least] = [mark.dataset.tip ?? "", far];
  }
  return best;
}

/** The values of all lines at the pointer's place. */
function valuesAt(chart: Element, { clientX }: PointerEvent): string | null {
  const lines = [...chart.querySelectorAll<SVGPathElement>("path[data-name]")];
  if (!lines.length) return null;
  const inner = lines[0].ownerSVGElement as SVGSVGElement;
  const { left, width } = chart.getBoundingClientRect();
  const { y: top, height, width: wide } = inner.viewBox.baseVal;
  const [x, y] = ["x", "y"].map((name) => (chart.getAttribute(`data-${name}`) ?? "").split(" ").map(Number) as Axis);
  const at = ((clientX - left) / width) * wide;
  let place = NaN;
  const words = lines.flatMap((line) => {
    const points = pointsOf(line);
    if (!points.length) return [];
    const near = points.reduce((best, point) => (Math.abs(point[0] - at) < Math.abs(best[0] - at) ? point : best));
    place = near[0];
    return [`${line.dataset.name}: ${shown(valueOf(y, 1 - (near[1] - top) / height))}`];
  });
  return [`${chart.getAttribute("data-title")} ${shown(valueOf(x, place / wide))}`.trim(), ...words].join("\n");
}

function pointsOf(line: SVGPathElement): [number, number][] {
  const words = (line.getAttribute("d") ?? "").split(/[ML]/).filter(Boolean);
  return words.map((word) => word.split(" ").map(Number) as [number, number]);
}

function valueOf([low, high, log]: Axis, share: number): number {
  return log ? low * (high / low) ** share : low + share * (high - low);
}

function shown(value: number): string {
  const size = Math.abs(value);
  return size >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(size >= 100 ? 4 : 3)));
}
