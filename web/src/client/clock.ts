/**
 * The one clock of a client, in milliseconds [FRESH-1]. It never goes back, and counts suspend. The
 * monotonic clock of a browser may stand still while the machine sleeps; the wall clock does not.
 * The larger step of the two therefore counts. A wall clock set forward makes copies seem older
 * than they are, which is safe.
 */
let monotonic = performance.now();
let wall = Date.now();
let time = 0;

export function now(): number {
  const [nextMonotonic, nextWall] = [performance.now(), Date.now()];
  time += Math.max(nextMonotonic - monotonic, nextWall - wall, 0);
  [monotonic, wall] = [nextMonotonic, nextWall];
  return time;
}
