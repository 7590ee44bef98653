// Pointer gestures on the stage. Scrolling over the picture scrolls the page: zooming needs Ctrl, a click before, two
// fingers, or the full screen.

import type { Spot } from "./camera";

const HINT_MS = 1400;
const STILL = 4; // pixels within which a press is no drag

export interface Handlers {
  isFull(): boolean;
  pan(dx: number, dy: number): void;
  zoom(factor: number, at: Spot): void;
  point(at: Spot | null): void;
  press(at: Spot): void;
}

export function wireGestures(stage: HTMLElement, hint: HTMLElement, told: Handlers): void {
  const fingers = new Map<number, Spot>();
  let active = false; // after a click in the picture, until the pointer leaves it
  let start: Spot | null = null;
  let dragged = false;
  let timer = 0;

  const at = (event: { clientX: number; clientY: number }): Spot => {
    const { left, top } = stage.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  stage.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    fingers.set(event.pointerId, at(event));
    [start, dragged] = fingers.size === 1 ? [at(event), false] : [null, true];
    active = event.pointerType === "mouse";
    if (event.pointerType === "mouse") stage.setPointerCapture(event.pointerId);
  });
  stage.addEventListener("pointermove", (event) => {
    const now = at(event);
    const before = fingers.get(event.pointerId);
    if (!before) return event.pointerType === "mouse" ? told.point(now) : undefined;
    if (start && Math.hypot(now.x - start.x, now.y - start.y) > STILL) dragged = true;
    const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const middle = (a: Spot) => ({ x: (a.x + other.x) / 2, y: (a.y + other.y) / 2 });
      const far = (a: Spot) => Math.hypot(a.x - other.x, a.y - other.y) || 1;
      told.pan(middle(now).x - middle(before).x, middle(now).y - middle(before).y);
      told.zoom(far(now) / far(before), middle(now));
    } else if (dragged && (event.pointerType === "mouse" || told.isFull())) told.pan(now.x - before.x, now.y - before.y);
    else if (!dragged) return;
    fingers.set(event.pointerId, now);
  });
  const end = (event: PointerEvent) => {
    if (!fingers.delete(event.pointerId)) return;
    if (start && !dragged && event.type === "pointerup") told.press(start);
    start = null;
  };
  stage.addEventListener("pointerup", end);
  stage.addEventListener("pointercancel", end);
  stage.addEventListener("pointerleave", () => {
    active = false;
    told.point(null);
  });
  stage.addEventListener("dblclick", (event) => event.preventDefault());
  for (const type of ["touchstart", "touchmove"] as const) {
    // two fingers are ours, one scrolls the page
    stage.addEventListener(type, (event) => event.touches.length > 1 && event.cancelable && event.preventDefault(), {
      passive: false,
    });
  }
  stage.addEventListener(
    "wheel",
    (event) => {
      if (event.ctrlKey || event.metaKey || active || told.isFull()) {
        event.preventDefault();
        const step = event.deltaY * (event.deltaMode ? 30 : 1);
        told.zoom(Math.exp(-Math.max(-120, Math.min(120, step)) / (event.ctrlKey ? 150 : 300)), at(event));
        return;
      }
      hint.hidden = false;
      clearTimeout(timer);
      timer = window.setTimeout(() => (hint.hidden = true), HINT_MS);
    },
    { passive: false },
  );
}
