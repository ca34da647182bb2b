/** Certificates of `interweave cert`, and servers that show them. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { program, Server } from "./processes.js";

const folders: string[] = [];

/** A folder with an authority, a server's certificate, and alice's. */
export function makeCertificates(): string {
  const folder = mkdtempSync(join(tmpdir(), "interweave-tls-"));
  folders.push(folder);
  for (const words of [["authority"], ["server"], ["client", "alice"]]) {
    const [kind = "", ...name] = words;
    execFileSync(program, ["cert", kind, folder, ...name]);
  }
  return folder;
}

export function removeCertificates(): void {
  folders.forEach((folder) => rmSync(folder, { recursive: true }));
}

export function serveWith(folder: string, ...options: string[]): Promise<Server> {
  const own = ["--tls-cert", join(folder, "server.pem"), "--tls-key", join(folder, "server.key")];
  return Server.start("--store", "memory", ...own, ...options);
}
