package org.interweave.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.interweave.IW_Elements;
import org.interweave.IW_Object;
import org.interweave.IW_Ref;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.diff.CopiedBlock;
import org.interweave.objects.ObjectMap;
import org.interweave.swizzle.Spot;
import org.interweave.types.Type;
import org.interweave.wire.Mip;
import org.interweave.wire.protocol.DescriptorCodec.TypeKind;

/** What the holder of a segment's lock sees of its blocks as objects. */
final class Shown {
  private final Segment segment;

  Shown(Segment segment) {
    this.segment = segment;
  }

  private ObjectMap map() {
    return segment.objects().map();
  }

  <T extends IW_Object> T object(CopiedBlock block, Class<T> type) {
    ObjectMap map = map();
    IW_Object found = map.at(block, 0, type);
    if (found != null) return type.cast(found);
    throw InterweaveException.of(
        Error.UNKNOWN_TYPE,
        Value.of(segment, block) + " is not an object of " + type.getName());
  }

  <T extends IW_Object> Optional<T> find(String name, Class<T> type) {
    segment.checkReadable();
    CopiedBlock block = segment.copy().block(name);
    return block == null ? Optional.empty() : Optional.of(object(block, type));
  }

  <T extends IW_Object> List<T> objects(Class<T> type) {
    segment.checkReadable();
    ObjectMap map = map();
    List<T> found = new ArrayList<>();
    for (CopiedBlock block : new ArrayList<>(segment.copy().blocks())) {
      if (!map.isOf(block, type)) continue;
      if (block.count == 1) found.add(object(block, type));
      else found.addAll(map.elements(block, type));
    }
    return found;
  }

  <T extends IW_Object> IW_Elements<T> elements(String name, Class<T> type) {
    return map().elements(segment.block(name), type);
  }

  private CopiedBlock block(Mip mip) {
    String url = mip.url().server().text() + mip.url().path();
    if (!url.equals(segment.url())) {
      throw InterweaveException.of(
          Error.BAD_POINTER, mip.text() + " does not lead into " + segment.url());
    }
    if (mip.name() != null) return segment.block(mip.name());
    if (mip.serial() != 0) return segment.block(mip.serial());
    segment.checkReadable();
    for (CopiedBlock first : segment.copy().blocks()) return first;
    throw InterweaveException.of(Error.NO_BLOCK, url + " has no block");
  }

  Object at(String mip) {
    Mip parsed = Mip.parse(mip);
    return at(block(parsed), parsed.offset());
  }

  private Object at(CopiedBlock block, long unit) {
    IW_Object found = map().at(block, unit, null);
    if (found != null) return found;
    Value value = view(block, unit);
    Type type = value.type;
    boolean isPlain =
        type.kind() == TypeKind.PRIMITIVE
            || type.kind() == TypeKind.ENUM
            || type.kind() == TypeKind.STRING;
    return isPlain && value.count < 0 ? value.get() : value;
  }

  private Value view(CopiedBlock block, long unit) {
    Spot spot = Spot.find(block, unit, null);
    if (spot == null) {
      throw InterweaveException.of(
          Error.BAD_POINTER,
          segment.url() + "#" + block.serial + " has " + block.units() + " units, and no unit "
              + Long.toUnsignedString(unit));
    }
    if (spot.at() == 0) return Value.of(segment, block);
    return new Value(segment, block, spot.type(), -1, spot.at(), spot.unit(), false);
  }

  Value value(IW_Ref pointer) {
    Mip parsed = Mip.parse(pointer.mip());
    String url = parsed.url().server().text() + parsed.url().path();
    Segment there = url.equals(segment.url()) ? segment : segment.neighbour(url);
    return there.shown().view(there.block(parsed.serial()), parsed.offset());
  }

  IW_Ref reference(String mip) {
    Mip parsed = Mip.parse(mip);
    CopiedBlock block = block(parsed);
    view(block, parsed.offset());
    return map().reference(block, parsed.offset());
  }
}
