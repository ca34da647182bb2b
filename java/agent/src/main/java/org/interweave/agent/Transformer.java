package org.interweave.agent;

import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.objectweb.asm.ClassReader;

/**
 * Rewrites the classes that the virtual machine loads. The virtual machine swallows what a
 * transformer throws, so a class that cannot be rewritten is reported from here, and the library
 * compares all objects from then on.
 */
final class Transformer implements ClassFileTransformer {
  private static final String LIBRARY = "org.interweave.IW_Object";

  private final Measuring measuring;
  private final Loaders loaders = new Loaders();
  /** Names of missing class files, and a class that stores into fields that may be theirs. */
  private final Map<String, String> awaited = new ConcurrentHashMap<>();
  private final Set<String> reported = ConcurrentHashMap.newKeySet();
  private final AtomicLong unrewritten = new AtomicLong();
  private final AtomicLong marks = new AtomicLong();

  /** `measuring` is null but for a measurement. */
  Transformer(Measuring measuring) {
    this.measuring = measuring;
  }

  long unrewritten() {
    return unrewritten.get();
  }

  long marks() {
    return marks.get();
  }

  @Override
  public byte[] transform(Module module, ClassLoader loader, String name, Class<?> before,
      ProtectionDomain domain, byte[] file) {
    if (measuring != null && name != null) measuring.reads(module, name);
    return transform(loader, name, before, domain, file);
  }

  @Override
  public byte[] transform(ClassLoader loader, String name, Class<?> before, ProtectionDomain domain,
      byte[] file) {
    // Classes of the system see no IW_Object.
    if (loader == null || name == null) return null;
    try {
      return transform(loader, name, file);
    } catch (Unrewritable why) {
      missed(loader, name, why.getMessage());
    } catch (RuntimeException | LinkageError wrong) {
      missed(loader, name, wrong.toString());
    }
    return null;
  }

  private byte[] transform(ClassLoader loader, String name, byte[] file) throws Unrewritable {
    ClassReader reader = Versions.reader(file);
    Ancestry ancestry = loaders.ancestry(loader);
    ancestry.learn(reader);
    if (!awaited.isEmpty()) lookForStoresInto(loader, name, ancestry);
    Rewriter rewriter = new Rewriter(ancestry);
    boolean isMeasured = measuring != null && measuring.takes(loader, name);
    Rewriter.Outcome outcome =
        isMeasured ? rewriter.measure(file, reader) : rewriter.rewrite(file, reader);
    for (String each : outcome.missing()) awaited.putIfAbsent(each, name);
    if (HiddenClasses.areDefinedBy(reader)) {
      missed(loader, name, "it defines hidden classes, which are shown to no agent");
    }
    marks.addAndGet(outcome.marks());
    return outcome.file();
  }

  /** A class whose file was missing has come. If it is shared, stores into it were missed. */
  private void lookForStoresInto(ClassLoader loader, String name, Ancestry ancestry) {
    String storing = awaited.remove(name);
    if (storing == null) return;
    Ancestry.Found found = ancestry.classNamed(name);
    if (found.missing() != null) {
      awaited.putIfAbsent(found.missing(), storing);
    } else if (found.isShared()) {
      missed(loader, storing, "it came before " + name + ", whose class file was not found");
    }
  }

  /** Reports a class once, if the library is there to be told. */
  void missed(ClassLoader loader, String name, String why) {
    try {
      Class.forName(LIBRARY, true, loader).getMethod("iw_storesAreMissed").invoke(null);
    } catch (ClassNotFoundException | LinkageError elsewhere) {
      return; // A loader that sees no IW_Object has no stores into shared fields.
    } catch (ReflectiveOperationException other) {
      why += "; the library is of another version than the agent: " + other;
    }
    if (!reported.add(name)) return;
    unrewritten.incrementAndGet();
    System.getLogger("org.interweave.agent").log(System.Logger.Level.WARNING,
        "stores into shared fields by " + name.replace('/', '.') + " are not marked: " + why
            + "; releases compare all objects");
  }
}
