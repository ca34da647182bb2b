/** Steering: a value is edited under the writer lock, as a program would do it. */
import type { Segment } from "../src/client/segment.js";
import { write } from "../src/client/values.js";
import { Primitive, TypeKind } from "../src/wire/protocol/descriptor.js";
import type { Type } from "../src/types/type.js";
import { h, notice } from "./dom.js";
import { kindOf, resolve, type Step } from "./spots.js";

const EDITABLE = [TypeKind.PRIMITIVE, TypeKind.ENUM, TypeKind.STRING, TypeKind.TEXT] as number[];

export function isEditable(type: Type): boolean {
  return EDITABLE.includes(kindOf(type));
}

/** From what people type to a value of the type; a text that is none is refused by `write`. */
function parsed(type: Type, text: string): unknown {
  if (type.serial === Primitive.HYPER || type.serial === Primitive.UHYPER) {
    return /^[+-]?[0-9]+$/.test(text.trim()) ? BigInt(text.trim()) : text;
  }
  if (type.serial === Primitive.BOOL) return text === "true";
  if (kindOf(type) === TypeKind.PRIMITIVE) return text.trim() === "" ? text : Number(text);
  return text;
}

/** Shares the value; says how it went. */
export async function edit(
  segment: Segment,
  serial: number,
  steps: readonly Step[],
  text: string,
): Promise<boolean> {
  try {
    await segment.write(
      () => {
        const spot = resolve(segment, serial, steps);
        if (spot === null || spot.isArray) throw new Error("the value is not there any more");
        write(spot.place, parsed(spot.place.type, text));
      },
      { timeoutMs: 5000 },
    );
    notice("Shared");
    return true;
  } catch (error) {
    notice((error as Error).message, true);
    return false;
  }
}

function control(type: Type, text: string): HTMLInputElement | HTMLSelectElement {
  const { body } = type.descriptor;
  const choices =
    type.serial === Primitive.BOOL
      ? ["false", "true"]
      : "members" in body
        ? body.members.map(({ name }) => name)
        : null;
  if (choices === null) return h("input", { type: "text", value: text, "aria-label": "New value" });
  return h(
    "select",
    { "aria-label": "New value" },
    ...choices.map((choice) => h("option", { selected: choice === text }, choice)),
  );
}

/** Takes the place of a value until it is shared or given up; `done` is called then. */
export function editor(
  segment: Segment,
  serial: number,
  steps: readonly Step[],
  type: Type,
  text: string,
  done: () => void,
): HTMLFormElement {
  const input = control(type, text);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (await edit(segment, serial, steps, input.value)) done();
    else input.focus();
  };
  const form = h(
    "form",
    { class: "edit", onsubmit: submit },
    input,
    h("button", { type: "submit" }, "Share"),
    h("button", { type: "button", onclick: done }, "Cancel"),
  );
  form.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") done();
  });
  queueMicrotask(() => input.focus());
  return form;
}
