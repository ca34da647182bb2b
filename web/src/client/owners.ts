/**
 * The connections to servers to which the server of a client has sent it on [SPACE-10]. Segments of
 * one such server share its connection.
 */
import { isSameSpace, spaceOf } from "../session/connection.js";
import { readable } from "../session/fields.js";
import { InterweaveError } from "../wire/error.js";
import { addressText, parseAddress } from "../wire/mip.js";
import { ErrorCode } from "../wire/protocol/error.js";
import type { RedirectField } from "../wire/protocol/field.js";
import { serverUrlOf } from "./hosts.js";
import type { Link, Live } from "./link.js";

/** So often a client is sent on for one request [SPACE-10]. */
export const MOST_HOPS = 3;

function redirected(text: string): InterweaveError {
  return new InterweaveError(ErrorCode.REDIRECTED, text);
}

export function sentTooOften(path: string, to: RedirectField): InterweaveError {
  return redirected(
    `${path}: a server sent this client on to ${readable(to.address)}, after it was sent on as ` +
      "often as a client follows; ask the operator",
  );
}

/** REDIRECTED if one of both servers is not of the other's space [SPACE-12]. */
export function checkSpace(space: Uint8Array | null, there: Live, link: Link): void {
  if (isSameSpace(space, spaceOf(there.welcome))) return;
  throw redirected(
    `a server sent this client on to ${link.url}, which serves another space; ask its operator`,
  );
}

/** The owner cannot be reached, and another server may take the segment over [SPACE-55]. */
export function isAway(error: unknown): boolean {
  if (!(error instanceof InterweaveError)) return false;
  return error.code === ErrorCode.UNREACHABLE || error.code === ErrorCode.STOPPING;
}

/** What the program is told of a server that it did not name. */
export function failedThere(link: Link, home: Link, error: unknown): unknown {
  if (!(error instanceof InterweaveError)) return error;
  if (isAway(error)) {
    return new InterweaveError(
      error.code,
      `the server ${link.url}, to which this client was sent on, cannot be reached: ` +
        `${error.message}; \`interweave status ${serverUrlOf(home.url)}\` says whether it lives`,
    );
  }
  const isNoWay = error.code === ErrorCode.BAD_URL;
  return new InterweaveError(
    isNoWay ? ErrorCode.REDIRECTED : error.code,
    `a server sent this client on to ${link.url}: ${error.message}`,
  );
}

export class Owners {
  private readonly links = new Map<string, { link: Link; users: number }>();

  /** `make` gives a link that has not begun. Of a secure client's URL, others are secure, too. */
  constructor(
    private readonly isSecure: boolean,
    private readonly make: (url: string, tlsName: string, to: RedirectField) => Link,
  ) {}

  /** Each call wants one of `leave`. */
  enter(to: RedirectField): Link {
    const scheme = this.isSecure ? "iws" : "iw";
    const address = parseAddress(`${scheme}://${to.address}`);
    if (address === null || !("host" in address)) {
      throw redirected(
        `the server sent this client on to ${readable(to.address)}, which is not an address; ` +
          "ask its operator",
      );
    }
    const tlsName = this.isSecure && to.tls_name !== address.host ? to.tls_name : "";
    const url = addressText(address);
    const key = `${url} ${tlsName}`;
    let known = this.links.get(key);
    if (known === undefined) {
      known = { link: this.make(url, tlsName, to), users: 0 };
      this.links.set(key, known);
      known.link.beginSoon();
    }
    known.users += 1;
    return known.link;
  }

  leave(link: Link): void {
    for (const [key, known] of this.links) {
      if (known.link !== link || --known.users > 0) continue;
      this.links.delete(key);
      link.close();
    }
  }

  close(): void {
    for (const { link } of this.links.values()) link.close();
    this.links.clear();
  }
}
