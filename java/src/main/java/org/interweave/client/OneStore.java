package org.interweave.client;

import java.util.Arrays;
import org.interweave.InterweaveException;
import org.interweave.wire.protocol.SessionCodec.MemberInfo;
import org.interweave.wire.protocol.SessionCodec.MemberList;

/** Whether two servers share a store, so that a path names one segment at both [SPACE-60]. */
final class OneStore {
  private static final long LONGEST = 2_000_000_000;

  private OneStore() {}

  /**
   * Asks both.
   *
   * @param here fails if this one cannot be reached before the deadline
   * @param there is waited for shortly
   * @return the space of both; null: they share no store, or one of them does not say so
   */
  static byte[] space(Link here, Link there, long deadline) {
    connect(here, deadline);
    long soon = Math.min(deadline, Clock.now() + LONGEST);
    try {
      byte[] space = spaceOf(here);
      byte[] before = spaceOf(there);
      // One that was of another space is not waited for.
      if (space == null || before != null && !Arrays.equals(before, space)) return null;
      connect(there, soon);
      if (!Arrays.equals(spaceOf(there), space)) return null;
      // A copy of a store has the ids of the first one, but not the members that joined either
      // since.
      MemberInfo one = ownRow(here, soon);
      MemberInfo other = ownRow(there, soon);
      boolean areOne =
          one != null && other != null && lists(here, other, soon) && lists(there, one, soon);
      return areOne ? space : null;
    } catch (InterweaveException unanswered) {
      return null;
    }
  }

  private static void connect(Link link, long deadline) {
    link.lock.lock();
    try {
      link.connected(null, deadline, true, true);
    } finally {
      link.lock.unlock();
    }
  }

  private static byte[] spaceOf(Link link) {
    link.lock.lock();
    try {
      return link.space();
    } finally {
      link.lock.unlock();
    }
  }

  /** Null: the server shares its store with nobody. */
  private static MemberInfo ownRow(Link link, long deadline) {
    for (long after = 0; ; ) {
      MemberList list = new Directory(link, "", null).members(after, deadline);
      if (!list.sharesStore()) return null;
      for (MemberInfo each : list.members()) {
        if (each.isAsked() && each.number() != 0) return each;
      }
      int count = list.members().size();
      long last = count == 0 ? after : list.members().get(count - 1).number();
      if (!list.more() || Long.compareUnsigned(last, after) <= 0) return null;
      after = last;
    }
  }

  private static boolean lists(Link link, MemberInfo row, long deadline) {
    MemberList list = new Directory(link, "", null).members(row.number() - 1, deadline);
    for (MemberInfo each : list.members()) {
      if (each.number() == row.number() && each.address().equals(row.address())) return true;
    }
    return false;
  }
}
