package org.interweave.flight;

import jdk.jfr.FlightRecorder;

/**
 * Whether Java's flight recorder is there and was started, so that events are worth making. A lock
 * asks for it, and must not pay for the recorder's classes: the library's thread looks, as it looks
 * at its timers.
 */
public final class Flight {
  private static volatile boolean isOn;

  private Flight() {}

  /** Whether events are made. */
  public static boolean isOn() {
    return isOn;
  }

  /** Asks the recorder. A virtual machine without the module jdk.jfr has none. */
  public static void look() {
    if (!isOn) isOn = isThere() && FlightRecorder.isInitialized();
  }

  private static boolean isThere() {
    return ModuleLayer.boot().findModule("jdk.jfr").isPresent();
  }
}
