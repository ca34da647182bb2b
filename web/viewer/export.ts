/** Files that people take away: pictures as PNG, numbers as CSV. */
import { notice } from "./dom.js";

/** Larger tables are for programs. */
export const MOST_EXPORTED_CELLS = 4 << 20;

/** Spreadsheets take a text for a formula that begins so, also where the cell is quoted. */
const formula = /^[=+\-@\t\r＝＋－＠]/;
const number = /^[+-]?(\d+\.?\d*|\.\d+|Infinity)(e[+-]?\d+)?$/i;

/** Whoever may write a segment must not run formulas in the spreadsheets of those who read it. */
function harmless(text: string): string {
  return formula.test(text) && !number.test(text) ? `'${text}` : text;
}

function csvCell(value: unknown): string {
  const text = harmless(String(value ?? ""));
  return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

/** RFC 4180, with a line feed behind each row; a ' before what would be a formula. */
export function csvText(rows: Iterable<readonly unknown[]>): string {
  let text = "";
  for (const row of rows) text += row.map(csvCell).join(",") + "\n";
  return text;
}

/** The name of a file, of the segment and what is shown of it. */
export function fileName(parts: readonly string[], extension: string): string {
  const name = parts
    .filter((part) => part !== "")
    .join("-")
    .replace(/[^\p{L}\p{N}._-]+/gu, "-")
    .replace(/^[-.]+|-+$/g, "")
    .slice(0, 100);
  return `${name || "interweave"}.${extension}`;
}

function save(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  Object.assign(link, { href: url, download: name });
  link.click();
  // The browser has taken it over by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
  notice(`Saved ${name}`);
}

export function saveCsv(parts: readonly string[], rows: Iterable<readonly unknown[]>): void {
  save(fileName(parts, "csv"), new Blob([csvText(rows)], { type: "text/csv" }));
}

export function savePng(parts: readonly string[], canvas: HTMLCanvasElement): void {
  canvas.toBlob((png) => {
    if (png === null) notice("The browser could not make a picture of this size.", true);
    else save(fileName(parts, "png"), png);
  });
}
