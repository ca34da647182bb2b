package org.interweave.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.spi.ToolProvider;
import org.interweave.IW_Object;
import org.interweave.agent.programs.Alone;
import org.interweave.agent.programs.Hidden;
import org.interweave.agent.programs.Missed;
import org.interweave.agent.programs.Ordinary;
import org.interweave.agent.programs.Player;
import org.interweave.agent.samples.Body;
import org.interweave.agent.samples.Ground;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.objectweb.asm.Opcodes;

class AgentTest {
  private static final Path TESTS = Java.place(AgentTest.class);
  private static final Path LIBRARY = Java.place(IW_Object.class);
  private static final String STORES = "org.interweave.agent.samples.Stores";

  @TempDir Path folder;

  @Test
  void storesAreMarkedInAllLoadersAndAfterFurtherTransformations() throws Exception {
    Java.Ended ended = new Java(folder)
        .withAgent()
        .withAgent(Ordinary.class, null)
        .on(TESTS, LIBRARY)
        .run(Ordinary.class.getName());
    assertEquals(
        "word=3ff\nother=3ff\nmemory=3ff\nagain=3ff\nunrewritten=0\ntracked=true\n", ended.text());
  }

  @Test
  void aClassThatWasLoadedBeforeTheAgentIsTransformed() throws Exception {
    Java.Ended ended = new Java(folder)
        .withAgent(Ordinary.class, STORES)
        .withAgent()
        .on(TESTS, LIBRARY)
        .run(Ordinary.class.getName());
    assertTrue(ended.text().startsWith("word=3ff\n"), ended.text());
    assertTrue(ended.text().endsWith("unrewritten=0\ntracked=true\n"), ended.text());
  }

  @Test
  void aModuleNeedNotReadTheLibrary() throws Exception {
    assumeTrue(ToolProvider.findFirst("javac").isPresent(), "this Java has no compiler");
    Path samples = module(
        "samples",
        "module samples { requires org.interweave; exports org.interweave.agent.samples; }",
        Body.class, Ground.class);
    Path player = module("player", "module player { requires samples; }", Player.class);
    String path = String.join(
        java.io.File.pathSeparator, LIBRARY.toString(), samples.toString(), player.toString());
    Java.Ended ended =
        new Java(folder).withAgent().with("-p", path).run("-m", "player/" + Player.class.getName());
    assertEquals("word=5\nmodule=player\n", ended.text());
  }

  @Test
  void aMethodThatCannotGrowIsReportedOnce() throws Exception {
    Files.write(folder.resolve("toolong.bin"), Made.filler(Opcodes.V17, Made.LONGEST_METHOD));
    Java.Ended ended = missed("long", folder);
    assertEquals(1, ended.count("are not marked: .*Method too large"), ended.text());
    assertTrue(ended.text().endsWith("word=0\ntwice=0\nunrewritten=1\ntracked=false\n"),
        ended.text());
  }

  @Test
  void aStoreIntoAClassWithoutAFileIsReportedWhenTheClassComes() throws Exception {
    Java.Ended ended = missed("late", folder);
    assertEquals(1, ended.count("it came before org/interweave/agent/samples/"), ended.text());
    assertTrue(ended.text().endsWith("there=false\nunrewritten=1\ntracked=true\n"), ended.text());
  }

  @Test
  void hiddenClassesLetTheLibraryCompare() throws Exception {
    Java.Ended ended =
        new Java(folder).withAgent().on(TESTS, LIBRARY).run(Hidden.class.getName());
    assertEquals(1, ended.count("it defines hidden classes"), ended.text());
    assertTrue(ended.text().endsWith("unrewritten=1\ntracked=false\n"), ended.text());
    assertTrue(ended.text().contains("word=0\n"), ended.text());
  }

  @Test
  void aProgramWithoutTheLibraryStaysAsItIs() throws Exception {
    Java.Ended ended = new Java(folder).withAgent().on(TESTS).run(Alone.class.getName());
    assertEquals("marks=0\nunrewritten=0\nstored=2\n", ended.text());
  }

  @Test
  void anArgumentIsRefused() throws Exception {
    Java.Ended ended = new Java(folder).withAgent("fast").on(TESTS).run(Alone.class.getName());
    assertNotEquals(0, ended.status());
    assertEquals(1, ended.count("interweave-agent: 'fast' is not an argument"), ended.text());
  }

  @Test
  void theLibraryHasWhatIsCalled() throws Exception {
    assertEquals(
        "public final void org.interweave.IW_Object.iw_modified(int)",
        IW_Object.class.getMethod(StoreMarker.MARK, int.class).toString());
    assertEquals(
        "public static void org.interweave.IW_Object.iw_storesAreMissed()",
        IW_Object.class.getMethod("iw_storesAreMissed").toString());
  }

  private Java.Ended missed(String how, Path resources) throws Exception {
    return new Java(folder).withAgent().on(TESTS, LIBRARY, resources).run(
        Missed.class.getName(), how);
  }

  private Path module(String name, String text, Class<?>... classes) throws IOException {
    Path made = Files.createDirectories(folder.resolve("modules").resolve(name));
    Path source = Files.createDirectories(folder.resolve("source").resolve(name));
    for (Class<?> each : classes) {
      String file = each.getName().replace('.', '/');
      Path to = made.resolve(file + ".class");
      Files.createDirectories(to.getParent());
      Files.write(to, Samples.file(file));
    }
    Path info = Files.writeString(source.resolve("module-info.java"), text);
    StringWriter said = new StringWriter();
    PrintWriter writer = new PrintWriter(said);
    String path = LIBRARY + java.io.File.pathSeparator + folder.resolve("modules");
    int status = ToolProvider.findFirst("javac").orElseThrow().run(
        writer, writer, "--release", "17", "-p", path, "-d", made.toString(), info.toString());
    assertEquals(0, status, said.toString());
    return made;
  }
}
