package org.interweave.wire;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * A server as a URL names it: by one host, or by several of one space in the order in which a
 * client asks them [MIP-7]. Other text is another server.
 */
public record Hosts(List<Address> all) {
  private static final int MOST = 8;

  public Hosts {
    all = List.copyOf(all);
  }

  public static Hosts of(Address one) {
    return new Hosts(List.of(one));
  }

  /** `host[:port]{,host[:port]}`, at most 8, each different; null if the text is not that. */
  public static Hosts parse(String text, boolean secure) {
    String[] hosts = text.split(",", MOST + 1);
    if (hosts.length > MOST) return null;
    List<Address> found = new ArrayList<>();
    Set<String> places = new HashSet<>();
    for (String host : hosts) {
      Address address = Address.parse(host, secure);
      if (address == null) return null;
      found.add(address);
      // By their texts, because the first hash of a record takes 200 KB.
      if (!places.add(address.place())) return null;
    }
    return new Hosts(found);
  }

  public boolean secure() {
    return all.get(0).secure();
  }

  /** Canonical, as a MIP begins [MIP-3]. */
  public String text() {
    StringBuilder text = new StringBuilder(all.get(0).text());
    for (Address other : all.subList(1, all.size())) text.append(',').append(other.place());
    return text.toString();
  }
}
