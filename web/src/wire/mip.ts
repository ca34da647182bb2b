/** URLs and MIPs as text: spec/format/mip.md. Whether anything exists is not asked here. */
import { InterweaveError } from "./error.js";
import { MAX_SERIAL } from "./pointer.js";
import { ErrorCode } from "./protocol/error.js";
import { MAX_NAME, MAX_PATH } from "./protocol/segment.js";

/** [MIP-1] */
export const DEFAULT_PORT = 7747;
/** [MIP-6] */
const MAX_MIP_BYTES = 4096;
/** [MIP-7] */
export const MAX_HOSTS = 8;

/**
 * A server at one host: over TCP, the host in lower case without brackets, with TLS if it is secure
 * [MIP-2]; or by a Unix socket.
 */
export type Address =
  | { readonly host: string; readonly port: number; readonly secure: boolean }
  | { readonly socketFile: string };

/**
 * A server as a URL names it: by one host, or by several of one space in the order in which a
 * client asks them [MIP-7]. Other text is another server.
 */
export type Hosts = readonly Address[];

export interface SegmentUrl {
  readonly server: Hosts;
  /** Begins with '/'. */
  readonly path: string;
}

export interface Mip {
  readonly url: SegmentUrl;
  /** null: the segment itself. */
  readonly block: number | string | null;
  readonly offset: bigint;
}

const control = /[\u0000-\u001f\u007f-\u009f]/;
const utf8 = new TextEncoder();

function byteLength(text: string): number {
  return utf8.encode(text).length;
}

function bad(text: string, why: string): InterweaveError {
  return new InterweaveError(
    ErrorCode.BAD_URL,
    `\`${text.slice(0, 200)}\` ${why}; write [iw://|iws://]host[:port]{,host[:port]}/path, or ` +
      "unix:FILE:/path",
  );
}

/** [SEG-4] */
export function isBlockName(name: string): boolean {
  return (
    name !== "" &&
    byteLength(name) <= MAX_NAME &&
    !/^[0-9]/.test(name) &&
    !name.includes("#") &&
    !control.test(name)
  );
}

/** '/' first, no '#', no control characters, at most MAX_PATH bytes. */
export function isPath(path: string): boolean {
  return (
    path.startsWith("/") &&
    byteLength(path) <= MAX_PATH &&
    !path.includes("#") &&
    !control.test(path)
  );
}

/** What a slot of a segment's table may hold [WIRE-5]. */
export function isSlotText(text: string): boolean {
  if (isPath(text)) return true;
  if (!/^(iws?:\/\/|unix:)/.test(text)) return false;
  try {
    parseUrl(text);
    return true;
  } catch {
    return false;
  }
}

/** `host[:port]` behind `iw://` or `iws://` or no scheme. */
export function parseAddress(text: string): Address | null {
  const secure = text.startsWith("iws://");
  const rest = text.replace(/^iws?:\/\//, "");
  const parts = /^(\[[0-9A-Za-z\-._:]+\]|[0-9A-Za-z\-._]+)(:[0-9]+)?$/.exec(rest);
  if (parts?.[1] === undefined) return null;
  const digits = parts[2]?.slice(1) ?? String(DEFAULT_PORT);
  const port = Number(digits);
  if (digits.startsWith("0") || port > 65535) return null;
  return { host: parts[1].replace(/^\[|\]$/g, "").toLowerCase(), port, secure };
}

/** `host[:port]{,host[:port]}` behind `iw://` or `iws://` or no scheme [MIP-7]. */
export function parseHosts(text: string): Hosts | null {
  const scheme = /^iws?:\/\//.exec(text)?.[0] ?? "";
  const found = new Map<string, Address>();
  const hosts = text.slice(scheme.length).split(",", MAX_HOSTS + 1);
  if (hosts.length > MAX_HOSTS) return null;
  for (const host of hosts) {
    const address = parseAddress(scheme + host);
    if (address === null) return null;
    found.set(addressText(address), address);
  }
  return found.size < hosts.length ? null : [...found.values()];
}

export function parseUrl(text: string): SegmentUrl {
  if (byteLength(text) > MAX_MIP_BYTES) throw bad(text, "is longer than 4096 bytes");
  let server: Hosts | null;
  let path: string;
  if (text.startsWith("unix:")) {
    const colon = text.indexOf(":/", 5);
    const socketFile = text.slice(5, colon);
    if (colon < 0 || socketFile === "" || control.test(socketFile)) {
      throw bad(text, "does not name the socket's file and `:/path`");
    }
    [server, path] = [[{ socketFile }], text.slice(colon + 1)];
  } else {
    const slash = text.indexOf("/", /^iws?:\/\//.exec(text)?.[0].length ?? 0);
    if (slash < 0) throw bad(text, "has no path");
    [server, path] = [parseHosts(text.slice(0, slash)), text.slice(slash)];
    if (server === null) {
      throw bad(
        text,
        "has no host, one of them twice, more than eight, or a port that is not a number from 1 " +
          "to 65535",
      );
    }
  }
  if (!isPath(path)) {
    throw bad(text, "has a path with '#' or control characters, or longer than 1024 bytes");
  }
  return { server, path };
}

export function parseMip(text: string): Mip {
  if (byteLength(text) > MAX_MIP_BYTES) throw bad(text, "is longer than 4096 bytes");
  const [urlText = "", blockText, ...offsets] = text.split("#");
  const url = parseUrl(urlText);
  let block: number | string | null = null;
  if (blockText !== undefined) {
    if (isBlockName(blockText)) block = blockText;
    else if (/^[1-9][0-9]*$/.test(blockText) && Number(blockText) <= MAX_SERIAL) {
      block = Number(blockText);
    } else throw bad(text, "has neither a block's serial nor a block's name after '#'");
  }
  if (offsets.length === 0) return { url, block, offset: 0n };
  const digits = offsets.join("#");
  if (!/^[0-9]{1,4000}$/.test(digits)) {
    throw bad(text, "has an offset that is not a decimal number");
  }
  const offset = BigInt(digits);
  if (offset >= 1n << 64n) throw bad(text, "has an offset beyond 2^64");
  return { url, block, offset };
}

/** Returns the scheme, the hosts and their ports of the URL of a server or a segment. */
export function serverPart(url: string): string {
  return /^(?:iws?:\/\/)?[^/]*/.exec(url)?.[0] ?? "";
}

export function addressText(server: Address): string {
  if ("socketFile" in server) return `unix:${server.socketFile}:`;
  const host = server.host.includes(":") ? `[${server.host}]` : server.host;
  return `${server.secure ? "iws" : "iw"}://${host}:${server.port}`;
}

export function hostsText([first, ...others]: Hosts): string {
  const places = others.map((other) => addressText(other).replace(/^iws?:\/\//, ""));
  return [first === undefined ? "" : addressText(first), ...places].join(",");
}

/** The canonical text, if the block is given by its serial [MIP-3]. */
export function mipText(server: string, path: string, block: Mip["block"], offset = 0n): string {
  const place = block === null ? "" : `#${block}${offset === 0n ? "" : `#${offset}`}`;
  return `${server}${path}${place}`;
}
