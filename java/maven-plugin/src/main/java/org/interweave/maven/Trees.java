package org.interweave.maven;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Files of a folder and of the folders in it. */
final class Trees {
  private Trees() {}

  /** The files whose names end so, in order; an empty list if the folder is missing. */
  static List<Path> files(Path folder, String ending) throws IOException {
    if (!Files.isDirectory(folder)) return List.of();
    try (Stream<Path> all = Files.walk(folder)) {
      return all.filter(each -> each.getFileName().toString().endsWith(ending))
          .filter(Files::isRegularFile)
          .sorted()
          .toList();
    }
  }

  static void delete(Path folder) throws IOException {
    try (Stream<Path> all = Files.walk(folder)) {
      for (Path each : all.sorted((a, b) -> b.compareTo(a)).toList()) Files.delete(each);
    }
  }
}
