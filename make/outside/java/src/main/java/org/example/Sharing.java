package org.example;

import org.example.shared.node_t;
import org.interweave.IW_Object;
import org.interweave.client.ReadLock;
import org.interweave.client.Segment;
import org.interweave.client.WriteLock;

/** Makes a list, changes it by plain stores, and prints what another opening of it shows. */
public final class Sharing {
  private Sharing() {}

  public static void main(String[] arguments) {
    String url = arguments[0];
    try (Segment list = Segment.open(url)) {
      change(list, make(list));
      System.out.print("tracked=" + IW_Object.iw_isTracked());
      System.out.print(" unmarked=" + list.stats().unmarkedObjects());
    }
    try (Segment list = Segment.open(url); ReadLock lock = list.read()) {
      System.out.print(" keys=");
      for (node_t at = lock.object("head", node_t.class); at != null; at = at.next) {
        System.out.print(at.key + ";");
      }
      System.out.println();
    }
  }

  private static node_t make(Segment list) {
    try (WriteLock lock = list.write()) {
      node_t head = new node_t(list, "head");
      head.set_next(new node_t(list, null));
      lock.release();
      return head;
    }
  }

  private static void change(Segment list, node_t head) {
    try (WriteLock lock = list.write()) {
      head.key = 2;
      head.next.key += 3;
      lock.release();
    }
  }
}
