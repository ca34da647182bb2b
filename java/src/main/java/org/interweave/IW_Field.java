package org.interweave;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A field that is shared. Compilers write it for generated classes. A class that was written by
 * hand needs `order`, and what its arrays and strings need of `bound` and `length`.
 */
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
   * @return in bytes; -1: where C would put it, for classes that were written by hand
   */
  int at() default -1;

  /**
   * The most bytes of a string, or elements of a sequence.
   *
   * @return 0: no bound
   */
  long bound() default 0;

  /**
   * The elements of an array that lies in its object, in a class that was written by hand.
   *
   * @return 0: the array is a sequence of any length up to `bound`
   */
  int length() default 0;
}
