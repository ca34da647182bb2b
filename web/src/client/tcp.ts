/**
 * Connects from Node: by TCP or a Unix socket. For a server on this host it tries the abstract Unix
 * socket first [NET-1]. All of them carry the same frames, one after another.
 */
import { connect, type NetConnectOpts, type Socket } from "node:net";
import { DEFAULT_PORT, parseAddress, serverPart } from "../wire/mip.js";
import { InterweaveError } from "../wire/error.js";
import { ErrorCode } from "../wire/protocol/error.js";
import {
  dialWebSocket,
  unreachable,
  type Dial,
  type DialOptions,
  type Transport,
  type TransportEvents,
} from "./transport.js";

/** Where to try, in order. */
function placesOf(url: string): NetConnectOpts[] {
  if (url.startsWith("unix:")) return [{ path: url.slice(5).replace(/:(\/.*)?$/, "") }];
  const address = parseAddress(serverPart(url));
  if (address === null || !("host" in address)) {
    throw new InterweaveError(
      ErrorCode.BAD_URL,
      `\`${url}\` is not the address of a server; write [iw://|iws://]host[:port], unix:FILE, ` +
        "or ws://host:port",
    );
  }
  const { host, port, secure } = address;
  if (secure) {
    throw new InterweaveError(
      ErrorCode.UNIMPLEMENTED,
      `${url}: this client has no TLS yet; use iw://`,
    );
  }
  const isHere = process.platform === "linux" && (host === "127.0.0.1" || host === "localhost");
  return isHere ? [{ path: `\0interweave-${port}` }, { host, port }] : [{ host, port }];
}

function open(place: NetConnectOpts, timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(place);
    const fail = (error: Error) => {
      socket.destroy();
      reject(error);
    };
    socket.setTimeout(timeoutMs, () => fail(new Error(`no answer in ${timeoutMs} ms`)));
    socket.once("error", fail);
    socket.once("connect", () => {
      socket.setTimeout(0);
      socket.off("error", fail);
      resolve(socket);
    });
  });
}

function transportOf(socket: Socket, events: TransportEvents): Transport {
  let why = "the server closed the connection";
  socket.setNoDelay(true);
  socket.on("data", (bytes) => events.received(bytes));
  socket.on("error", (error) => (why = error.message));
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

export const dialNode: Dial = async (url, events, options) => {
  if (/^(ws|http)s?:/.test(url)) {
    checkWebSocket(url, options);
    return dialWebSocket(url, events, options);
  }
  let failure = "";
  for (const place of placesOf(url)) {
    try {
      return transportOf(await open(place, options.timeoutMs), events);
    } catch (error) {
      failure = (error as Error).message;
    }
  }
  throw unreachable(url, failure);
};
