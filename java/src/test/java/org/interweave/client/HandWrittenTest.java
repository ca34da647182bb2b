package org.interweave.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Field;
import java.nio.file.Path;
import java.util.List;
import org.interweave.IW_Array;
import org.interweave.IW_Field;
import org.interweave.IW_Object;
import org.interweave.IW_Place;
import org.interweave.IW_Space;
import org.interweave.IW_Types;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.client.byhand.house;
import org.interweave.client.byhand.node_t;
import org.interweave.client.byhand.person;
import org.interweave.objects.shapes.point;
import org.interweave.types.Type;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Classes that were written by hand, and that RegisterClass describes by reflection. */
@Timeout(60)
class HandWrittenTest {
  private final Client writer = new Client();
  private final Client reader = new Client();
  private Server server;

  @BeforeEach
  void start() throws Exception {
    server = Server.start();
    assertEquals(0, IWSegment.RegisterClass(person.class), IWSegment.IW_strerror());
  }

  @AfterEach
  void stop() {
    writer.close();
    reader.close();
    server.close();
  }

  private static void fill(Segment segment, person made) {
    made.small = -3;
    made.number = -30000;
    made.age = 40;
    made.born = Long.MIN_VALUE;
    made.height = 1.5f;
    made.weight = 0.1;
    made.isMarried = true;
    made.name = "Grüße";
    made.story = "as long as it gets";
    made.place[1] = 2.5;
    made.marks = new int[] {3, 1};
    made.nicknames[1] = "Ann";
    made.letters[0] = "Dear";
    made.spouse = new person(segment, null);
    made.parents[1] = made.spouse;
    made.children = new person[] {made, null};
    made.home = new point(segment, null);
    made.home.x = 6;
    made.house = new house(segment, null);
    made.house.number = 12;
    made.note = new Object();
  }

  @Test
  void everyKindOfFieldArrives() {
    Segment own = writer.open(server.url("/person"));
    own.write(lock -> fill(own, new person(own, "first")));
    try (ReadLock lock = reader.open(server.url("/person")).read()) {
      person seen = lock.object("first", person.class);
      assertEquals(-3, seen.small);
      assertEquals(-30000, seen.number);
      assertEquals(40, seen.age);
      assertEquals(Long.MIN_VALUE, seen.born);
      assertEquals(1.5f, seen.height);
      assertEquals(0.1, seen.weight);
      assertTrue(seen.isMarried);
      assertEquals("Grüße", seen.name);
      assertEquals("as long as it gets", seen.story);
      assertArrayEquals(new double[] {0, 2.5, 0}, seen.place);
      assertArrayEquals(new int[] {3, 1}, seen.marks);
      assertArrayEquals(new String[] {"", "Ann"}, seen.nicknames);
      assertArrayEquals(new String[] {"Dear", null}, seen.letters);
      assertSame(seen.spouse, seen.parents[1]);
      assertArrayEquals(new person[] {seen, null}, seen.children);
      assertEquals(6, seen.home.x);
      assertEquals(12, seen.house.number);
      assertNull(seen.anything);
      assertNull(seen.note);
    }
    assertEquals(1, own.write(lock -> lock.object("first", person.class).note = ""));
  }

  @Test
  void offsetsAreThoseOfTheDescriptor() throws ReflectiveOperationException {
    Segment own = writer.open(server.url("/offsets"));
    own.write(lock -> new person(own, "first"));
    own.read().close();
    for (Type.Member member : own.copy().types().byName("person").fields()) {
      Field field = person.class.getField(member.name());
      assertEquals(member.at(), IW_Types.offset(person.class, field), member.name());
    }
  }

  @Test
  void aValueThatNoFieldMayHaveIsRefusedWithItsName() {
    Segment own = writer.open(server.url("/refused"));
    try (WriteLock lock = own.write()) {
      person made = new person(own, "first");
      made.name = "more than eleven bytes";
      InterweaveException wrong = assertThrows(InterweaveException.class, lock::release);
      assertEquals(Error.BAD_VALUE, wrong.code());
      assertTrue(wrong.getMessage().startsWith("person.name: "), wrong.getMessage());
      lock.abort();
    }
  }

  /** The base alone cannot be shared. */
  @Test
  void aValueOfAnInheritedFieldIsRefusedWithItsName() {
    assertEquals(0, IWSegment.RegisterClass(Derived.class), IWSegment.IW_strerror());
    Segment own = writer.open(server.url("/inherited"));
    try (WriteLock lock = own.write()) {
      Derived made = new Derived(own, "first");
      made.label = "more than three bytes";
      InterweaveException wrong = assertThrows(InterweaveException.class, lock::release);
      assertEquals(Error.BAD_VALUE, wrong.code());
      assertTrue(wrong.getMessage().startsWith("Derived.label: "), wrong.getMessage());
      lock.abort();
    }
  }

  /** Has a field that classes inherit. */
  public abstract static class Base extends IW_Object {
    @IW_Field(order = 0, bound = 4) public String label;

    Base(IW_Space space, String name) {
      super(space, name);
    }

    Base(IW_Place place) {
      super(place);
    }
  }

  /** Inherits a field. */
  public static class Derived extends Base {
    @IW_Field(order = 1) public int value;

    /** A new block of the segment. */
    public Derived(IW_Space space, String name) {
      super(space, name);
    }

    /** For the library. */
    public Derived(IW_Place place) {
      super(place);
    }
  }

  private static void refused(String text, Class<?> type) {
    assertEquals(Error.BAD_ARGUMENT.number, IWSegment.RegisterClass(type));
    assertTrue(IWSegment.IW_strerror().contains(text), IWSegment.IW_strerror());
  }

  @Test
  void classesThatCannotBeSharedAreRefused() {
    refused("is of java.util.List, which is not shared", Listed.class);
    refused("has order 1; number the fields from 0 on", Misnumbered.class);
    refused("is an array of java.lang.String without a length", Unbounded.class);
    refused("is static or final", Constant.class);
    refused("no public constructor (IW_Place)", Unconstructed.class);
    refused("it is abstract", IW_Array.class);
    refused("no field has an IW_Field", Empty.class);
    refused("are named `twin`", Elder.twin.class);
    refused("Long.text has bound 2147483648", Sizes.Long.class);
    refused("Unlimited.all has bound -1", Sizes.Unlimited.class);
    refused("Negative.all has length -1", Sizes.Negative.class);
    refused("Wide.all ends beyond 2147483647 bytes", Sizes.Wide.class);
    refused("Many.second ends beyond 2147483647 bytes", Sizes.Many.class);
  }

  /** Numbers that no object in memory can have. */
  public static final class Sizes {
    private Sizes() {}

    /** A string. */
    public static class Long extends Empty {
      @IW_Field(order = 0, bound = 1L << 31) public String text;

      /** For the library. */
      public Long(IW_Place place) {
        super(place);
      }
    }

    /** A sequence. */
    public static class Unlimited extends Empty {
      @IW_Field(order = 0, bound = -1) public int[] all;

      /** For the library. */
      public Unlimited(IW_Place place) {
        super(place);
      }
    }

    /** An array. */
    public static class Negative extends Empty {
      @IW_Field(order = 0, length = -1) public int[] all;

      /** For the library. */
      public Negative(IW_Place place) {
        super(place);
      }
    }

    /** An array of more bytes than an int counts. */
    public static class Wide extends Empty {
      @IW_Field(order = 0, length = 1 << 28) public double[] all;

      /** For the library. */
      public Wide(IW_Place place) {
        super(place);
      }
    }

    /** Each field fits, and both together do not. */
    public static class Many extends Empty {
      @IW_Field(order = 0, length = 1 << 30) public byte[] first;
      @IW_Field(order = 1, length = 1 << 30) public byte[] second;

      /** For the library. */
      public Many(IW_Place place) {
        super(place);
      }
    }
  }

  /** A field of a type that has no form on the wire. */
  public static class Listed extends Empty {
    @IW_Field(order = 0) public List<String> all;

    /** For the library. */
    public Listed(IW_Place place) {
      super(place);
    }
  }

  /** Begins with 1. */
  public static class Misnumbered extends Empty {
    @IW_Field(order = 1) public int value;

    /** For the library. */
    public Misnumbered(IW_Place place) {
      super(place);
    }
  }

  /** Strings of any number. */
  public static class Unbounded extends Empty {
    @IW_Field(order = 0) public String[] all;

    /** For the library. */
    public Unbounded(IW_Place place) {
      super(place);
    }
  }

  /** Cannot be stored to. */
  public static class Constant extends Empty {
    @IW_Field(order = 0) public final int value = hashCode();

    /** For the library. */
    public Constant(IW_Place place) {
      super(place);
    }
  }

  /** Nothing is shared. */
  public static class Empty extends IW_Object {
    /** For the library. */
    public Empty(IW_Place place) {
      super(place);
    }
  }

  /** No object can be made of a block that is there. */
  public static class Unconstructed extends Empty {
    @IW_Field(order = 0) public int value;

    Unconstructed(IW_Place place) {
      super(place);
    }
  }

  /** Its class's name is that of another class, to which it leads. */
  public static class Elder {
    /** For the library. */
    public Elder() {}

    /** Leads to the other one. */
    public static class twin extends Empty {
      @IW_Field(order = 0) public Younger.twin other;

      /** For the library. */
      public twin(IW_Place place) {
        super(place);
      }
    }
  }

  /** The other class of that name. */
  public static class Younger {
    /** For the library. */
    public Younger() {}

    /** Has other fields. */
    public static class twin extends Empty {
      @IW_Field(order = 0) public double value;

      /** For the library. */
      public twin(IW_Place place) {
        super(place);
      }
    }
  }

  /** The class has the descriptor of C's compiler, otherwise no block would be of it. */
  @Test
  void aListOfCIsOneOfAClassWrittenByHand() throws Exception {
    String url = server.url("/list");
    assertEquals("ok", PaperTest.c(url));
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                Walking.class.getName(),
                url)
            .redirectErrorStream(true)
            .start();
    assertEquals("15", new String(process.getInputStream().readAllBytes()).strip());
    assertEquals(0, process.waitFor());
    assertEquals("ok", PaperTest.c(url, "search"));
  }

  /** In a process of its own, because another class of these tests has the same name. */
  static final class Walking {
    public static void main(String[] arguments) {
      IWSegment.RegisterClass(node_t.class);
      IWSegment seg = new IWSegment(arguments[0], false);
      node_t head = (node_t) IWSegment.mip_to_ptr(arguments[0] + "#head");
      seg.wl_acquire();
      int sum = 0;
      for (node_t at = head.next; at != null; at = at.next) sum += at.key;
      while (head.next.key != 1) head.next = head.next.next;
      for (int key = 2; key <= 5; ++key) {
        node_t made = new node_t(seg, null);
        made.key = key;
        made.next = head.next;
        head.next = made;
      }
      seg.wl_release();
      seg.close();
      System.out.println(sum);
    }
  }
}
