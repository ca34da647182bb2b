package org.interweave.types;

import java.util.List;

/** What a type's descriptor, with the types that it embeds, says of values in memory. */
final class Shape {
  long units = 1;
  /** In wire format. */
  long slotBytes;
  /** In memory: bytes, and what their address is a multiple of. */
  long size;
  int align;
  Plan plan;
  int depth;
  /** Of an array. */
  Type element;
  long count = 1;
  /** Of a record. */
  List<Type.Member> fields = List.of();
  /** Of a union. */
  Type.Choice choice;

  static Shape of(Leaf leaf, int align) {
    Shape shape = new Shape();
    shape.slotBytes = leaf.width;
    shape.size = leaf.width;
    shape.align = align;
    shape.plan = Plan.of(leaf);
    return shape;
  }

}
