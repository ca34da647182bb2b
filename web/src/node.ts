/** InterWeave for Node: by TCP, Unix sockets and WebSocket. */
import { hostname } from "node:os";
import { basename } from "node:path";
import { connectBy, type Client, type ConnectOptions } from "./client/client.js";
import { dialNode } from "./client/tcp.js";

export * from "./exports.js";

/** The four that Node takes from the environment if they are not given [CRED-1]. */
export interface NodeConnectOptions extends ConnectOptions {
  /** A PEM file of the authorities that iws:// trusts; otherwise IW_CA. */
  ca?: string;
  /** A PEM file of this client's certificate; otherwise IW_CERT. */
  cert?: string;
  /** A PEM file of the certificate's key, given with `cert`; otherwise IW_KEY. */
  key?: string;
}

const origin = () => ({
  program: basename(process.argv[1] ?? process.execPath),
  host: hostname(),
  pid: process.pid,
});

/** `await connect("iw://localhost")`. Without the option `token` the client shows IW_TOKEN. */
export function connect(url: string, options: NodeConnectOptions = {}): Promise<Client> {
  const { ca, cert, key, ...others } = options;
  const token = others.token ?? process.env["IW_TOKEN"];
  return connectBy(dialNode({ ca, cert, key }), origin)(
    url,
    token === undefined ? others : { ...others, token },
  );
}
