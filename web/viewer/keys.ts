/** The keys of the viewer, for people who ask by `?`. */
import { showDialog } from "./dialog.js";
import { h } from "./dom.js";

const keys: readonly (readonly [string, string])[] = [
  ["/", "filter segments or blocks; Enter opens the first"],
  ["↑ ↓ Home End", "move in a list"],
  ["→ ←", "unfold and fold a folder"],
  ["Enter", "open; in a value: edit, then apply"],
  ["Delete", "remove the segment, after a question"],
  ["c", "copy the segment's URL"],
  ["Space", "pause a picture"],
  ["← → ↑ ↓", "in a picture: read the next value, with Shift ten further"],
  ["+ − 0", "in a picture or a graph: nearer, further, everything"],
  ["Esc", "close, cancel, or go back to the segments"],
  ["?", "these keys"],
];

export function showKeys(): void {
  const rows = keys.map(([key, what]) =>
    h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)),
  );
  const dialog = showDialog("Keys", h("dl", { class: "keys" }, ...rows));
  const close = h("button", { type: "button", onclick: () => dialog.close() }, "Close");
  dialog.append(h("div", { class: "controls" }, close));
  close.focus();
}
