package org.interweave.flight;

import java.util.function.BooleanSupplier;
import jdk.jfr.FlightRecorder;

/**
 * Whether Java's flight recorder is there and was started, so that events are worth making. A lock
 * asks for it, and must not pay for the recorder's classes: the library's thread looks, as it looks
 * at its timers.
 */
public final class Flight {
  /** Not a lambda, which would cost milliseconds of a start. */
  private static final BooleanSupplier RECORDER =
      new BooleanSupplier() {
        @Override
        public boolean getAsBoolean() {
          return isThere() && FlightRecorder.isInitialized();
        }
      };

  private static volatile boolean isOn;
  /** An unusual recorder, which was asked once. */
  private static boolean isBroken;

  private Flight() {}

  /** Whether events are made. */
  public static boolean isOn() {
    return isOn;
  }

  /** Asks the recorder. A virtual machine without the module jdk.jfr has none. */
  public static void look() {
    look(RECORDER);
  }

  /** The question may be a test's. By the library's thread, which must not end by an answer. */
  static void look(BooleanSupplier question) {
    if (isOn || isBroken) return;
    try {
      isOn = question.getAsBoolean();
    } catch (LinkageError unusual) {
      isBroken = true;
    }
  }

  private static boolean isThere() {
    return ModuleLayer.boot().findModule("jdk.jfr").isPresent();
  }
}
