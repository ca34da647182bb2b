package org.interweave.objects;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.interweave.IW_Types;
import org.interweave.types.Declared;
import org.interweave.wire.protocol.DescriptorCodec.Primitive;

/** Reads the words of generated classes as declared types. */
final class Words {
  private final IW_Types types;
  private final Map<String, Declared> known = new HashMap<>();

  Words(IW_Types types) {
    this.types = types;
  }

  /** The type of a name. What it embeds is read by recursion, as deep as types are embedded. */
  Declared named(String name) {
    Declared found = known.get(name);
    if (found != null) return found;
    IW_Types.Definition definition = types.definition(name);
    List<String> words = definition.words();
    return switch (definition.kind()) {
      case ENUMERATION -> {
        Map<String, Integer> members = new LinkedHashMap<>();
        for (int i = 0; i < words.size(); i += 2) {
          members.put(words.get(i), Integer.valueOf(words.get(i + 1)));
        }
        yield keep(name, Declared.enumeration(name, members));
      }
      case STRUCTURE -> {
        Declared record = keep(name, Declared.record(name));
        for (int i = 0; i < words.size(); i += 2) record.with(words.get(i), type(words.get(i + 1)));
        yield record;
      }
      case UNION -> union(name, words);
      case NAMED -> keep(name, type(words.get(0)).named(name));
    };
  }

  private Declared keep(String name, Declared type) {
    known.put(name, type);
    return type;
  }

  private Declared union(String name, List<String> words) {
    Declared union = keep(name, Declared.union(name, words.get(0), type(words.get(1))));
    for (int i = 2; i < words.size(); i += 3) {
      boolean isVoid = words.get(i).equals("-");
      String arm = isVoid ? "" : words.get(i);
      Declared type = isVoid ? null : type(words.get(i + 1));
      if (words.get(i + 2).equals("*")) union.otherwise(arm, type);
      else union.with(arm, type, values(words.get(i + 2)));
    }
    return union;
  }

  private static Integer[] values(String text) {
    String[] parts = text.split(",");
    Integer[] values = new Integer[parts.length];
    for (int i = 0; i < parts.length; ++i) values[i] = Integer.valueOf(parts[i]);
    return values;
  }

  private Declared type(String word) {
    if (word.startsWith("*")) return pointer(word.substring(1));
    if (word.startsWith("$$")) return Declared.text(Long.parseLong(word.substring(2)));
    if (word.startsWith("$")) return Declared.string(Long.parseLong(word.substring(1)));
    if (word.startsWith("[")) {
      int end = word.indexOf(']');
      long count = Long.parseLong(word.substring(1, end));
      return Declared.array(type(word.substring(end + 1)), count);
    }
    if (word.startsWith("<")) {
      int end = word.indexOf('>');
      long bound = Long.parseLong(word.substring(1, end));
      return Declared.sequence(type(word.substring(end + 1)), bound);
    }
    if (types.definition(word) != null) return named(word);
    return Declared.primitive(Primitive.valueOf(word.toUpperCase(Locale.ROOT)));
  }

  private Declared pointer(String target) {
    return Declared.pointer(target.equals("void") ? null : type(target));
  }
}
