package org.interweave.vectors;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.interweave.InterweaveException;
import org.interweave.diff.CopiedBlock;
import org.interweave.diff.UnitCheck;
import org.interweave.diff.UnitCollecting;
import org.interweave.diff.UnitPlacing;
import org.interweave.session.HeaderFields;
import org.interweave.types.Hash;
import org.interweave.types.Leaf;
import org.interweave.types.Plan;
import org.interweave.types.Type;
import org.interweave.wire.Address;
import org.interweave.wire.ByteWriter;
import org.interweave.wire.Cursor;
import org.interweave.wire.Decoding;
import org.interweave.wire.FrameDecoder;
import org.interweave.wire.Message;
import org.interweave.wire.Mip;
import org.interweave.wire.protocol.DescriptorCodec.TypeDescriptor;
import org.interweave.wire.protocol.FieldCodec.FieldKey;
import org.interweave.wire.protocol.FieldCodec.FieldList;
import org.interweave.wire.protocol.FieldCodec.HeaderField;
import org.interweave.wire.protocol.LogCodec.CheckpointHead;
import org.interweave.wire.protocol.LogCodec.LogHeader;
import org.interweave.wire.protocol.SessionCodec.Envelope;
import org.interweave.wire.protocol.SessionCodec.MessageType;
import org.interweave.wire.protocol.XdrCodec;
import org.interweave.wire.protocol.XdrException;
import org.interweave.wire.protocol.XdrReader;

/** What each kind of vector means to this client. */
final class Decoders {
  /** The meaning, and the bytes that it is written as if there is one way; else null. */
  record Decoded(Object meaning, byte[] bytes) {}

  private static final int LOG_HEAD_BYTES = 24;
  private static final long POINTER_TYPE = 64;

  private Decoders() {}

  /** Of every kind: one that is new is not passed over. */
  static Decoded decode(Vector vector) {
    String kind = vector.text("kind");
    return switch (kind) {
      case "varint" -> varint(vector);
      case "signature" -> signature(vector);
      case "descriptor" -> descriptor(vector);
      case "value" -> value(vector);
      case "pointer" -> pointer(vector);
      case "diff" -> DiffDecoder.decode(vector);
      case "control" -> control(vector);
      case "fields" -> fields(vector);
      case "frame" -> frame(vector);
      case "checkpoint-head" -> checkpointHead(vector);
      case "log-record" -> logRecord(vector);
      case "mip" -> mip(vector);
      default -> throw new AssertionError("vectors of kind " + kind + " are not walked");
    };
  }

  private static Decoded varint(Vector vector) {
    Cursor cursor = new Cursor(vector.bytes());
    long value = cursor.varint64();
    assertTrue(cursor.isAtEnd());
    ByteWriter out = new ByteWriter();
    out.varint(value);
    ByteWriter again = new ByteWriter();
    again.zigzag(Cursor.unzigzag(value));
    assertArrayEquals(out.finish(), again.finish());
    Object zigzag = Shown.signed(Cursor.unzigzag(value));
    return new Decoded(Map.of("unsigned", Shown.unsigned(value), "zigzag", zigzag), out.finish());
  }

  private static Decoded signature(Vector vector) {
    long serial = (Long) ((Map<?, ?>) vector.meaning()).get("serial");
    Hash hash = new Hash();
    for (byte each : vector.bytes()) hash.u8(each);
    assertEquals(hash.value(), vector.types().get(serial).hash());
    Object shown = Shown.hash(hash.value());
    return new Decoded(Map.of("serial", serial, "hash", shown), vector.bytes());
  }

  private static Decoded descriptor(Vector vector) {
    List<TypeDescriptor> found;
    try {
      found = Vector.descriptors(vector.bytes());
    } catch (XdrException wrong) {
      throw InterweaveException.malformed(wrong.getMessage());
    }
    List<Object> types = new ArrayList<>();
    ByteWriter written = new ByteWriter();
    for (Type type : vector.types().check(found)) {
      Map<String, Object> shown = Shown.members(type.descriptor());
      shown.put("units", Shown.unsigned(type.units()));
      shown.put("slot_bytes", Shown.unsigned(type.slotBytes()));
      types.add(shown);
      written.put(TypeDescriptor.CODEC.toBytes(type.descriptor()));
    }
    return new Decoded(Map.of("types", types), written.finish());
  }

  private static Decoded value(Vector vector) {
    Type type = vector.types().get(vector.<Long>context("type", 0L));
    long count = vector.<Long>context("count", 1L);
    byte[] bytes = vector.bytes();
    Cursor cursor = new Cursor(bytes);
    Plan plan = type.plan().repeated(count, type.size());
    plan.walk(0, new UnitCheck(cursor, vector.<List<?>>context("slots", List.of()).size()));
    if (!cursor.isAtEnd()) throw InterweaveException.malformed("data continues");
    CopiedBlock block = new CopiedBlock(1, type, count, "");
    plan.walk(0, new UnitPlacing(new Cursor(bytes), block.memory()));
    ByteWriter again = new ByteWriter();
    plan.walk(0, new UnitCollecting(block.memory(), again));
    Units units = new Units(block);
    Object meaning = Map.of("values", units.values(), "slots", Shown.hex(units.slotForm()));
    return new Decoded(meaning, again.finish());
  }

  /** As a field of that type travels; the first type of the vector `node` is a pointer. */
  private static Decoded pointer(Vector vector) {
    byte[] bytes = vector.bytes();
    Vector node = new Vector(Map.of("context", Map.of("types", List.of("node"))));
    Plan pointer = node.types().get(POINTER_TYPE).plan();
    assertEquals(Leaf.Kind.POINTER, pointer.firstLeaf().kind);
    int slots = vector.<List<?>>context("slots", List.of()).size();
    pointer.walk(0, new UnitCheck(new Cursor(bytes), slots));
    Map<String, Object> meaning = new LinkedHashMap<>();
    meaning.put("pointer", Shown.pointer(bytes, 0));
    return new Decoded(meaning, bytes);
  }

  private static Decoded control(Vector vector) {
    byte[] bytes = vector.bytes();
    XdrReader r = new XdrReader(bytes);
    Envelope envelope = Decoding.next("the envelope", Envelope.CODEC, r);
    byte[] body = Arrays.copyOfRange(bytes, r.at(), bytes.length);
    return message(new Message(envelope, body, new byte[0]));
  }

  private static Decoded message(Message message) {
    Envelope envelope = message.envelope();
    MessageType type = MessageType.of(envelope.type());
    Map<String, Object> meaning = new LinkedHashMap<>();
    meaning.put("type", type == null ? (Object) (long) envelope.type() : type.name());
    meaning.put("stream", envelope.stream());
    meaning.put("bulk_bytes", Shown.unsigned(envelope.bulkBytes()));
    ByteWriter again = new ByteWriter();
    again.put(Envelope.CODEC.toBytes(envelope));
    XdrCodec<Record> codec = type == null ? null : Bodies.of(type);
    if (type == null) {
      meaning.put("body", Shown.hex(message.body()));
      again.put(message.body());
    } else if (codec == null) {
      if (message.body().length > 0) throw InterweaveException.malformed("no body");
      meaning.put("body", Map.of());
    } else {
      Record body = message.decode(codec);
      meaning.put("body", Shown.value(body));
      again.put(codec.toBytes(body));
    }
    return new Decoded(meaning, again.finish());
  }

  /** A value of a known key is decoded as a reader of the key decodes it. */
  private static Decoded fields(Vector vector) {
    FieldList list = Decoding.whole("a list", FieldList.CODEC, vector.bytes());
    HeaderFields.check(list.fields());
    List<Object> meaning = new ArrayList<>();
    for (HeaderField field : list.fields()) {
      FieldKey key = FieldKey.of((int) field.key());
      Object value =
          key == null
              ? Shown.hex(field.value())
              : Shown.value(HeaderFields.find(list.fields(), key, Bodies.of(key)));
      Object shownKey = key == null ? (Object) field.key() : key.name();
      meaning.add(Map.of("key", shownKey, "value", value));
    }
    return new Decoded(Map.of("fields", meaning), FieldList.CODEC.toBytes(list));
  }

  /** Wherever the bytes are cut must not matter. */
  private static Decoded frame(Vector vector) {
    byte[] bytes = vector.bytes();
    Object first = messages(vector, bytes, 1);
    assertEquals(first, messages(vector, bytes, 7));
    assertEquals(first, messages(vector, bytes, bytes.length));
    return new Decoded(Map.of("messages", first), null);
  }

  private static Object messages(Vector vector, byte[] bytes, int step) {
    FrameDecoder decoder = new FrameDecoder(vector.<Long>context("max_diff_bytes", 1L << 40));
    List<Message> whole = new ArrayList<>();
    for (int at = 0; at < bytes.length; at += step) {
      decoder.push(bytes, at, Math.min(at + step, bytes.length), whole);
    }
    List<Object> meaning = new ArrayList<>();
    for (Message message : whole) {
      if (message.part() == Message.Part.FIRST) continue;
      assertSameFrames(message);
      Map<?, ?> shown = (Map<?, ?>) message(message).meaning();
      Map<Object, Object> withBulk = new LinkedHashMap<>(shown);
      withBulk.put("bulk", Shown.hex(message.bulk()));
      meaning.add(withBulk);
    }
    return meaning;
  }

  /** A message that is written and read again is the same. */
  private static void assertSameFrames(Message message) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    message.frames().forEach(p -> out.write(p.array(), p.arrayOffset(), p.limit() - p.position()));
    List<Message> again = new ArrayList<>();
    new FrameDecoder(1L << 40).push(out.toByteArray(), 0, out.size(), again);
    again.removeIf(each -> each.part() == Message.Part.FIRST);
    assertEquals(1, again.size());
    assertEquals(message.envelope(), again.get(0).envelope());
    assertArrayEquals(message.body(), again.get(0).body());
    assertArrayEquals(message.bulk(), again.get(0).bulk());
  }

  private static Decoded checkpointHead(Vector vector) {
    CheckpointHead head = Decoding.whole("head", CheckpointHead.CODEC, vector.bytes());
    return new Decoded(Shown.value(head), CheckpointHead.CODEC.toBytes(head));
  }

  /** Marks, checksums and padding are the server's business; the header is XDR that we have. */
  private static Decoded logRecord(Vector vector) {
    byte[] bytes = vector.bytes();
    long length = new XdrReader(bytes, 8, 12).u32() & 0x3fffffff;
    int end = LOG_HEAD_BYTES + (int) length;
    byte[] header = Arrays.copyOfRange(bytes, LOG_HEAD_BYTES, end);
    LogHeader decoded = Decoding.whole("header", LogHeader.CODEC, header);
    byte[] written = LogHeader.CODEC.toBytes(decoded);
    ByteWriter again = new ByteWriter();
    again.put(bytes, 0, LOG_HEAD_BYTES);
    again.put(written);
    int rest = LOG_HEAD_BYTES + written.length;
    again.put(bytes, rest, bytes.length - rest);
    Map<Object, Object> meaning = new LinkedHashMap<>((Map<?, ?>) vector.meaning());
    meaning.put("header", Shown.value(decoded));
    return new Decoded(meaning, again.finish());
  }

  private static Decoded mip(Vector vector) {
    Mip mip = Mip.parse(vector.text("text"));
    List<Address> hosts = mip.url().server().all();
    Address server = hosts.get(0);
    Map<String, Object> url = new LinkedHashMap<>();
    if (server.socketFile() != null) {
      url.put("socket_file", server.socketFile());
    } else {
      url.put("secure", server.secure());
      url.put("host", server.host());
      url.put("port", (long) server.port());
    }
    if (hosts.size() > 1) {
      url.put("others", hosts.stream().skip(1).map(Address::place).toList());
    }
    url.put("path", mip.url().path());
    assertEquals(mip, Mip.parse(mip.text()));
    Map<String, Object> meaning = new LinkedHashMap<>();
    meaning.put("url", url);
    Object serial = mip.serial() == 0 ? null : (Object) mip.serial();
    meaning.put("block", mip.name() == null ? serial : mip.name());
    meaning.put("offset", Shown.unsigned(mip.offset()));
    meaning.put("canonical", mip.text());
    return new Decoded(meaning, null);
  }
}
