package org.interweave.agent;

import java.util.Set;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;

/** Makes a class file mark its stores into shared fields. */
public final class Rewriter {
  private final Ancestry ancestry;

  /**
   * A rewriter for one class path.
   *
   * @param ancestry of its classes
   */
  public Rewriter(Ancestry ancestry) {
    this.ancestry = ancestry;
  }

  /**
   * What became of a class.
   *
   * @param file the new class file; null if the old one is good as it is
   * @param marks the number of stores that are marked
   * @param missing class files that were not found, and may be of shared classes
   */
  public record Outcome(byte[] file, int marks, Set<String> missing) {}

  /**
   * Rewrites a class.
   *
   * @param file its class file
   * @return the outcome
   * @throws Unrewritable if its stores into shared fields cannot be marked
   */
  public Outcome rewrite(byte[] file) throws Unrewritable {
    return rewrite(file, Versions.reader(file));
  }

  Outcome rewrite(byte[] file, ClassReader reader) throws Unrewritable {
    if (!Versions.isKnown(file)) {
      checkHarmless(reader, Versions.majorOf(file));
      return new Outcome(null, 0, Set.of());
    }
    SharedStores stores = SharedStores.in(reader, ancestry);
    if (!stores.areAny()) return new Outcome(null, 0, stores.missing());
    ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
    return marked(reader, writer, new StoreMarker(writer, stores), stores.missing());
  }

  /** For the measurement in which every object counts as shared. */
  Outcome measure(byte[] file, ClassReader reader) throws Unrewritable {
    if (!Versions.isKnown(file)) return new Outcome(null, 0, Set.of());
    ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
    return marked(reader, writer, new EveryStoreMarker(writer, new EveryStore(ancestry)), Set.of());
  }

  private static Outcome marked(ClassReader reader, ClassWriter writer, StoreMarker marker,
      Set<String> missing) throws Unrewritable {
    try {
      reader.accept(marker, ClassReader.EXPAND_FRAMES);
      return new Outcome(writer.toByteArray(), marker.marks(), missing);
    } catch (RuntimeException wrong) {
      throw new Unrewritable(wrong.toString());
    }
  }

  private void checkHarmless(ClassReader reader, int version) throws Unrewritable {
    if (!SharedStores.mayBeIn(reader, ancestry)) return;
    throw new Unrewritable("its class file has version " + version + ", which is too new");
  }
}
