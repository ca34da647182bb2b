package org.interweave.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * Two clients and a server in all orders of their steps, as native's conversation_orders_test.cc
 * has them: sections, recalls, deliveries, a lost connection and the end of a second [LOCK-13..16].
 * After each order everything is delivered, and nobody may wait for a lock for ever.
 */
class KeptGrantOrdersTest {
  /** Steps of the longest order, before everything is delivered. */
  private static final int LONGEST = 18;

  private long orders;
  private long resumed;

  @Test
  void aKeptGrantIsRecalledInAllOrders() {
    walk(false);
    assertTrue(orders > 1_000, orders + " orders");
    assertTrue(resumed > 1_000, resumed + " sections under a kept grant");
  }

  @Test
  void aKeptGrantEndsWithItsConnectionInAllOrders() {
    walk(true);
    assertTrue(orders > 10_000, orders + " orders");
    assertTrue(resumed > 1_000, resumed + " sections under a kept grant");
  }

  /** Shortest orders first. An order whose state another one had is not continued. */
  private void walk(boolean mayCut) {
    Set<String> seen = new HashSet<>();
    Deque<int[]> left = new ArrayDeque<>();
    left.add(new int[0]);
    while (!left.isEmpty()) {
      int[] order = left.poll();
      KeptGrantWorld world = new KeptGrantWorld(mayCut);
      for (int step : order) assertTrue(world.take(step));
      if (!seen.add(world.state())) continue;
      if (order.length < LONGEST) addLonger(order, world, left);
      world.finish();
      assertEquals(List.of(), world.waiting(), "after " + Arrays.toString(order));
      ++orders;
      resumed += world.resumed();
    }
  }

  private static void addLonger(int[] order, KeptGrantWorld world, Deque<int[]> left) {
    for (int step = 0; step < KeptGrantWorld.STEPS; ++step) {
      if (!world.can(step)) continue;
      int[] longer = Arrays.copyOf(order, order.length + 1);
      longer[order.length] = step;
      left.add(longer);
    }
  }
}
