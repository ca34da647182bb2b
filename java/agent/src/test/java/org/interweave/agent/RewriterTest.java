package org.interweave.agent;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.util.CheckClassAdapter;

class RewriterTest {
  private static final String BODY = Samples.PACKAGE + "Body";

  @ParameterizedTest
  @CsvSource({
    "eachKind, 3ff", "aLongAndADouble, 6", "throughASubclass, 1", "inLambdasAndInnerClasses, 41",
    "compound, 2b", "inLoopsAndHandlers, 7", "inARecord, 1", "inAnInterface, 80", "plainOnes, 0"
  })
  void aStoreMarksItsField(String method, String word) throws Exception {
    assertEquals(Integer.parseInt(word, 16), new Samples().call("Stores", method));
  }

  /** 40,001 fields have 32 parts of 2,048 fields each. */
  @ParameterizedTest
  @CsvSource({"byAMethodOfASubclass, 80001", "inAConstructor, 1"})
  void aMarkBelongsToThePartOfItsField(String method, String word) throws Exception {
    assertEquals(Integer.parseInt(word, 16), new Samples().call("Stores", method));
  }

  @Test
  void withoutRewritingNothingIsMarked() {
    assertEquals(0, org.interweave.agent.samples.Stores.eachKind());
  }

  @ParameterizedTest
  @ValueSource(strings = {"Body", "Bystander", "Ground"})
  void aClassWithoutSuchAStoreStaysAsItIs(String sample) throws Exception {
    Rewriter.Outcome outcome = new Samples().rewrite(Samples.PACKAGE + sample);
    assertNull(outcome.file());
    assertEquals(0, outcome.marks());
  }

  @Test
  void aRewrittenClassIsNotRewrittenAgain() throws Exception {
    byte[] once = new Samples().rewrite(Samples.PACKAGE + "Stores").file();
    Samples again = new Samples().with(Samples.PACKAGE + "Stores", once);
    assertNull(again.rewrite(Samples.PACKAGE + "Stores").file());
    assertEquals(0x3ff, again.call("Stores", "eachKind"));
  }

  @Test
  void rewritingTwiceGivesTheSameBytes() throws Exception {
    byte[] first = new Samples().rewrite(Samples.PACKAGE + "Stores").file();
    assertArrayEquals(first, new Samples().rewrite(Samples.PACKAGE + "Stores").file());
  }

  @ParameterizedTest
  @ValueSource(strings = {"Stores", "Star", "Stores$Move", "Stores$Painter", "Stores$1"})
  void rewrittenCodeIsSound(String sample) throws Exception {
    byte[] file = new Samples().rewrite(Samples.PACKAGE + sample).file();
    StringWriter found = new StringWriter();
    ClassLoader loader = Samples.class.getClassLoader();
    CheckClassAdapter.verify(new ClassReader(file), loader, false, new PrintWriter(found));
    assertEquals("", found.toString());
  }

  @Test
  void nothingIsCalledBeforeSuper() throws Exception {
    Samples loader = new Samples().with(Made.NAME, Made.storeBeforeSuper(Opcodes.V17));
    assertEquals(1, loader.rewrite(Made.NAME).marks());
    Class<?> type = loader.loadClass(Made.NAME.replace('/', '.'));
    Object made = type.getConstructor(boolean.class).newInstance(true);
    assertEquals(11, type.getField("own").getInt(made));
    assertEquals(1 << 10, type.getMethod("iw_word").invoke(made));
  }

  @ParameterizedTest
  @ValueSource(ints = {Opcodes.V1_4, Opcodes.V1_5, Opcodes.V1_8, Opcodes.V17})
  void classFilesOfEarlierVersionsAreRewritten(int version) throws Exception {
    Samples loader = new Samples().with(Made.NAME, Made.filler(version, 10));
    assertEquals(1, loader.call("Made", "run"));
  }

  @Test
  void jumpsThatBecomeTooLongAreWidened() throws Exception {
    Samples loader = new Samples().with(Made.NAME, Made.filler(Opcodes.V17, Made.LONGEST_JUMP));
    assertNotNull(loader.rewrite(Made.NAME).file());
    assertEquals(1, loader.call("Made", "run"));
  }

  @Test
  void aMethodThatWouldBeTooLongIsRefused() {
    Samples loader = new Samples().with(Made.NAME, Made.filler(Opcodes.V17, Made.LONGEST_METHOD));
    Unrewritable why = assertThrows(Unrewritable.class, () -> loader.rewrite(Made.NAME));
    assertTrue(why.getMessage().contains("Method too large"), why.getMessage());
  }

  @Test
  void aConstructorWithoutFramesIsRefused() {
    byte[] file = Made.storeBeforeSuper(Opcodes.V1_5);
    Samples loader = new Samples().with(Made.NAME, file);
    Unrewritable why = assertThrows(Unrewritable.class, () -> loader.rewrite(Made.NAME));
    assertTrue(why.getMessage().contains("no frames"), why.getMessage());
  }

  @Test
  void aVersionOfTheFutureIsRefusedIfTheClassMayStore() throws Exception {
    byte[] storing = Samples.sample("Stores");
    byte[] harmless = Samples.sample("Ground");
    storing[7] = harmless[7] = 99;
    Samples loader =
        new Samples().with(Samples.PACKAGE + "Stores", storing).with(Samples.PACKAGE + "Ground",
            harmless);
    assertNull(loader.rewrite(Samples.PACKAGE + "Ground").file());
    Unrewritable why =
        assertThrows(Unrewritable.class, () -> loader.rewrite(Samples.PACKAGE + "Stores"));
    assertTrue(why.getMessage().contains("version 99"), why.getMessage());
  }

  @Test
  void missingAncestorsAreNamed() throws Exception {
    ClassFiles files = name -> name.equals(BODY) ? null : Samples.file(name);
    Rewriter rewriter = new Rewriter(new Ancestry(files));
    Rewriter.Outcome outcome = rewriter.rewrite(Samples.sample("Stores"));
    assertNull(outcome.file());
    assertEquals(Set.of(BODY), outcome.missing());
  }
}
