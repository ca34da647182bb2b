package org.interweave.objects;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.interweave.IW_Types;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.diff.Changes;
import org.interweave.diff.Copy;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Classes of which no object can be constructed hold up no other object. */
class UnmadeTest {
  private final Copy copy = new Copy(1 << 20, new MappedBlocks());
  private final Copy reader = new Copy(1 << 20, new MappedBlocks());
  private final Neighbours.None writing = new Neighbours.None();
  private final Neighbours.None reading = new Neighbours.None();
  private final ObjectMap map = new ObjectMap(copy, "iw://here/a", writing);
  private final ObjectMap read = new ObjectMap(reader, "iw://here/a", reading);

  /** The reader's copy has two keepers, and all that the first one keeps. */
  @BeforeEach
  void make() {
    Changes changes = new Changes(copy, 1, 100);
    writing.write(changes);
    keeper first = new keeper(map, "first");
    first.part.number = 4;
    first.one = new keeper.unmade(map, "one");
    first.one.value = 1;
    first.two = new keeper.unmade(map, null);
    first.next = new keeper(map, null);
    first.next.value = 5;
    map.flush();
    reader.apply(changes.collect());
    changes.commit(reader.version(), false);
    keeper.fails = true;
    keeper.failures = 0;
  }

  @AfterEach
  void heal() {
    keeper.fails = false;
  }

  private keeper first() {
    return (keeper) read.object(reader.block("first"));
  }

  @Test
  void otherObjectsComeAndTheClassIsNamedOnce() {
    keeper seen = first();
    assertNull(seen.one);
    assertNull(seen.two);
    assertNull(seen.part);
    assertEquals(5, seen.next.value);
    read.reload();
    assertEquals(5, first().next.value);
    assertEquals(2, keeper.failures, "one of each class is enough");
    List<String> said = reading.takeWarnings();
    assertEquals(2, said.size(), said.toString());
    for (String each : List.of("keeper$unmade", "keeper$part")) {
      assertTrue(said.stream().anyMatch(text -> text.contains(each)), each);
    }
    assertTrue(said.get(0).contains("public constructor (IW_Place)"), said.get(0));
    assertTrue(said.get(0).contains("the test wants it so"), said.get(0));
  }

  @Test
  void itsObjectsAreRefusedToThoseThatAskForThem() {
    InterweaveException refused =
        assertThrows(
            InterweaveException.class,
            () -> read.at(reader.block("one"), 0, keeper.unmade.class));
    assertEquals(Error.BAD_ARGUMENT, refused.code());
    assertTrue(refused.getMessage().contains(keeper.unmade.class.getName()));
    assertEquals(List.of(), reading.takeWarnings());
  }

  @Test
  void aReleaseKeepsWhatCouldNotBeShown() {
    keeper seen = first();
    Changes changes = new Changes(reader, 101, 100);
    reading.write(changes);
    seen.value = 9;
    read.flush();
    copy.apply(changes.collect());
    keeper.fails = false;
    map.refresh();
    keeper back = (keeper) map.object(copy.block("first"));
    assertEquals(9, back.value);
    assertEquals(1, back.one.value);
    assertEquals(4, back.part.number);
    read.lookAgain();
    assertNull(seen.one);
    new IW_Types().register();
    read.lookAgain();
    assertEquals(1, seen.one.value);
  }

  /** Those that ask for an object by its class are told what is true now. */
  @Test
  void aDirectQuestionTriesAgain() {
    first();
    keeper.fails = false;
    keeper.unmade one =
        (keeper.unmade) read.at(reader.block("one"), 0, keeper.unmade.class);
    assertEquals(1, one.value);
    read.lookAgain();
    assertSame(one, first().one);
  }
}
