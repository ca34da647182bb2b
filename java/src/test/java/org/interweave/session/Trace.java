package org.interweave.session;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.interweave.vectors.Json;
import org.interweave.wire.Message;
import org.interweave.wire.protocol.LockCodec.AbortWriter;
import org.interweave.wire.protocol.LockCodec.AcquireReader;
import org.interweave.wire.protocol.LockCodec.AcquireWriter;
import org.interweave.wire.protocol.LockCodec.MoreSerials;
import org.interweave.wire.protocol.LockCodec.ReleaseReader;
import org.interweave.wire.protocol.LockCodec.ReleaseWriter;
import org.interweave.wire.protocol.LockCodec.RenewWriter;
import org.interweave.wire.protocol.LockCodec.ResolveRelease;
import org.interweave.wire.protocol.NotifyCodec.Subscribe;
import org.interweave.wire.protocol.NotifyCodec.Unsubscribe;
import org.interweave.wire.protocol.SegmentCodec.CloseSegment;
import org.interweave.wire.protocol.SegmentCodec.OpenSegment;
import org.interweave.wire.protocol.SessionCodec.Hello;
import org.interweave.wire.protocol.SessionCodec.MessageType;

/** A trace of spec/vectors/traces. */
@SuppressWarnings("unchecked")
record Trace(String name, Map<String, Object> head, List<Trace.Line> lines) {
  /** An event. `number` is that of its line in the file, from 1 on. */
  record Line(int number, Map<String, Object> members) {
    String text(String member) {
      return (String) members.get(member);
    }

    boolean has(String member) {
      return members.containsKey(member);
    }

    long number(String member) {
      return (Long) members.get(member);
    }

    long at() {
      return number("at");
    }

    String is() {
      return text("is");
    }

    boolean comesOut() {
      return is().equals("sends") || is().equals("done") || is().equals("hangs_up");
    }

    byte[] bytes(String member) {
      return has(member) ? HexFormat.of().parseHex(text(member)) : new byte[0];
    }

    /** The message, on that stream. */
    Message message(long stream) {
      MessageType type = MessageType.valueOf(text("message"));
      return Message.of(type, stream, bytes("body"), bytes("bulk"));
    }
  }

  static Trace of(String name, List<String> text) {
    List<Line> lines = new ArrayList<>();
    for (int i = 1; i < text.size(); ++i) {
      lines.add(new Line(i + 1, (Map<String, Object>) Json.parse(text.get(i))));
    }
    return new Trace(name, (Map<String, Object>) Json.parse(text.get(0)), lines);
  }

  static Path folder() {
    String other = System.getProperty("interweave.traces");
    if (other != null) return Path.of(other);
    return Path.of(System.getProperty("interweave.root"), "spec", "vectors", "traces");
  }

  static List<Trace> all() {
    List<Trace> traces = new ArrayList<>();
    try (Stream<Path> files = Files.list(folder())) {
      for (Path file : files.filter(each -> each.toString().endsWith(".jsonl")).sorted().toList()) {
        traces.add(of(file.getFileName().toString(), Files.readAllLines(file)));
      }
    } catch (IOException wrong) {
      throw new UncheckedIOException(wrong);
    }
    return traces;
  }

  String path() {
    return (String) head.get("path");
  }

  String durability() {
    return (String) head.get("durability");
  }

  // ---- the meaning of messages ----

  /** A text that is the same for messages that mean the same, save for the freedoms. */
  static String meaning(Message message) {
    String bulk = message.bulk().length == 0 ? "" : " with " + hex(message.bulk());
    return message.typeName() + " " + body(message) + bulk;
  }

  private static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(bytes);
  }

  private static String body(Message message) {
    MessageType type = MessageType.of(message.envelope().type());
    return switch (type) {
      case HELLO -> {
        Hello said = message.decode(Hello.CODEC);
        yield said.versionMin() + ".." + said.versionMax() + " session " + hex(said.session());
      }
      case OPEN_SEGMENT -> message.decode(OpenSegment.CODEC).toString();
      case CLOSE_SEGMENT -> message.decode(CloseSegment.CODEC).toString();
      case ACQUIRE_READER -> {
        AcquireReader said = message.decode(AcquireReader.CODEC);
        yield new AcquireReader(
            said.segment(), said.have(), said.model(), said.x(), said.fresh(), 0).toString();
      }
      case RELEASE_READER -> message.decode(ReleaseReader.CODEC).toString();
      case ACQUIRE_WRITER -> {
        AcquireWriter said = message.decode(AcquireWriter.CODEC);
        yield new AcquireWriter(said.segment(), said.have(), 0).toString();
      }
      case RENEW_WRITER -> message.decode(RenewWriter.CODEC).toString();
      case MORE_SERIALS -> {
        MoreSerials said = message.decode(MoreSerials.CODEC);
        yield new MoreSerials(said.segment(), said.fence(), 0).toString();
      }
      case RELEASE_WRITER -> message.decode(ReleaseWriter.CODEC).toString();
      case ABORT_WRITER -> message.decode(AbortWriter.CODEC).toString();
      case RESOLVE_RELEASE -> {
        ResolveRelease said = message.decode(ResolveRelease.CODEC);
        yield said.segment() + ", session " + hex(said.session()) + ", release " + said.sequence();
      }
      case SUBSCRIBE -> message.decode(Subscribe.CODEC).toString();
      case UNSUBSCRIBE -> message.decode(Unsubscribe.CODEC).toString();
      default -> hex(message.body());
    };
  }
}
