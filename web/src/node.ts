/** InterWeave for Node: by TCP, Unix sockets and WebSocket. */
import { hostname } from "node:os";
import { basename } from "node:path";
import { connectBy } from "./client/client.js";
import { dialNode } from "./client/tcp.js";

export * from "./exports.js";
const connectFromNode = connectBy(dialNode, () => ({
  program: basename(process.argv[1] ?? process.execPath),
  host: hostname(),
  pid: process.pid,
}));

/** `await connect("iw://localhost")`. Without the option `token` the client shows IW_TOKEN. */
export const connect: typeof connectFromNode = (url, options = {}) => {
  const token = options.token ?? process.env["IW_TOKEN"];
  return connectFromNode(url, token === undefined ? options : { ...options, token });
};
