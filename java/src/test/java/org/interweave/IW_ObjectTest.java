package org.interweave;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The modification word of section 4.2.1: 32 parts, and a shift by the number of fields. */
class IW_ObjectTest {
  /** Counts what an object asks of its place. */
  private static final class Counting implements IW_Place {
    private final List<IW_Object> modified = new ArrayList<>();
    private int checks;

    @Override
    public void checkLive() {}

    @Override
    public void checkWritable() {
      ++checks;
    }

    @Override
    public void modified(IW_Object object) {
      modified.add(object);
    }

    @Override
    public long serial() {
      return 1;
    }

    @Override
    public long unit() {
      return 0;
    }

    @Override
    public String mip() {
      return "";
    }
  }

  /** The superclass asks for the number of fields before this class could store one. */
  private static int wanted;

  private static final class Sized extends IW_Object {
    Sized(IW_Place place) {
      super(place);
    }

    @Override
    protected int iw_fields() {
      return wanted;
    }

    @Override
    public void iw_transfer(IW_Memory memory) {}
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 31, 32, 33, 64, 65, 1000, 65_536, 1_000_000})
  void eachFieldHasAPart(int fields) {
    wanted = fields;
    int most = 0;
    for (int field = 0; field < fields; field += Math.max(1, fields / 100)) {
      Counting place = new Counting();
      Sized object = new Sized(place);
      object.iw_modified(field);
      assertEquals(1, Integer.bitCount(object.iw_word()), "one part");
      int part = Integer.numberOfTrailingZeros(object.iw_word());
      assertTrue(part == most || part > most, "parts follow one another");
      most = part;
    }
    Sized last = new Sized(new Counting());
    last.iw_modified(fields - 1);
    int part = Integer.numberOfTrailingZeros(last.iw_word());
    assertTrue(part < 32 && (fields <= 32 ? part == fields - 1 : part >= 15), "part " + part);
  }

  @Test
  void theFirstMarkOfAnObjectIsTold() {
    wanted = 40;
    Counting place = new Counting();
    Sized object = new Sized(place);
    object.iw_modified(0);
    object.iw_modified(1);
    assertEquals(1, place.checks, "fields 0 and 1 are one part");
    object.iw_modified(39);
    assertEquals(2, place.checks);
    assertEquals(List.of(object), place.modified);
    object.iw_unmark();
    object.iw_modified(39);
    assertEquals(List.of(object, object), place.modified, "a further section");
  }
}
