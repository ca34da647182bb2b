/**
 * Polling or notification? A copy that is asked about often and changes seldom is cheaper to watch
 * at the server; one that changes more often than it is read is cheaper to ask about [POLL-1].
 */
export const PATIENCE = 3;

export class Adaptation {
  private upToDate = 0;
  private unread = 0;
  wantsSubscription = false;

  /** An acquire asked, and the copy was up to date or was not. */
  asked(isUpToDate: boolean): void {
    this.upToDate = isUpToDate ? this.upToDate + 1 : 0;
    if (this.upToDate >= PATIENCE) this.wantsSubscription = true;
  }

  /** A reader took the lock. */
  acquired(): void {
    this.unread = 0;
  }

  /** The server sent a notification. */
  notified(): void {
    if (++this.unread < PATIENCE) return;
    this.wantsSubscription = false;
    this.upToDate = 0;
    this.unread = 0;
  }
}
