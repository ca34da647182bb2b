package org.interweave.vectors;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.interweave.InterweaveException;
import org.interweave.diff.Copy;
import org.interweave.diff.Diff;
import org.interweave.session.HeaderFields;
import org.interweave.types.TypeTable;
import org.interweave.wire.Decoding;
import org.interweave.wire.FrameDecoder;
import org.interweave.wire.Message;
import org.interweave.wire.Mip;
import org.interweave.wire.protocol.FieldCodec.FieldKey;
import org.interweave.wire.protocol.FieldCodec.FieldList;
import org.interweave.wire.protocol.FieldCodec.HeaderField;
import org.interweave.wire.protocol.SessionCodec.Envelope;
import org.interweave.wire.protocol.SessionCodec.MessageType;
import org.interweave.wire.protocol.XdrCodec;
import org.interweave.wire.protocol.XdrException;
import org.interweave.wire.protocol.XdrReader;

/** What is fuzzed: its seeds, its share of the inputs, and its decoder. */
enum FuzzTarget {
  FRAMES(List.of("frame"), "frames", 4, FuzzTarget.FIRST_BUFFER, FuzzTarget::frames),
  CONTROL(List.of("control"), "control", 7, 0, FuzzTarget::control),
  FIELDS(List.of("fields"), "control", 2, 0, FuzzTarget::fields),
  DESCRIPTORS(List.of("descriptor"), "descriptors", 2, 0, FuzzTarget::descriptors),
  DIFFS(List.of("diff"), "diffs", 4, FuzzTarget.MAX_BYTES, FuzzTarget::diffs),
  MIPS(List.of("mip"), "mips", 1, 0, FuzzTarget::mips);

  static final int SHARES = 20;
  /** Of a copy's blocks. A diff of few bytes makes blocks of so many, all zeros [DIFF-2]. */
  private static final long MAX_BYTES = 64 << 10;
  /** Of a message's bulk; it grows with the bytes that come. */
  private static final long FIRST_BUFFER = 64 << 10;
  /** With the types of the vectors, and blocks of them. */
  private static final Vector RICH =
      new Vector(
          Map.of(
              "context",
              Map.of(
                  "types", List.of("node", "strings", "figure-3", "compound"),
                  "slots", List.of("/other"),
                  "blocks",
                      List.of(
                          block(1, 79, 1, "m"),
                          block(5, 5, 4, "a"),
                          block(7, 70, 1, ""),
                          block(8, 65, 3, "old"),
                          block(200, 2, 400, "")))));
  private static final Map<MessageType, XdrCodec<Record>> BODIES = bodies();
  private static final Map<FieldKey, XdrCodec<Record>> VALUES_OF_FIELDS = fieldValues();

  /** Throws the library's exception if it refuses the bytes. */
  interface Decoder {
    void decode(byte[] bytes);
  }

  final List<String> kinds;
  final String corpus;
  final int share;
  /** What the decoder takes that is bounded otherwise. */
  final long own;
  final Decoder decoder;

  FuzzTarget(List<String> kinds, String corpus, int share, long own, Decoder decoder) {
    this.kinds = kinds;
    this.corpus = corpus;
    this.share = share;
    this.own = own;
    this.decoder = decoder;
  }

  byte[] seed(Vector vector) {
    if (this == MIPS) return vector.text("text").getBytes(StandardCharsets.UTF_8);
    return vector.bytes();
  }

  private static Map<MessageType, XdrCodec<Record>> bodies() {
    Map<MessageType, XdrCodec<Record>> found = new EnumMap<>(MessageType.class);
    for (MessageType type : MessageType.values()) {
      XdrCodec<Record> codec = Bodies.of(type);
      if (codec != null) found.put(type, codec);
    }
    return found;
  }

  private static Map<FieldKey, XdrCodec<Record>> fieldValues() {
    Map<FieldKey, XdrCodec<Record>> found = new EnumMap<>(FieldKey.class);
    for (FieldKey key : FieldKey.values()) found.put(key, Bodies.of(key));
    return found;
  }

  /** In three pieces, as a connection may bring them. */
  private static void frames(byte[] bytes) {
    FrameDecoder decoder = new FrameDecoder(1 << 20);
    List<Message> whole = new ArrayList<>();
    int third = bytes.length / 3;
    decoder.push(bytes, 0, third, whole);
    decoder.push(bytes, third, 2 * third, whole);
    decoder.push(bytes, 2 * third, bytes.length, whole);
    for (Message message : whole) body(message);
  }

  private static void body(Message message) {
    MessageType type = MessageType.of(message.envelope().type());
    XdrCodec<Record> codec = type == null ? null : BODIES.get(type);
    if (codec != null) message.decode(codec);
  }

  private static void control(byte[] bytes) {
    XdrReader r = new XdrReader(bytes);
    Envelope envelope = Decoding.next("the envelope", Envelope.CODEC, r);
    body(new Message(envelope, Arrays.copyOfRange(bytes, r.at(), bytes.length), new byte[0]));
  }

  private static void fields(byte[] bytes) {
    List<HeaderField> list = Decoding.whole("a list", FieldList.CODEC, bytes).fields();
    HeaderFields.check(list);
    for (HeaderField field : list) {
      FieldKey key = FieldKey.of((int) field.key());
      if (key != null) HeaderFields.find(list, key, VALUES_OF_FIELDS.get(key));
    }
  }

  private static void descriptors(byte[] bytes) {
    try {
      new TypeTable().check(Vector.descriptors(bytes));
    } catch (XdrException wrong) {
      throw InterweaveException.malformed(wrong.getMessage());
    }
  }

  private static Map<String, Object> block(long serial, long type, long count, String name) {
    return Map.of("serial", serial, "type", type, "count", count, "name", name);
  }

  private static Copy copy;

  /** Makes what the decoder needs besides the bytes. */
  static void prepare() {
    if (copy == null) copy = RICH.copy(MAX_BYTES);
  }

  /** A refused diff leaves the copy as it was [DIFF-1], so that the next input meets the same. */
  private static void diffs(byte[] bytes) {
    copy.begin(copy.slots(), new Diff(bytes).from());
    copy.apply(bytes);
    copy = null;
  }

  private static void mips(byte[] bytes) {
    Mip.parse(new String(bytes, StandardCharsets.UTF_8));
  }
}
