package org.interweave;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** A field of a generated class that is shared. */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.FIELD)
public @interface IW_Field {
  /**
   * The field's place among the fields.
   *
   * @return from 0 on
   */
  int order();

  /**
   * Where the value lies in the object's memory.
   *
   * @return in bytes
   */
  int at();

  /**
   * The most bytes of a string, or elements of a sequence.
   *
   * @return 0: no bound
   */
  long bound() default 0;
}
