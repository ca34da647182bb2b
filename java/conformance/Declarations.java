package org.interweave.client;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.types.Declared;
import org.interweave.wire.protocol.DescriptorCodec.Primitive;

/** The types declared to this process, as the runner writes them (conformance/README.md). */
final class Declarations {
  private final Map<String, Map<?, ?>> texts = new HashMap<>();
  private final Map<String, Declared> made = new HashMap<>();

  Declarations() {
    for (Primitive each : Primitive.values()) {
      made.put(each.name().toLowerCase(Locale.ROOT), Declared.primitive(each));
    }
  }

  /** Types may refer to others that stand later in the list. */
  String declare(Object list) {
    for (Object each : (List<?>) list) {
      Map<?, ?> text = (Map<?, ?>) each;
      String name = (String) text.get("name");
      texts.put(name, text);
      made.remove(name);
    }
    return "";
  }

  /** A type by its name, or an anonymous one by what it is made of. */
  Declared of(Object json) {
    if (json instanceof Map<?, ?> body) return make("", body);
    String name = (String) json;
    Declared known = made.get(name);
    if (known != null) return known;
    Map<?, ?> text = texts.get(name);
    if (text != null) return make(name, text);
    throw InterweaveException.of(Error.UNKNOWN_TYPE, "no type `" + name + "` is declared");
  }

  private Declared orVoid(Object json) {
    return json == null ? null : of(json);
  }

  /** A type that may lead to itself is known by its name before its parts are. */
  private Declared make(String name, Map<?, ?> body) {
    if (body.containsKey("record")) return record(name, (List<?>) body.get("record"));
    if (body.containsKey("union")) return union(name, (Map<?, ?>) body.get("union"));
    if (body.containsKey("pointer")) {
      Declared pointer = known(name, Declared.pointer((Declared) null).named(name));
      return pointer.to(orVoid(body.get("pointer")));
    }
    if (body.containsKey("sequence")) {
      List<?> parts = (List<?>) body.get("sequence");
      Declared empty = Declared.sequence((Declared) null, (Long) parts.get(1));
      return known(name, empty.named(name)).to(of(parts.get(0)));
    }
    return known(name, plain(name, body));
  }

  private Declared known(String name, Declared type) {
    if (!name.isEmpty()) made.put(name, type);
    return type;
  }

  private Declared plain(String name, Map<?, ?> body) {
    if (body.containsKey("enum")) {
      Map<String, Integer> members = new LinkedHashMap<>();
      for (Object each : (List<?>) body.get("enum")) {
        List<?> member = (List<?>) each;
        members.put((String) member.get(0), ((Long) member.get(1)).intValue());
      }
      return Declared.enumeration(name, members);
    }
    if (body.containsKey("string")) return Declared.string((Long) body.get("string")).named(name);
    if (body.containsKey("text")) return Declared.text((Long) body.get("text")).named(name);
    List<?> array = (List<?>) body.get("array");
    if (array == null) throw new IllegalArgumentException(body + " is not a type");
    return Declared.array(of(array.get(0)), (Long) array.get(1)).named(name);
  }

  private Declared record(String name, List<?> fields) {
    Declared type = known(name, Declared.record(name));
    for (Object each : fields) {
      List<?> field = (List<?>) each;
      type.with((String) field.get(0), of(field.get(1)));
    }
    return type;
  }

  private Declared union(String name, Map<?, ?> body) {
    List<?> on = (List<?>) body.get("on");
    Declared type = known(name, Declared.union(name, (String) on.get(0), of(on.get(1))));
    for (Object each : (List<?>) body.get("arms")) {
      List<?> arm = (List<?>) each;
      List<?> values = (List<?>) arm.get(2);
      Integer[] selected = new Integer[values.size()];
      for (int i = 0; i < selected.length; ++i) selected[i] = ((Long) values.get(i)).intValue();
      type.with((String) arm.get(0), orVoid(arm.get(1)), selected);
    }
    List<?> otherwise = (List<?>) body.get("default");
    if (otherwise != null) type.otherwise((String) otherwise.get(0), orVoid(otherwise.get(1)));
    return type;
  }
}
