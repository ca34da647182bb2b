package org.interweave.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.List;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;
import org.interweave.wire.protocol.XdrReader;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The codecs of the IDL compiler's own test files, which have all of XDR, fit this runtime. */
class GeneratedCodecTest {
  @TempDir private Path classes;

  @Test
  void codecsOfEverythingInXdrCompileWithoutAWarning() throws Exception {
    File[] sources =
        Path.of(System.getProperty("interweave.root"), "idl", "tests", "codec", "java")
            .toFile()
            .listFiles((folder, name) -> name.endsWith(".java"));
    assertEquals(2, sources.length);
    var runtime = XdrReader.class.getProtectionDomain().getCodeSource().getLocation();
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StringWriter said = new StringWriter();
    try (var files = compiler.getStandardFileManager(null, null, null)) {
      String path = Path.of(runtime.toURI()).toString();
      List<String> options =
          List.of("-Xlint:all", "-Werror", "--release", "17", "-cp", path, "-d", classes + "");
      var inputs = files.getJavaFileObjects(sources);
      boolean isCompiled = compiler.getTask(said, files, null, options, null, inputs).call();
      assertTrue(isCompiled, said.toString());
    }
  }
}
