#include "fabric/own_addresses.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

namespace iw::fabric {

std::vector<std::uint32_t> own_ip4s() {
  std::vector<std::uint32_t> found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) == 0) {
    for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
      const bool is_usable = each->ifa_addr != nullptr && each->ifa_addr->sa_family == AF_INET &&
                             (each->ifa_flags & IFF_LOOPBACK) == 0 &&
                             (each->ifa_flags & IFF_UP) != 0;
      if (!is_usable) continue;
      found.push_back(reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr.s_addr);
    }
    freeifaddrs(list);
  }
  found.push_back(htonl(INADDR_LOOPBACK));
  return found;
}

}  // namespace iw::fabric
