/** Lets tasks wait until something may have changed. */
import { now } from "./clock.js";

export class Condition {
  private readonly waiting = new Set<() => void>();

  /** Wakes all waiting tasks. */
  notify(): void {
    const waiting = [...this.waiting];
    this.waiting.clear();
    for (const wake of waiting) wake();
  }

  /** Waits until the next `notify`. Gives false if the deadline came first. */
  wait(deadline: number): Promise<boolean> {
    const left = deadline - now();
    if (left <= 0) return Promise.resolve(false);
    return new Promise((resolve) => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const wake = () => {
        clearTimeout(timer);
        resolve(true);
      };
      this.waiting.add(wake);
      if (left === Infinity) return;
      timer = setTimeout(() => {
        this.waiting.delete(wake);
        resolve(false);
      }, left);
    });
  }
}
