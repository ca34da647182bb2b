package org.interweave.vectors;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.interweave.diff.CopiedBlock;
import org.interweave.diff.Copy;
import org.interweave.types.TypeTable;
import org.interweave.wire.protocol.DescriptorCodec.TypeDescriptor;
import org.interweave.wire.protocol.XdrReader;

/** A vector of spec/vectors, and the context that it stands in. */
@SuppressWarnings("unchecked")
record Vector(Map<String, Object> members) {
  private static final List<Vector> GOOD = load("good");

  /** All vectors of a folder. */
  static List<Vector> of(String folder) {
    return folder.equals("good") ? GOOD : load(folder);
  }

  private static List<Vector> load(String folder) {
    Path path = Path.of(System.getProperty("interweave.root"), "spec", "vectors", folder);
    List<Vector> vectors = new ArrayList<>();
    try (Stream<Path> files = Files.list(path)) {
      for (Path file : files.filter(each -> each.toString().endsWith(".json")).sorted().toList()) {
        for (Object each : (List<Object>) Json.parse(Files.readString(file))) {
          vectors.add(new Vector((Map<String, Object>) each));
        }
      }
    } catch (IOException wrong) {
      throw new UncheckedIOException(wrong);
    }
    return vectors;
  }

  String text(String member) {
    return (String) members.get(member);
  }

  Object meaning() {
    return members.get("meaning");
  }

  /** Of the context; `otherwise` if the context does not say. */
  <T> T context(String member, T otherwise) {
    Map<String, Object> context = (Map<String, Object>) members.getOrDefault("context", Map.of());
    return (T) context.getOrDefault(member, otherwise);
  }

  byte[] bytes() {
    Object said = members.get("bytes");
    List<Object> lines = said instanceof String one ? List.of(one) : (List<Object>) said;
    StringBuilder hex = new StringBuilder();
    for (Object line : lines) hex.append(((String) line).replaceAll(";.*|\\s", ""));
    return HexFormat.of().parseHex(hex);
  }

  static List<TypeDescriptor> descriptors(byte[] bytes) {
    XdrReader r = new XdrReader(bytes);
    List<TypeDescriptor> found = new ArrayList<>();
    while (r.remaining() > 0) found.add(TypeDescriptor.CODEC.decode(r));
    return found;
  }

  void addTypes(TypeTable table) {
    for (String name : this.<List<String>>context("types", List.of())) {
      Vector named =
          GOOD.stream()
              .filter(v -> v.text("name").equals(name) && v.text("kind").equals("descriptor"))
              .findFirst()
              .orElseThrow();
      table.append(table.check(descriptors(named.bytes())));
    }
  }

  TypeTable types() {
    TypeTable table = new TypeTable();
    addTypes(table);
    return table;
  }

  Copy copy() {
    return copy(1L << 40);
  }

  Copy copy(long maxBytes) {
    Copy copy = new Copy(maxBytes);
    addTypes(copy.types());
    copy.begin(context("slots", List.<String>of()), this.<Long>context("version", 0L));
    for (Map<String, Object> block : this.<List<Map<String, Object>>>context("blocks", List.of())) {
      long serial = (Long) block.get("serial");
      var type = copy.types().get((Long) block.get("type"));
      copy.add(
          new CopiedBlock(serial, type, (Long) block.get("count"), (String) block.get("name")));
    }
    return copy;
  }
}
