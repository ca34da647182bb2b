/** Elements, written as they nest. */

type Child = Node | string | null;
type Properties = Record<string, unknown>;

/**
 * `h("button", { class: "copy", onclick: copy }, "Copy")`; data-, aria- and role are attributes.
 */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") element.className = String(value);
    else if (/^(data-|aria-|role$|for$|colspan$)/.test(name))
      element.setAttribute(name, String(value));
    else (element as unknown as Properties)[name] = value;
  }
  element.append(...children.filter((child): child is Node | string => child !== null));
  return element;
}

export function svg(
  tag: string,
  attributes: Record<string, string | number>,
  ...children: (Node | string)[]
): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** Changes the text if it is another: untouched elements keep their selection. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** A message to people, for a while. */
export function notice(text: string, isBad = false): void {
  const shown = h("p", { class: isBad ? "bad" : "" }, text);
  document.getElementById("notices")?.append(shown);
  setTimeout(() => shown.remove(), isBad ? 9000 : 2500);
}

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notice(`Copied ${text}`);
  } catch {
    // Without the permission people can copy it themselves.
    notice(text);
  }
}

export function copyButton(
  text: () => string,
  label = "Copy MIP",
  title = "Copy the MIP",
): HTMLButtonElement {
  const onclick = () => void copyText(text());
  return h("button", { class: "copy", type: "button", title, onclick }, label);
}

/** The heading of a segment's page, which leads back to the list, and the elements next to it. */
export function segmentTitle(path: string, ...beside: Node[]): HTMLElement {
  const list = h("a", { href: "#" }, "Segments");
  return h("div", { class: "title" }, h("h2", {}, list, " ", h("span", {}, path)), ...beside);
}

export function bytesText(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) {
    bytes /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? bytes : bytes.toFixed(bytes < 10 ? 1 : 0)} ${units[unit]}`;
}

/** A whole number with its thousands apart. */
export function groupText(value: number | bigint): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

export function numberText(value: number | bigint): string {
  if (typeof value === "bigint" || Number.isInteger(value)) return String(value);
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-4 || size >= 1e7)
    ? value.toExponential(4)
    : String(Number(value.toPrecision(6)));
}

export function durationText(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return `${Math.round(seconds / 60)} min`;
}

export function ageText(seconds: number): string {
  return Number.isFinite(seconds) ? `${durationText(seconds)} old` : "of unknown age";
}
