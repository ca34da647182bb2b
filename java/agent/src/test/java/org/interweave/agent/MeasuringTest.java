package org.interweave.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import measured.Things;
import org.interweave.IW_Object;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.util.CheckClassAdapter;

class MeasuringTest {
  @TempDir Path folder;

  @Test
  void everyObjectCountsAsShared() throws Exception {
    Java.Ended ended = new Java(folder)
        .withAgent(Measuring.ARGUMENT)
        .on(Java.place(Things.class))
        .run(Things.class.getName(), "words");
    assertEquals(
        Things.all() + "\nword=5\narrays=true\npair=iw_modified\n", ended.text());
  }

  @Test
  void withoutTheArgumentNothingIsAdded() throws Exception {
    Java.Ended ended = new Java(folder)
        .withAgent()
        .on(Java.place(Things.class), Java.place(IW_Object.class))
        .run(Things.class.getName(), "words");
    assertTrue(ended.text().contains("NoSuchFieldException: iw_word"), ended.text());
  }

  @ParameterizedTest
  @ValueSource(strings = {"Things", "Things$More", "Things$Pair", "Things$Color", "Things$1",
      "Things$Wrong"})
  void theCodeIsSound(String sample) throws Exception {
    byte[] before = Samples.file("measured/" + sample);
    Rewriter.Outcome outcome =
        new Rewriter(new Ancestry(Samples::file)).measure(before, new ClassReader(before));
    assertTrue(outcome.marks() > 0, sample);
    StringWriter found = new StringWriter();
    ClassLoader loader = Things.class.getClassLoader();
    CheckClassAdapter.verify(
        new ClassReader(outcome.file()), loader, false, new PrintWriter(found));
    assertEquals("", found.toString());
  }
}
