/** Which tokens of this user's own servers were refused, and which is shown next [OWN-6]. */
import { InterweaveError } from "../wire/error.js";
import type { OwnToken } from "./transport.js";

export class OwnTokens {
  /** By file: a secret, which nothing that is printed may show. */
  readonly #refused = new Map<string, string>();

  /** The first that was not refused; null: none is left. */
  choose(found: readonly OwnToken[]): OwnToken | null {
    return found.find((each) => !this.isRefused(each)) ?? null;
  }

  refused({ file, text }: OwnToken): void {
    this.#refused.set(file, text);
  }

  /** A refusal of a client that showed none of those found. */
  explain(error: InterweaveError, found: readonly OwnToken[]): InterweaveError {
    const files = found.filter((each) => this.isRefused(each)).map(({ file }) => file);
    if (files.length === 0) return error;
    return new InterweaveError(
      error.code,
      `${error.message}; the token of ${files.join(" and ")}, which a server of this user wrote, ` +
        "is not valid here: remove the file if its server has ended",
    );
  }

  private isRefused({ file, text }: OwnToken): boolean {
    return this.#refused.get(file) === text;
  }
}
