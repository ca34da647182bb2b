// A pool's free space. Takes the first piece that is large enough, in the order of addresses. Free
// neighbours unite.
#pragma once

#include <cstddef>
#include <map>
#include <optional>

namespace iw::ddss {

class Heap {
 public:
  static constexpr std::size_t grain = 64;
  Heap(std::size_t begin, std::size_t end);
  // Returns the offset of a piece of so many bytes, a multiple of the grain.
  std::optional<std::size_t> take(std::size_t bytes);
  std::size_t size_of(std::size_t offset) const;  // 0: no piece was taken there
  // Returns the size of the piece. 0: no piece was taken there.
  std::size_t give_back(std::size_t offset);

 private:
  std::map<std::size_t, std::size_t> free_, taken_;  // offset: bytes
};

}  // namespace iw::ddss
