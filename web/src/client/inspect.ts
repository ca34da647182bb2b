/** How Node's `console.log` shows objects: by their contents, not by their private fields. */

/** The name of the method that Node calls; browsers ignore the method. */
export const inspected: unique symbol = Symbol.for("nodejs.util.inspect.custom") as never;

/** Node's `util.inspect`. */
export type Inspect = (value: unknown, options: object) => string;
