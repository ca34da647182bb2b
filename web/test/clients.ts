/** The clients of a test, on its real server. */
import assert from "node:assert/strict";
import { connect, InterweaveError, type Client, type NodeConnectOptions } from "../src/node.js";
import { ErrorCode } from "../src/wire/protocol/error.js";
import type { Server } from "./processes.js";

/** Those of one test, which are closed together. */
export class Clients {
  readonly all: Client[] = [];

  connect(server: Server): Promise<Client> {
    return this.connectTo(server.url);
  }

  async connectTo(url: string, options: NodeConnectOptions = {}): Promise<Client> {
    return this.add(await connect(url, { timeoutMs: 10_000, ...options }));
  }

  add(made: Client): Client {
    this.all.push(made);
    return made;
  }

  async close(): Promise<void> {
    for (const each of this.all.splice(0)) await each.close();
  }
}

/** Until this program has noticed that its connection is there, or that it is lost. */
export function connection(here: Client, wanted: boolean): Promise<void> {
  return new Promise((resolve) => {
    const stop = here.onConnection((isConnected) => {
      if (isConnected !== wanted) return;
      stop();
      resolve();
    });
  });
}

/**
 * For assert.rejects: the changes of a writer are undone whose session has ended. FENCED: the
 * client knew of that before the release. ROLLED_BACK: it found out on the way.
 */
export function isUndone(error: unknown): boolean {
  const codes: number[] = [ErrorCode.FENCED, ErrorCode.ROLLED_BACK];
  assert.ok(error instanceof InterweaveError && codes.includes(error.code), String(error));
  return true;
}

/** For assert.rejects and assert.throws: that error with such a text, and no other. */
export function fails(name: string, text = /(?:)/): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof InterweaveError, String(error));
    assert.equal(error.codeName, name, error.message);
    assert.match(error.message, text);
    return true;
  };
}
