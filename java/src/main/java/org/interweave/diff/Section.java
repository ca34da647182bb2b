package org.interweave.diff;

/** The sections of a diff, in the order in which they occur. */
public enum Section {
  TYPES,
  SLOTS,
  FREED,
  LIVE,
  BLOCKS,
  CHANGES;

  /** The byte that begins the section. */
  public final int tag = ordinal() + 1;
}
