/** The hosts of the URL that a program connects to, and their errors [SPACE-46]. */
import { InterweaveError } from "../wire/error.js";
import {
  addressText,
  DEFAULT_PORT,
  hostsText,
  MAX_HOSTS,
  parseAddress,
  parseHosts,
  parseUrl,
  serverPart,
  type Address,
} from "../wire/mip.js";
import { ErrorCode } from "../wire/protocol/error.js";
import type { RedirectField } from "../wire/protocol/field.js";

/** So long a client tries each way to an owner [SPACE-55]. */
const WAY_MS = 2000;

/** A host to connect to, and what is asked of it. */
export interface Way {
  readonly url: string;
  /** What its certificate is to name instead of the URL's host. */
  readonly tlsName?: string;
  /** It is to pass the connection on to there [SPACE-48]. */
  readonly relay?: RedirectField;
  /** Longer the client does not try. */
  readonly mostMs?: number;
  /** The platform may lack the means for it: then another way is tried. */
  readonly isOptional?: boolean;
}

/**
 * The ways to a server to which the client was sent: its address, and, if servers pass clients on
 * to there, the hosts of the client's URL [SPACE-49].
 */
export function waysTo(
  url: string,
  tlsName: string,
  to: RedirectField,
  hosts: readonly Way[],
): readonly Way[] {
  const named = tlsName === "" ? {} : { tlsName };
  const direct: Way = { url, ...named, mostMs: WAY_MS };
  if (!to.relay) return [direct];
  const relays = hosts.map((host) => ({ url: host.url, relay: to, mostMs: WAY_MS }));
  return [{ ...direct, isOptional: true }, ...relays];
}

/** For people. */
function wayText({ url, relay }: Way): string {
  return relay === undefined ? url : `passed on by ${url}`;
}

/**
 * The URLs of a server's hosts, in the order in which they are asked. Hosts that are reached by
 * WebSocket are listed in the same way, as in `ws://host:port,host:port`. BAD_URL if hosts are
 * listed otherwise than [MIP-7] says.
 */
export function hostUrls(url: string): readonly string[] {
  const [, scheme = "", list = "", path = ""] = /^([a-z]+:\/\/)?([^/]*)(.*)$/s.exec(url) ?? [];
  if (url.startsWith("unix:") || !list.includes(",")) return [url];
  const hosts = list.split(",");
  const isWeb = /^(ws|http)/.test(scheme);
  const urls = isWeb
    ? hosts.map((host) => (host === "" ? "" : scheme + host + path))
    : (parseHosts(scheme + list) ?? []).map(addressText);
  const different = new Set(urls);
  if (different.size === hosts.length && !different.has("") && hosts.length <= MAX_HOSTS) {
    return urls;
  }
  throw new InterweaveError(
    ErrorCode.BAD_URL,
    `\`${url}\` does not list at most eight hosts, each different, with a comma between: write ` +
      "[iw://|iws://]host[:port]{,host[:port]}, or ws://host:port{,host:port}",
  );
}

/** The server's name in canonical MIPs [MIP-3]. */
export function serverUrlOf(url: string): string {
  if (url.startsWith("unix:")) return url.replace(/:(\/.*)?$/, "") + ":";
  const found = new Map<string, Address>();
  for (const host of hostUrls(url)) {
    const address = addressOf(host);
    found.set(addressText(address), address);
  }
  return hostsText([...found.values()]);
}

/**
 * The path at that server of the segment that a slot's text names; null: it names another server's.
 * A URL some of whose hosts the server's list has, and no other host, is a name of the server's own
 * segment, because all hosts of a list are of one space [SPACE-47].
 */
export function pathAt(serverUrl: string, slotText: string): string | null {
  if (slotText.startsWith("/")) return slotText;
  if (slotText.startsWith(serverUrl + "/")) return slotText.slice(serverUrl.length);
  if (!serverUrl.includes(",")) return null;
  const own = new Set((parseHosts(serverUrl) ?? []).map(addressText));
  const { server, path } = parseUrl(slotText);
  return server.every((host) => own.has(addressText(host))) ? path : null;
}

/** The port of a host's WebSocket is another one than that of its name. */
function addressOf(url: string): Address {
  const web = /^(?:ws|http)(s?):\/\/(.*?)(?::[0-9]+)?(?:\/|$)/.exec(url);
  const scheme = web?.[1] === "s" ? "iws" : "iw";
  const address = parseAddress(web === null ? serverPart(url) : `${scheme}://${web[2]}`);
  return address ?? { host: "localhost", port: DEFAULT_PORT, secure: false };
}

/** Whether the next way is tried after such an error; others are final. */
export function passesOn(error: unknown, { isOptional }: Way): error is InterweaveError {
  const passing: number[] = [ErrorCode.UNREACHABLE, ErrorCode.STOPPING];
  // A page in a browser has no way to an address of iw://.
  if (isOptional === true) passing.push(ErrorCode.BAD_URL);
  return error instanceof InterweaveError && passing.includes(error.code);
}

/** What a program is told of a round in which no host could be used. `ways` has one an error. */
export function noHost(
  url: string,
  ways: readonly Way[],
  errors: readonly InterweaveError[],
): InterweaveError {
  const [only] = errors;
  if (only !== undefined && errors.length === 1) return only;
  const texts = errors.map(({ message }, at) => `${wayText(ways[at] as Way)}: ${message}`);
  const isStopping = errors.every(({ code }) => code === ErrorCode.STOPPING);
  return new InterweaveError(
    isStopping ? ErrorCode.STOPPING : ErrorCode.UNREACHABLE,
    `no host of ${url} can be used: ${texts.join("; ")}`,
  );
}
