/** How frames get to a server and back; the WebSocket one works in browsers and in Node >= 22. */
import { addressText, parseAddress, serverPart } from "../wire/mip.js";
import { InterweaveError } from "../wire/error.js";
import { ErrorCode } from "../wire/protocol/error.js";

/** A token that a server of this user wrote into a file [OWN-2]. */
export interface OwnToken {
  readonly file: string;
  readonly text: string;
}

export interface Transport {
  /** One frame. */
  send(frame: Uint8Array): void;
  close(): void;
  /** The tokens of this user's own servers [OWN-3]. A function, so that nothing prints them. */
  readonly ownTokens?: () => readonly OwnToken[];
}

export interface TransportEvents {
  /** Bytes that are the receiver's to keep. */
  received(bytes: Uint8Array): void;
  /** Once, after which nothing more is heard. An error says more than a lost connection. */
  closed(why: string | InterweaveError): void;
}

/** Connects; rejects with UNREACHABLE. */
export type Dial = (
  url: string,
  events: TransportEvents,
  options: DialOptions,
) => Promise<Transport>;

/** The part of the browser's WebSocket that is used. */
export interface WebSocketLike {
  binaryType: string;
  send(data: Uint8Array): void;
  close(): void;
  addEventListener(type: string, listener: (event: { data?: unknown }) => void): void;
}

export interface DialOptions {
  /** A WebSocket class, where the platform has none (Node before 22). */
  webSocket?: new (url: string) => WebSocketLike;
  /** For the whole attempt. */
  timeoutMs: number;
  /**
   * What the server's certificate is to name instead of the URL's host [SPACE-11]. A WebSocket
   * cannot ask for that: it always checks for the host.
   */
  tlsName?: string;
}

export function unreachable(url: string, why: string): InterweaveError {
  return new InterweaveError(
    ErrorCode.UNREACHABLE,
    `the server at ${url} cannot be reached: ${why}; is \`interweave serve\` running there?`,
  );
}

/** `ws://host:port/ws` of a server's HTTP address; `wss://host:port/ws` of iws:// [NET-6]. */
function webSocketUrl(url: string): string {
  const address = url.startsWith("iws://") ? parseAddress(serverPart(url)) : null;
  if (address !== null && "host" in address) {
    return `${addressText(address).replace(/^iws/, "wss")}/ws`;
  }
  const parsed = new URL(url.replace(/^http/, "ws"));
  if (parsed.pathname === "/") parsed.pathname = "/ws";
  return parsed.href;
}

export const dialWebSocket: Dial = (url, events, options) => {
  if (!/^((ws|http)s?|iws):/.test(url)) {
    throw new InterweaveError(
      ErrorCode.BAD_URL,
      `\`${url}\`: from here servers are reached by WebSocket, ws://host:port of their HTTP ` +
        "address (7748 by default), or iws://host:port if they have TLS",
    );
  }
  const WebSocket =
    options.webSocket ?? (globalThis as { WebSocket?: DialOptions["webSocket"] }).WebSocket;
  if (WebSocket === undefined) {
    throw new InterweaveError(
      ErrorCode.UNREACHABLE,
      "this platform has no WebSocket: pass a class as the option `webSocket`",
    );
  }
  const full = webSocketUrl(url);
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(full);
    socket.binaryType = "arraybuffer";
    let isOpen = false;
    const fail = (why: string) => {
      clearTimeout(timer);
      if (isOpen) events.closed(why);
      else reject(unreachable(full, why));
      isOpen = false;
    };
    const timer = setTimeout(() => {
      socket.close();
      fail(`no answer in ${options.timeoutMs} ms`);
    }, options.timeoutMs);
    socket.addEventListener("open", () => {
      clearTimeout(timer);
      isOpen = true;
      resolve({ send: (frame) => socket.send(frame), close: () => socket.close() });
    });
    socket.addEventListener("message", ({ data }) => {
      if (isOpen && data instanceof ArrayBuffer) events.received(new Uint8Array(data));
    });
    socket.addEventListener("close", () => fail("the connection was closed"));
    socket.addEventListener("error", () => fail("the connection failed"));
  });
};
