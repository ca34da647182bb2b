package astroflow.viewer;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import javax.imageio.ImageIO;

/** Frames as files. */
final class PngFolder {
  private final Path folder;

  PngFolder(Path folder) {
    this.folder = folder;
  }

  /**
   * Writes the picture to a file of another name first, because a reader must not see half a
   * picture. Returns the file.
   */
  Path write(Frame frame) {
    try {
      Files.createDirectories(folder);
      Path file = folder.resolve(String.format("frame-%06d.png", frame.number()));
      Path part = folder.resolve(file.getFileName() + ".part");
      ImageIO.write(HeatMap.of(frame), "png", part.toFile());
      return Files.move(part, file, StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException wrong) {
      throw new UncheckedIOException(wrong);
    }
  }
}
