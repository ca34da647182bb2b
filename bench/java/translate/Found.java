package translate;

import org.interweave.IW_Elements;
import org.interweave.IW_Object;
import org.interweave.diff.CopiedBlock;

/** The objects of the block that all shapes call `data`. */
final class Found {
  private Found() {}

  static <S extends IW_Object> S block(Section section, Class<S> type) {
    return type.cast(section.map.at(named(section), 0, type));
  }

  /** An object for each element, loaded. */
  static <S extends IW_Object> IW_Elements<S> elements(Section section, Class<S> type) {
    IW_Elements<S> elements = section.map.elements(named(section), type);
    for (int i = 0; i < elements.size(); ++i) elements.get(i);
    return elements;
  }

  private static CopiedBlock named(Section section) {
    return section.copy.block("data");
  }
}
