/** Plays by itself: walks to the nearest coin, like Hunter.java. */
import { cellCoin, directions } from "./game.js";

/** The first step of the shortest way to a coin; null: there is none. */
export function hunt(now, own) {
  const start = own.y * now.width + own.x;
  const first = new Map([[start, null]]);
  const reached = [start];
  for (let at = reached.shift(); at !== undefined; at = reached.shift()) {
    if (now.cells[at] === cellCoin) return first.get(at);
    for (const to of Object.values(directions)) {
      const [x, y] = [(at % now.width) + to.dx, Math.floor(at / now.width) + to.dy];
      const next = y * now.width + x;
      if (!now.isFree(x, y) || first.has(next)) continue;
      first.set(next, first.get(at) ?? to);
      reached.push(next);
    }
  }
  return null;
}
