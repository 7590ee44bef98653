// What every page does: show what needs scripts, and tooltips.

import { wireTips } from "./tips";

export function wirePage(): void {
  for (const part of document.querySelectorAll<HTMLElement>(".scripted")) part.hidden = false;
  wireTips();
}
