/** Removes a segment for all programs, after people have said so. */
import type { Client } from "../src/client/client.js";
import { showDialog } from "./dialog.js";
import { h, notice } from "./dom.js";

/** `removed` is called when the segment is gone. */
export function confirmRemoval(client: Client, path: string, removed: () => void): void {
  const remove = async () => {
    dialog.close();
    try {
      await client.remove(path);
      notice(`Removed ${path}`);
      removed();
    } catch (error) {
      notice((error as Error).message, true);
    }
  };
  const keep = h("button", { type: "button", onclick: () => dialog.close() }, "Keep it");
  const dialog = showDialog(
    `Remove ${path}?`,
    h(
      "p",
      {},
      "All its blocks are deleted at the server, for all programs. This cannot be undone.",
    ),
    h(
      "div",
      { class: "controls" },
      keep,
      h("button", { type: "button", class: "danger", onclick: () => void remove() }, "Remove"),
    ),
  );
  // A key that is pressed without a look must not remove anything.
  keep.focus();
}
