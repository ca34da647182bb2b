package org.interweave.client;

/** The paper's other spelling of {@link IWSegment}. */
public class IW_Segment extends IWSegment {
  /**
   * Opens a segment, and makes it if it does not exist.
   *
   * @param URL iw://host:port/path, iws://host:port/path, or unix:FILE:/path
   */
  public IW_Segment(String URL) {
    super(URL);
  }

  /**
   * Opens a segment.
   *
   * @param URL iw://host:port/path, iws://host:port/path, or unix:FILE:/path
   * @param iscreate whether to make it if it does not exist; otherwise NO_SEGMENT
   */
  public IW_Segment(String URL, Boolean iscreate) {
    super(URL, iscreate);
  }
}
