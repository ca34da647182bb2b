/** InterWeave for browsers: servers are reached by WebSocket, at their HTTP address. */
import { connectBy } from "./client/client.js";
import { dialWebSocket } from "./client/transport.js";

export * from "./exports.js";
/** `await connect("ws://localhost:7748")` */
export const connect = connectBy(dialWebSocket);
