package org.interweave;

/** The paper's name for what is shared; {@link IW_Object} is what classes are derived from. */
public interface IWObject {}
