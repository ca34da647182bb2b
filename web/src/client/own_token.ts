/** The tokens of servers that this user runs, in Node [OWN-3]. */
import { constants } from "node:fs";
import { lstat, open } from "node:fs/promises";
import type { OwnToken } from "./transport.js";

const MOST_BYTES = 4096;

/**
 * The address at which a client shows such a token. At another address of loopback another user's
 * server may have the port.
 */
export const OWN_ADDRESS = "127.0.0.1";

/** Whether a client of that host may come to show a token. */
export function mayHaveToken(host: string): boolean {
  return host === OWN_ADDRESS || host === "localhost";
}

/** The tokens to show at that port of OWN_ADDRESS, one after the other [OWN-6]. */
export async function ownTokens(port: number): Promise<OwnToken[]> {
  const user = process.geteuid?.();
  if (user === undefined) return [];
  const runtime = process.env["XDG_RUNTIME_DIR"] ?? "";
  const folders = [`/run/user/${user}/interweave`, `/tmp/interweave-${user}`];
  if (runtime !== "") folders.unshift(`${runtime}/interweave`);
  const found: OwnToken[] = [];
  for (const folder of new Set(folders)) {
    if (!(await isPrivateFolder(folder, user))) continue;
    const file = `${folder}/${port}.token`;
    const text = await readPrivate(file, user);
    if (text !== "") found.push({ file, text });
  }
  return found;
}

/** Whether it belongs to the user, nobody else may open it, and it is not a symbolic link. */
async function isPrivateFolder(path: string, user: number): Promise<boolean> {
  const found = await lstat(path).catch(() => null);
  return found !== null && found.isDirectory() && found.uid === user && (found.mode & 0o077) === 0;
}

/** The first line of a file that belongs to the user and that nobody else may read. */
async function readPrivate(path: string, user: number): Promise<string> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags).catch(() => null);
  if (file === null) return "";
  try {
    const found = await file.stat();
    const isPrivate = found.isFile() && found.uid === user && (found.mode & 0o077) === 0;
    if (!isPrivate || found.size > MOST_BYTES) return "";
    return (await file.readFile("utf8")).split("\n", 1)[0] ?? "";
  } finally {
    await file.close();
  }
}
