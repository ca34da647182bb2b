/** Questions and explanations over the page. Escape closes them, and the focus goes back. */
import { h } from "./dom.js";

export function showDialog(title: string, ...content: (HTMLElement | string)[]): HTMLDialogElement {
  const heading = h("h2", { id: "dialog-title" }, title);
  const dialog = h("dialog", { "aria-labelledby": "dialog-title" }, heading, ...content);
  const before = document.activeElement as HTMLElement | null;
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (before?.isConnected) before.focus();
  });
  // A press outside of the dialog closes it.
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

export function isDialogOpen(): boolean {
  return document.querySelector("dialog[open]") !== null;
}
