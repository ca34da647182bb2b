/** How objects are shown by Node's `console.log`: what they are for, not what they are made of. */

/** The method that Node asks; browsers ignore it. */
export const inspected: unique symbol = Symbol.for("nodejs.util.inspect.custom") as never;

/** Node's `util.inspect`. */
export type Inspect = (value: unknown, options: object) => string;
