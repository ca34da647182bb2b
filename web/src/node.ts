/** InterWeave for Node: by TCP, Unix sockets and WebSocket. */
import { connectBy } from "./client/client.js";
import { dialNode } from "./client/tcp.js";

export * from "./exports.js";
/** `await connect("iw://localhost")` */
export const connect = connectBy(dialNode);
