package org.interweave.client;

import java.util.List;
import org.interweave.types.Type;
import org.interweave.types.TypeTable;
import org.interweave.wire.protocol.DescriptorCodec.EnumMember;
import org.interweave.wire.protocol.DescriptorCodec.Field;
import org.interweave.wire.protocol.DescriptorCodec.TypeBody;
import org.interweave.wire.protocol.DescriptorCodec.UnionArm;
import org.interweave.wire.protocol.DescriptorCodec.UnionBody;

/** Types of a segment as the runner writes them: a name, or the parts of an anonymous type. */
final class DescribedTypes {
  private final StringBuilder out;
  private final TypeTable table;

  private DescribedTypes(StringBuilder out, TypeTable table) {
    this.out = out;
    this.table = table;
  }

  static void show(StringBuilder out, TypeTable table, Type type) {
    new DescribedTypes(out, table).show(type);
  }

  /** Serial 0 is `void`. */
  private void show(long serial) {
    if (serial == 0) out.append("null");
    else show(table.get(serial));
  }

  private void show(Type type) {
    if (!type.name().isEmpty()) {
      Printed.text(out, type.name());
      return;
    }
    TypeBody body = type.descriptor().body();
    out.append("{\"").append(type.kind().name().toLowerCase()).append("\":");
    if (body instanceof TypeBody.OfBound one) {
      out.append(one.bound());
    } else if (body instanceof TypeBody.OfTextBound one) {
      out.append(one.textBound());
    } else if (body instanceof TypeBody.OfArray one) {
      counted(one.array().element(), one.array().count());
    } else if (body instanceof TypeBody.OfSequence one) {
      counted(one.sequence().element(), one.sequence().bound());
    } else if (body instanceof TypeBody.OfTarget one) {
      show(one.target());
    } else if (body instanceof TypeBody.OfMembers one) {
      members(one.members());
    } else if (body instanceof TypeBody.OfFields one) {
      fields(one.fields());
    } else if (body instanceof TypeBody.OfChoice one) {
      union(one.choice());
    }
    out.append('}');
  }

  private void counted(long element, long count) {
    out.append('[');
    show(element);
    out.append(',').append(count).append(']');
  }

  private void members(List<EnumMember> members) {
    String separator = "[[";
    for (EnumMember each : members) {
      out.append(separator);
      Printed.text(out, each.name());
      out.append(',').append(each.value());
      separator = "],[";
    }
    out.append("]]");
  }

  private void fields(List<Field> fields) {
    String separator = "[";
    for (Field each : fields) {
      out.append(separator);
      named(each.name(), each.type());
      out.append(']');
      separator = ",";
    }
    out.append(']');
  }

  /** Without the bracket that closes the pair. */
  private void named(String name, long type) {
    out.append('[');
    Printed.text(out, name);
    out.append(',');
    show(type);
  }

  private void union(UnionBody choice) {
    out.append("{\"on\":");
    named(choice.discriminant(), choice.discriminantType());
    out.append("],\"arms\":");
    String separator = "[";
    for (UnionArm each : choice.arms()) {
      out.append(separator);
      named(each.name(), each.type());
      out.append(',').append(each.values().toString().replace(" ", "")).append(']');
      separator = ",";
    }
    out.append(choice.arms().isEmpty() ? "[]" : "]");
    if (choice.otherwise() != null) {
      out.append(",\"default\":");
      named(choice.otherwise().name(), choice.otherwise().type());
      out.append(']');
    }
    out.append('}');
  }
}
