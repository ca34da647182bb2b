/** InterWeave for Node: by TCP, Unix sockets and WebSocket. */
import { hostname } from "node:os";
import { basename } from "node:path";
import { connectBy } from "./client/client.js";
import { dialNode } from "./client/tcp.js";

export * from "./exports.js";
/** `await connect("iw://localhost")` */
export const connect = connectBy(dialNode, () => ({
  program: basename(process.argv[1] ?? process.execPath),
  host: hostname(),
  pid: process.pid,
}));
