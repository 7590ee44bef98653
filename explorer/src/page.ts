// Helpers for page elements. Text from users' files is inserted as text, never as HTML.

type Child = Node | string;

export function byId<T extends HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`The page has no element ${id}.`);
  return found as T;
}

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export function button(text: string, press: () => void, attributes: Record<string, string> = {}): HTMLButtonElement {
  const made = element("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", press);
  return made;
}

export const count = (n: number, one: string, many = `${one}s`): string =>
  `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

/** A number with four digits. */
export const figure = (value: number): string => Number(value.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 9 });

export function percent(value: number): string {
  const fine = (value > 0.99 && value < 1) || (value > 0 && value < 0.1);
  return `${(100 * value).toFixed(fine ? 1 : 0)} %`;
}

export function shortened(text: string, most = 40): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
