package org.interweave.coherence;

/**
 * Polling or notification? A copy that is asked about often and changes seldom is cheaper to watch
 * at the server; one that changes more often than it is read is cheaper to ask about [POLL-1].
 */
public final class Adaptation {
  public static final int PATIENCE = 3;

  private int upToDate;
  private int unread;
  private boolean wantsSubscription;

  public boolean wantsSubscription() {
    return wantsSubscription;
  }

  /** An acquire asked, and the copy was up to date or was not. */
  public void asked(boolean isUpToDate) {
    upToDate = isUpToDate ? upToDate + 1 : 0;
    if (upToDate >= PATIENCE) wantsSubscription = true;
  }

  /** A reader took the lock. */
  public void acquired() {
    unread = 0;
  }

  /** The server sent a notification. */
  public void notified() {
    if (++unread < PATIENCE) return;
    wantsSubscription = false;
    upToDate = 0;
    unread = 0;
  }
}
