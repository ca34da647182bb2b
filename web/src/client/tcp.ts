/**
 * Connects from Node: by TCP or a Unix socket. For a server on this host it tries the abstract Unix
 * socket first [NET-1]. All of them carry the same frames, one after another.
 */
import { connect, type NetConnectOpts, type Socket } from "node:net";
import { DEFAULT_PORT, parseAddress, serverPart } from "../wire/mip.js";
import { now } from "./clock.js";
import { mayHaveToken, OWN_ADDRESS, ownTokens } from "./own_token.js";
import { connectSecurely, tlsError, tlsRefusal, type TlsFiles } from "./tls.js";
import { InterweaveError } from "../wire/error.js";
import { ErrorCode } from "../wire/protocol/error.js";
import {
  dialWebSocket,
  unreachable,
  type Dial,
  type DialOptions,
  type OwnToken,
  type Transport,
  type TransportEvents,
} from "./transport.js";

/** A way to a server. */
interface Place {
  options: NetConnectOpts;
  /** TLS with a certificate of that name, or no TLS. */
  secure: { host: string; port: number; name: string } | null;
}

/** Where to try, in order. A URL that asks for TLS leads to no Unix socket [MIP-2]. */
function placesOf(url: string, tlsName: string | undefined): Place[] {
  const plain = (options: NetConnectOpts): Place => ({ options, secure: null });
  if (url.startsWith("unix:")) return [plain({ path: url.slice(5).replace(/:(\/.*)?$/, "") })];
  const address = parseAddress(serverPart(url));
  if (address === null || !("host" in address)) {
    throw new InterweaveError(
      ErrorCode.BAD_URL,
      `\`${url}\` is not the address of a server; write [iw://|iws://]host[:port], unix:FILE, ` +
        "or ws://host:port",
    );
  }
  const { host, port, secure } = address;
  if (secure) return [{ options: { host, port }, secure: { host, port, name: tlsName ?? host } }];
  const isHere = process.platform === "linux" && (host === "127.0.0.1" || host === "localhost");
  const byTcp = plain({ host, port });
  return isHere ? [plain({ path: `\0interweave-${port}` }), byTcp] : [byTcp];
}

/** `timeoutMs` is what the caller had in all, for people. */
function open(
  { options, secure }: Place,
  deadline: number,
  timeoutMs: number,
  files: TlsFiles,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket =
      secure === null
        ? connect(options)
        : connectSecurely(secure.host, secure.port, secure.name, files);
    const fail = (error: Error) => {
      clearTimeout(timer);
      socket.destroy();
      reject(error);
    };
    // Not the socket's own timer, which begins anew with each byte of a handshake.
    const late = () => fail(new Error(`no answer in ${timeoutMs} ms`));
    const timer = setTimeout(late, Math.max(0, deadline - now()));
    socket.once("error", fail);
    socket.once(secure === null ? "connect" : "secureConnect", () => {
      clearTimeout(timer);
      socket.off("error", fail);
      resolve(socket);
    });
  });
}

/**
 * In TLS 1.3 a server refuses a client's certificate after the client's handshake is complete, so
 * the reason comes as the end of the connection.
 */
function transportOf(url: string, socket: Socket, events: TransportEvents): Transport {
  let why: string | InterweaveError = "the server closed the connection";
  socket.setNoDelay(true);
  socket.on("data", (bytes) => events.received(bytes));
  socket.on("error", (error) => (why = tlsRefusal(url, error) ?? error.message));
  socket.on("close", () => events.closed(why));
  return { send: (frame) => void socket.write(frame), close: () => socket.destroy() };
}

/** Node before 22 has no WebSocket, and does not need one. */
function checkWebSocket(url: string, { webSocket }: DialOptions): void {
  if (webSocket !== undefined || "WebSocket" in globalThis) return;
  const host = /^\w+:\/\/(.*?)(?::[0-9]*)?(?:\/|$)/.exec(url)?.[1] ?? "host";
  throw new InterweaveError(
    ErrorCode.BAD_URL,
    `\`${url}\` is reached by WebSocket, which this Node does not have: use iw://${host}:PORT ` +
      "with the port that `interweave serve` prints as listening " +
      `(${DEFAULT_PORT} by default), or pass ` +
      "a class as the option `webSocket`",
  );
}

/** Where a WebSocket's URL leads. */
function webSocketPlace(url: string): Place {
  const { protocol, hostname, port } = new URL(url);
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const isSecure = protocol === "wss:" || protocol === "https:";
  const options = { host, port: Number(port || (isSecure ? 443 : 80)) };
  return { options, secure: isSecure ? { ...options, name: host } : null };
}

/** The tokens of this user's own servers at that place [OWN-3]. */
async function tokensOf({ options }: Place): Promise<OwnToken[]> {
  const { host, port } = options as { host?: string; port?: number };
  const isByTcp = host !== undefined && port !== undefined;
  return isByTcp && mayHaveToken(host) ? ownTokens(port) : [];
}

/** A WebSocket does not say where it leads, so that a token is shown to the address alone. */
function atOwnAddress(url: string): string {
  const at = new URL(url);
  at.hostname = OWN_ADDRESS;
  return at.href;
}

async function dialWeb(
  url: string,
  events: TransportEvents,
  options: DialOptions,
): Promise<Transport> {
  checkWebSocket(url, options);
  const place = webSocketPlace(url);
  // A certificate for `localhost` need not name the address.
  const mayShow = place.secure === null || place.secure.host === OWN_ADDRESS;
  // Before the connection, which could otherwise end unseen meanwhile.
  const tokens = mayShow ? await tokensOf(place) : [];
  const shown = tokens.length === 0 ? url : atOwnAddress(url);
  return { ...(await dialWebSocket(shown, events, options)), ownTokens: () => tokens };
}

/** Dials with these files in place of those that the environment names. */
export function dialNode(files: TlsFiles): Dial {
  return (url, events, options) => dial(url, events, options, files);
}

async function dial(
  url: string,
  events: TransportEvents,
  options: DialOptions,
  files: TlsFiles,
): Promise<Transport> {
  if (/^(ws|http)s?:/.test(url)) return dialWeb(url, events, options);
  const deadline = now() + options.timeoutMs;
  let failure = "";
  for (const place of placesOf(url, options.tlsName)) {
    try {
      const tokens = await tokensOf(place);
      const socket = await open(place, deadline, options.timeoutMs, files);
      const shown = socket.remoteAddress === OWN_ADDRESS ? tokens : [];
      return { ...transportOf(url, socket, events), ownTokens: () => shown };
    } catch (error) {
      if (error instanceof InterweaveError) throw error;
      const ofTls = place.secure === null ? null : tlsError(url, error as Error);
      if (ofTls !== null) throw ofTls;
      failure = (error as Error).message;
    }
  }
  throw unreachable(url, failure);
}
