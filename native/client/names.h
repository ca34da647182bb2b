// By which URLs the segments of a process are found [SPACE-61]. The runtime finds a segment by its
// first name; what leads from other names to it is here, and which segments have one path, because
// they may be one segment. Guarded by the runtime's mutex, which also keeps the segments.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace iw::client {

class Segment;
class ServerLink;

class Names {
 public:
  struct Other {
    Segment* segment = nullptr;
    // The segment is reached through it, too, because the program opened this name [SPACE-63].
    // Null: a MIP or a pointer has it.
    const ServerLink* link = nullptr;
  };

  // The segment can be found by its first name from now on; or no more, by whatever name.
  void join(Segment& segment);
  void leave(const Segment& segment) noexcept;

  [[nodiscard]] std::vector<Segment*> with_path(std::string_view path) const;
  // Null: no segment has it as another name.
  [[nodiscard]] const Other* find(const std::string& name) const;
  void add(const std::string& name, const Other& other);
  void drop(const std::string& name) noexcept;
  // Calls `see` with each segment that is reached through the link by another name.
  template <typename See>
  [[nodiscard]] bool any_through(const ServerLink& link, See&& see) const {
    for (const auto& [name, other] : others_) {
      if (other.link == &link && see(*other.segment)) return true;
    }
    return false;
  }

 private:
  using Others = std::map<std::string, Other>;

  std::multimap<std::string_view, Segment*> by_path_;  // the paths are the segments' own
  Others others_;
  std::multimap<const Segment*, Others::const_iterator> of_;
};

}  // namespace iw::client
