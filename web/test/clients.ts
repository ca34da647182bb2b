/** The clients of a test, on its real server. */
import assert from "node:assert/strict";
import { connect, InterweaveError, type Client } from "../src/node.js";
import type { Server } from "./processes.js";

/** Those of one test, which are closed together. */
export class Clients {
  readonly all: Client[] = [];

  async connect(server: Server): Promise<Client> {
    return this.add(await connect(server.url, { timeoutMs: 10_000 }));
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

/** For assert.rejects and assert.throws: that error, and no other. */
export function fails(name: string): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof InterweaveError, String(error));
    assert.equal(error.codeName, name, error.message);
    return true;
  };
}
