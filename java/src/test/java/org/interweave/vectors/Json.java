package org.interweave.vectors;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads JSON of this repository: objects, lists, strings, Long, Double, Boolean and null. */
public final class Json {
  private final String text;
  private int at;

  private Json(String text) {
    this.text = text;
  }

  public static Object parse(String text) {
    Json json = new Json(text);
    Object value = json.value();
    if (json.next() != 0) throw json.wrong("text follows the value");
    return value;
  }

  private IllegalArgumentException wrong(String what) {
    return new IllegalArgumentException(what + " at character " + at);
  }

  /** The next character that is no space; 0 at the end. */
  private char next() {
    while (at < text.length() && Character.isWhitespace(text.charAt(at))) ++at;
    return at < text.length() ? text.charAt(at) : 0;
  }

  private boolean takes(char expected) {
    if (next() != expected) return false;
    ++at;
    return true;
  }

  private void expect(char expected) {
    if (!takes(expected)) throw wrong("no '" + expected + "'");
  }

  private Object value() {
    switch (next()) {
      case '{':
        return object();
      case '[':
        return list();
      case '"':
        return string();
      default:
        int begin = at;
        while (at < text.length() && "+-.".indexOf(text.charAt(at)) >= 0
            || at < text.length() && Character.isLetterOrDigit(text.charAt(at))) {
          ++at;
        }
        return scalar(text.substring(begin, at));
    }
  }

  private Object scalar(String word) {
    switch (word) {
      case "true":
        return true;
      case "false":
        return false;
      case "null":
        return null;
      default:
        boolean isInteger = word.matches("-?[0-9]{1,18}") && !word.equals("-0");
        return isInteger ? (Object) Long.valueOf(word) : Shown.real(Double.parseDouble(word));
    }
  }

  private Map<String, Object> object() {
    Map<String, Object> members = new LinkedHashMap<>();
    expect('{');
    while (!takes('}')) {
      if (!members.isEmpty()) expect(',');
      next();
      String name = string();
      expect(':');
      members.put(name, value());
    }
    return members;
  }

  private List<Object> list() {
    List<Object> values = new ArrayList<>();
    expect('[');
    while (!takes(']')) {
      if (!values.isEmpty()) expect(',');
      values.add(value());
    }
    return values;
  }

  private String string() {
    StringBuilder out = new StringBuilder();
    expect('"');
    while (text.charAt(at) != '"') {
      char c = text.charAt(at++);
      out.append(c == '\\' ? escaped() : c);
    }
    ++at;
    return out.toString();
  }

  private char escaped() {
    char c = text.charAt(at++);
    switch (c) {
      case 'n':
        return '\n';
      case 't':
        return '\t';
      case 'r':
        return '\r';
      case 'b':
        return '\b';
      case 'f':
        return '\f';
      case 'u':
        at += 4;
        return (char) Integer.parseInt(text.substring(at - 4, at), 16);
      default:
        return c;
    }
  }
}
