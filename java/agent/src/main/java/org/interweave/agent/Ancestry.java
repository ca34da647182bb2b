package org.interweave.agent;

import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.objectweb.asm.ClassReader;

/**
 * Which classes extend IW_Object, and the orders of their shared fields, read from class files. No
 * class is loaded for an answer. What was read is kept, but not what was missing: that may come.
 */
public final class Ancestry {
  /** The order of a field that is not shared. */
  static final int NOT_SHARED = -1;

  private static final String ROOT = "org/interweave/IW_Object";
  private static final String LIBRARY = "org/interweave/";
  private static final String[] SYSTEM = {"java/", "javax/", "jdk/", "sun/", "com/sun/"};

  private final ClassFiles files;
  private final Ancestry parent;
  private final Map<String, ClassOutline> known = new ConcurrentHashMap<>();

  /**
   * Nothing is known yet.
   *
   * @param files the class path
   */
  public Ancestry(ClassFiles files) {
    this(files, null);
  }

  /** `parent` is asked for classes of which there is no file, but which it has seen. */
  Ancestry(ClassFiles files, Ancestry parent) {
    this.files = files;
    this.parent = parent;
  }

  /** What a search upwards came to: `missing` names the class file that it ended at, or is null. */
  record Found(boolean isShared, int order, String missing) {
    static final Found PLAIN = new Found(false, NOT_SHARED, null);
  }

  /** Keeps what a class file says; its loader may have no file of it. */
  void learn(ClassReader read) {
    String above = read.getSuperName();
    if (above == null || isOfTheSystem(above)) return;
    known.put(read.getClassName(), ClassOutline.of(read));
  }

  /** Whether a class extends IW_Object. */
  Found classNamed(String name) {
    return field(name, null);
  }

  /**
   * The field that a store means.
   *
   * @param owner as the instruction names it; the field may be inherited
   * @param field name and descriptor; null asks for the class alone
   */
  Found field(String owner, String field) {
    int order = NOT_SHARED;
    boolean isFound = field == null;
    for (String at = owner; at != null && !isOfTheSystem(at); ) {
      if (at.equals(ROOT)) return new Found(true, order, null);
      ClassOutline outline = outline(at);
      if (outline == null) return new Found(false, NOT_SHARED, at);
      if (!isFound && outline.declares(field)) {
        order = outline.order(field);
        isFound = true;
      }
      at = outline.above();
    }
    return Found.PLAIN;
  }

  /**
   * Which of an object's fields a store means, if every object counts as shared: the number of the
   * fields before it. NOT_SHARED: the object has no word, because it extends a class of the library
   * or one without a class file.
   */
  int position(String owner, String field) {
    int position = NOT_SHARED;
    for (String at = owner; !isOfTheSystem(at); ) {
      ClassOutline outline = isOfTheLibrary(at) ? null : outline(at);
      if (outline == null) return NOT_SHARED;
      if (position != NOT_SHARED) position += outline.fields().size();
      else if (outline.declares(field)) position = outline.position(field);
      at = outline.above();
    }
    return position;
  }

  private ClassOutline outline(String name) {
    ClassOutline found = known.get(name);
    if (found != null) return found;
    found = read(name);
    if (found == null) return parent == null ? null : parent.seen(name);
    known.put(name, found);
    return found;
  }

  private ClassOutline read(String name) {
    try {
      byte[] file = files.read(name);
      return file == null ? null : ClassOutline.of(Versions.reader(file));
    } catch (IOException | RuntimeException unreadable) {
      return null;
    }
  }

  private ClassOutline seen(String name) {
    ClassOutline found = known.get(name);
    return found != null || parent == null ? found : parent.seen(name);
  }

  static boolean isOfTheLibrary(String name) {
    return name.startsWith(LIBRARY);
  }

  static boolean isOfTheSystem(String name) {
    for (String each : SYSTEM) {
      if (name.startsWith(each)) return true;
    }
    return false;
  }
}
