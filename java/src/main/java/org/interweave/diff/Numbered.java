package org.interweave.diff;

/** Has a serial, as blocks do. */
interface Numbered {
  long serial();
}
