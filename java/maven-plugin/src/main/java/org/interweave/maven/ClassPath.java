package org.interweave.maven;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import org.interweave.agent.ClassFiles;

/** The folders and jars of a class path. */
final class ClassPath implements ClassFiles, AutoCloseable {
  private final List<Path> folders = new ArrayList<>();
  private final List<ZipFile> jars = new ArrayList<>();

  ClassPath(Path first, List<String> elements) throws IOException {
    folders.add(first);
    for (String each : elements) {
      Path path = Path.of(each);
      if (Files.isDirectory(path)) folders.add(path);
      else if (Files.isRegularFile(path)) jars.add(new ZipFile(new File(each)));
    }
  }

  @Override
  public byte[] read(String name) throws IOException {
    String file = name + ".class";
    for (Path each : folders) {
      Path found = each.resolve(file);
      if (Files.isRegularFile(found)) return Files.readAllBytes(found);
    }
    for (ZipFile each : jars) {
      ZipEntry entry = each.getEntry(file);
      if (entry == null) continue;
      try (InputStream in = each.getInputStream(entry)) {
        return in.readAllBytes();
      }
    }
    return null;
  }

  @Override
  public void close() throws IOException {
    for (ZipFile each : jars) each.close();
  }
}
