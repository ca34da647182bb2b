// A pool's free space: first fit, in the order of addresses; neighbours that become free unite.
#pragma once

#include <cstddef>
#include <map>
#include <optional>

namespace iw::ddss {

class Heap {
 public:
  static constexpr std::size_t grain = 64;
  Heap(std::size_t begin, std::size_t end);
  // The offset of so many bytes, a multiple of the grain.
  std::optional<std::size_t> take(std::size_t bytes);
  std::size_t size_of(std::size_t offset) const;  // of what take gave; 0 if it did not
  // What take gave, once. How many bytes those were; 0 if none.
  std::size_t give_back(std::size_t offset);

 private:
  std::map<std::size_t, std::size_t> free_, taken_;  // offset: bytes
};

}  // namespace iw::ddss
