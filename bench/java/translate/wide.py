"""Writes what has 32 fields: structs of ints and of doubles, and how each system carries them."""

FIELDS = 32
KINDS = (
    # struct, first letter, type, type of protobuf, plain class, shape, name, elements, draw, digest
    ("ints_32", "i", "int", "int32", "Ints32", "IntStructs", "int_struct", 8192,
     "values.integer()", "of.{f}", "Int"),
    ("doubles_32", "d", "double", "double", "Doubles32", "DoubleStructs", "double_struct", 4096,
     "values.real()", "Double.doubleToLongBits(of.{f})", "Double"),
)

SHAPE = """package translate;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.MessageLite;
import java.io.IOException;
import java.nio.ByteBuffer;
import translate.Wide.{plain}List;
import translate.Wide.{plain}Message;
import translate.data.{struct};

final class {shape} extends Structs<{plain}, {struct}> {{
  {shape}() {{ super("{name}", {count}, {struct}.class); }}
  @Override {plain}[] array() {{ return new {plain}[count]; }}
  @Override {plain} element() {{ return new {plain}(); }}
  @Override void fillOne({plain} to, Values values) {{ {fill} }}
  @Override void fillOneShared({struct} to, Values values) {{ {fill_shared} }}
  @Override long digestOne({plain} of) {{ long digest = 0; {digest} return digest; }}
  @Override long digestOneShared({struct} of) {{ long digest = 0; {digest} return digest; }}
  @Override void putOne({plain} from, ByteBuffer to) {{ {put} }}
  @Override void getOne(ByteBuffer from, {plain} to) {{ {get} }}
  @Override MessageLite message({plain}[] data) {{
    {plain}List.Builder built = {plain}List.newBuilder();
    for ({plain} each : data) {{
      {plain}Message.Builder to = {plain}Message.newBuilder();
      {message}
      built.addValues(to.build());
    }}
    return built.build();
  }}
  @Override {plain}[] read(CodedInputStream from) throws IOException {{
    {plain}[] data = plain();
    int i = 0;
    for ({plain}Message each : {plain}List.parseFrom(from).getValuesList()) {{
      {plain} to = data[i++];
      {read}
    }}
    return data;
  }}
}}
"""
PLAIN = """package translate;

public class {plain} implements java.io.Serializable {{
  private static final long serialVersionUID = 1;
  public {java} {fields};
}}
"""


def write(folder):
    """translate/*.java, wide.x and wide.proto."""
    x, proto = [], ['syntax = "proto3";', "package translate;",
                    'option java_package = "translate";', 'option java_outer_classname = "Wide";']
    (folder / "translate").mkdir()
    for struct, letter, java, wire, plain, shape, name, count, draw, digest, call in KINDS:
        fields = [f"{letter}{at:02}" for at in range(FIELDS)]

        def each(text, fields=fields):
            return " ".join(text.replace("{f}", field).replace("{F}", field.capitalize())
                            for field in fields)

        get = f"to.{{f}} = from.get{call}();"
        words = {
            "struct": struct, "plain": plain, "shape": shape, "name": name, "count": count,
            "fill": each(f"to.{{f}} = {draw};"), "fill_shared": each(f"to.set_{{f}}({draw});"),
            "digest": each(f"digest = digest * PRIME + {digest};"),
            "put": each(f"to.put{call}(from.{{f}});"), "get": each(get),
            "message": each("to.set{F}(each.{f});"), "read": each("to.{f} = each.get{F}();")
        }
        (folder / "translate" / f"{shape}.java").write_text(SHAPE.format(**words))
        (folder / "translate" / f"{plain}.java").write_text(
            PLAIN.format(plain=plain, java=java, fields=", ".join(fields)))
        x.append(f"struct {struct} {{ {each(java + ' {f};')} }};")
        numbered = " ".join(f"{wire} {field} = {at + 1};" for at, field in enumerate(fields))
        proto.append(f"message {plain}Message {{ {numbered} }}")
        proto.append(f"message {plain}List {{ repeated {plain}Message values = 1; }}")
    (folder / "wide.x").write_text("\n".join(x) + "\n")
    (folder / "wide.proto").write_text("\n".join(proto) + "\n")
