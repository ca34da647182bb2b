package org.interweave.agent;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.util.HashMap;
import java.util.Map;

/** Loads the samples, rewritten, apart from those that the tests themselves have. */
final class Samples extends ClassLoader {
  static final String PACKAGE = "org/interweave/agent/samples/";

  private final Map<String, byte[]> made = new HashMap<>();

  Samples() {
    super(Samples.class.getClassLoader());
  }

  /** A class that a test makes, under its name with slashes. */
  Samples with(String name, byte[] file) {
    made.put(name, file);
    return this;
  }

  static byte[] file(String name) {
    try (InputStream in = Samples.class.getResourceAsStream("/" + name + ".class")) {
      return in == null ? null : in.readAllBytes();
    } catch (IOException wrong) {
      throw new UncheckedIOException(wrong);
    }
  }

  static byte[] sample(String name) {
    return file(PACKAGE + name);
  }

  byte[] read(String name) {
    byte[] own = made.get(name);
    return own == null ? file(name) : own;
  }

  Rewriter.Outcome rewrite(String name) throws Unrewritable {
    return new Rewriter(new Ancestry(this::read)).rewrite(read(name));
  }

  /** What a static method gives. */
  int call(String sample, String method) throws ReflectiveOperationException {
    Class<?> type = loadClass(PACKAGE.replace('/', '.') + sample);
    try {
      return (int) type.getMethod(method).invoke(null);
    } catch (InvocationTargetException thrown) {
      throw new AssertionError(method, thrown.getCause());
    }
  }

  @Override
  protected Class<?> loadClass(String name, boolean isResolved) throws ClassNotFoundException {
    String path = name.replace('.', '/');
    if (!path.startsWith(PACKAGE)) return super.loadClass(name, isResolved);
    synchronized (getClassLoadingLock(name)) {
      Class<?> found = findLoadedClass(name);
      return found == null ? define(name, path) : found;
    }
  }

  private Class<?> define(String name, String path) throws ClassNotFoundException {
    try {
      byte[] rewritten = rewrite(path).file();
      byte[] file = rewritten == null ? read(path) : rewritten;
      return defineClass(name, file, 0, file.length);
    } catch (Unrewritable why) {
      throw new ClassNotFoundException(name, why);
    }
  }
}
