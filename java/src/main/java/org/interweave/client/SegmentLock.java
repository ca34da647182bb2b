package org.interweave.client;

import java.util.List;
import java.util.Optional;
import org.interweave.IW_Elements;
import org.interweave.IW_Object;
import org.interweave.IW_Ref;

/**
 * A lock of a segment, and what it shows: blocks as objects of generated classes, or as values by
 * their descriptors. Objects are what they were as long as the lock is held.
 */
public abstract class SegmentLock implements AutoCloseable {
  final Segment segment;

  SegmentLock(Segment segment) {
    this.segment = segment;
  }

  /**
   * The segment that is locked.
   *
   * @return the segment
   */
  public Segment segment() {
    return segment;
  }

  // ---- objects ----

  /**
   * The object of a block. NO_BLOCK if there is none of that name, UNKNOWN_TYPE if it is of another
   * class.
   *
   * @param <T> the class
   * @param block its name
   * @param type a generated class
   * @return the same object each time
   */
  public <T extends IW_Object> T object(String block, Class<T> type) {
    return segment.shown().object(segment.block(block), type);
  }

  /**
   * The object of a block, by its serial.
   *
   * @param <T> the class
   * @param serial its number in the segment
   * @param type a generated class
   * @return the same object each time
   */
  public <T extends IW_Object> T object(long serial, Class<T> type) {
    return segment.shown().object(segment.block(serial), type);
  }

  /**
   * The object of a block, if there is a block of that name.
   *
   * @param <T> the class
   * @param block its name
   * @param type a generated class
   * @return empty if there is no such block; UNKNOWN_TYPE if it is of another class
   */
  public <T extends IW_Object> Optional<T> find(String block, Class<T> type) {
    return segment.shown().find(block, type);
  }

  /**
   * The objects of all blocks of a class, in the order in which the blocks were made.
   *
   * @param <T> the class
   * @param type a generated class
   * @return those that are there now
   */
  public <T extends IW_Object> List<T> objects(Class<T> type) {
    return segment.shown().objects(type);
  }

  /**
   * The elements of a block that has several. NO_BLOCK if there is no block of that name.
   *
   * @param <T> the class
   * @param block its name
   * @param type a generated class
   * @return a list of objects
   */
  public <T extends IW_Object> IW_Elements<T> elements(String block, Class<T> type) {
    return segment.shown().elements(block, type);
  }

  /**
   * Where a machine-independent pointer into this segment leads.
   *
   * @param mip url#block or url#block#unit
   * @return an object, if the place has a class; of a single number or string its value, as
   *     Integer, Double, String and so on; otherwise a {@link Value}
   */
  public Object at(String mip) {
    return segment.shown().at(mip);
  }

  /**
   * The place that a pointer leads to, as a value.
   *
   * @param pointer from a field of an object
   * @return a view; NOT_OPEN if it leads into a segment that is not open
   */
  public Value value(IW_Ref pointer) {
    return segment.shown().value(pointer);
  }

  /**
   * A pointer that a field of type IW_Ref may take.
   *
   * @param mip of a place in this segment
   * @return the pointer
   */
  public IW_Ref reference(String mip) {
    return segment.shown().reference(mip);
  }

  // ---- values ----

  /**
   * A block by its name. NO_BLOCK if there is none.
   *
   * @param block its name
   * @return a view of its value
   */
  public Value value(String block) {
    return Value.of(segment, segment.block(block));
  }

  /**
   * A block by its serial. NO_BLOCK if there is none.
   *
   * @param serial its number in the segment
   * @return a view of its value
   */
  public Value value(long serial) {
    return Value.of(segment, segment.block(serial));
  }

  /**
   * All blocks, those that sequences own among them.
   *
   * @return views of their values
   */
  public List<Value> values() {
    return segment.values();
  }

  /** Gives the lock back. */
  @Override
  public abstract void close();
}
