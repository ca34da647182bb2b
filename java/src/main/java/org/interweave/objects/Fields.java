package org.interweave.objects;

import java.lang.reflect.Field;
import org.interweave.IW_Field;
import org.interweave.IW_Object;
import org.interweave.IW_Types;

/** Names of fields for messages. */
final class Fields {
  private Fields() {}

  /** The class and the last field that begins at a byte or before; of arms that share it, all. */
  static String nameAt(IW_Object object, int at) {
    String name = "";
    int best = -1;
    for (Field field : object.getClass().getFields()) {
      IW_Field found = field.getAnnotation(IW_Field.class);
      if (found == null) continue;
      int begin = found.at() < 0 ? IW_Types.offset(object.getClass(), field) : found.at();
      if (begin > at || begin < best) continue;
      name = begin == best ? name + " or " + field.getName() : field.getName();
      best = begin;
    }
    return object.getClass().getSimpleName() + "." + name;
  }
}
