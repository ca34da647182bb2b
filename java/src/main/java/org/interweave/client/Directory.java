package org.interweave.client;

import static org.interweave.wire.protocol.SessionCodec.MessageType.DONE;
import static org.interweave.wire.protocol.SessionCodec.MessageType.LIST_MEMBERS;
import static org.interweave.wire.protocol.SessionCodec.MessageType.LIST_SEGMENTS;
import static org.interweave.wire.protocol.SessionCodec.MessageType.MEMBER_LIST;
import static org.interweave.wire.protocol.SessionCodec.MessageType.REMOVE_SEGMENT;
import static org.interweave.wire.protocol.SessionCodec.MessageType.SEGMENT_LIST;

import java.util.ArrayList;
import java.util.List;
import org.interweave.session.Answers;
import org.interweave.wire.Message;
import org.interweave.wire.protocol.FieldCodec.RedirectField;
import org.interweave.wire.protocol.SegmentCodec;
import org.interweave.wire.protocol.SegmentCodec.ListSegments;
import org.interweave.wire.protocol.SegmentCodec.RemoveSegment;
import org.interweave.wire.protocol.SegmentCodec.SegmentList;
import org.interweave.wire.protocol.SessionCodec.ListMembers;
import org.interweave.wire.protocol.SessionCodec.MemberList;
import org.interweave.wire.protocol.SessionCodec.MessageType;

/** What a server is asked about its segments as a whole, and about its space. */
final class Directory {
  static final long LONGEST = 30_000_000_000L;
  private static final byte[] NO_BYTES = new byte[0];

  private final Link link;
  private final String server;
  /** Whose server has sent the client on to this one; null: none has. */
  private final Link from;

  Directory(Link link, String server, Link from) {
    this.link = link;
    this.server = server;
    this.from = from;
  }

  List<SegmentInfo> list(String prefix) {
    List<SegmentInfo> found = new ArrayList<>();
    String after = "";
    while (true) {
      byte[] body = ListSegments.CODEC.toBytes(new ListSegments(prefix, after));
      SegmentList list =
          Answers.expect(
              ask(LIST_SEGMENTS, body, Clock.now() + LONGEST), SEGMENT_LIST, SegmentList.CODEC);
      for (SegmentCodec.SegmentInfo each : list.segments()) found.add(shown(each));
      if (!list.more() || list.segments().isEmpty()) return found;
      after = list.segments().get(list.segments().size() - 1).path();
    }
  }

  private SegmentInfo shown(SegmentCodec.SegmentInfo one) {
    return new SegmentInfo(
        server + one.path(),
        one.newest().number(),
        one.blockCount(),
        one.wireBytes(),
        one.quotaBytes(),
        one.clients() == SegmentCodec.NOT_KNOWN ? -1 : one.clients(),
        one.writerLocked());
  }

  /** Where the server sends the client on instead [SPACE-9]; null: it has removed the segment. */
  RedirectField remove(String path, long deadline) {
    byte[] body = RemoveSegment.CODEC.toBytes(new RemoveSegment(path));
    Message answer = ask(REMOVE_SEGMENT, body, deadline);
    RedirectField to = Answers.redirect(answer);
    if (to == null) Answers.expect(answer, DONE);
    return to;
  }

  /** The servers of its space with numbers above that. */
  MemberList members(long after, long deadline) {
    byte[] body = ListMembers.CODEC.toBytes(new ListMembers(after));
    return Answers.expect(ask(LIST_MEMBERS, body, deadline), MEMBER_LIST, MemberList.CODEC);
  }

  /** The server can be asked. */
  void connect(long deadline) {
    link.lock.lock();
    try {
      link.connected(null, deadline, true, true);
    } finally {
      link.lock.unlock();
    }
  }

  private Message ask(MessageType type, byte[] body, long deadline) {
    link.lock.lock();
    try {
      link.connected(null, deadline, true, true);
      if (from != null && !link.isOf(from.space())) throw link.inOtherSpace();
      Call call = link.send(type, null, body, NO_BYTES, true);
      return link.await(call, deadline, false, true);
    } finally {
      link.lock.unlock();
    }
  }
}
