// A set of record ids, found by the hash of something in the record. The records hold the keys.
// Open addressing with four bytes a place, at most three quarters full: at most 10.7 bytes a
// record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace iw::memory {

using RecordId = std::uint32_t;
inline constexpr RecordId no_record = ~RecordId{0};

class HashIndex {
 public:
  template <typename Matches>
  [[nodiscard]] RecordId find(std::uint64_t hash, Matches matches) const {
    if (places_.empty()) return no_record;
    for (std::size_t at = home(hash);; at = following(at)) {
      const RecordId id = places_[at];
      if (id == no_record || matches(id)) return id;
    }
  }

  // The first id that find() would look at, and a way to have it in the cache by then.
  [[nodiscard]] RecordId first(std::uint64_t hash) const {
    return places_.empty() ? no_record : places_[home(hash)];
  }
  void fetch(std::uint64_t hash) const {
    if (!places_.empty()) __builtin_prefetch(&places_[home(hash)]);
  }

  // Makes room for `more` calls of insert(), which then do not throw. May throw std::bad_alloc.
  template <typename HashOf>
  void prepare(std::size_t more, HashOf hash_of) {
    prepare_total(used_ + more, hash_of);
  }
  // Room for so many altogether.
  template <typename HashOf>
  void prepare_total(std::size_t total, HashOf hash_of) {
    while (total * 4 > places_.size() * 3) {
      rehash(places_.empty() ? smallest : places_.size() * 2, hash_of);
    }
  }

  void insert(std::uint64_t hash, RecordId id) {
    std::size_t at = home(hash);
    while (places_[at] != no_record) at = following(at);
    places_[at] = id;
    ++used_;
  }

  // Removes an id that is in the set. Later ids move up, so that no searched row has a gap.
  template <typename HashOf>
  void erase(std::uint64_t hash, RecordId id, HashOf hash_of) {
    std::size_t gap = home(hash);
    while (places_[gap] != id) gap = following(gap);
    for (std::size_t at = following(gap); places_[at] != no_record; at = following(at)) {
      const std::size_t wanted = home(hash_of(places_[at]));
      if (((at - wanted) & mask()) >= ((at - gap) & mask())) {
        places_[gap] = places_[at];
        gap = at;
      }
    }
    places_[gap] = no_record;
    --used_;
  }

  // After many ids were erased: gives memory back, if there is memory for the smaller table.
  template <typename HashOf>
  void shrink(HashOf hash_of) noexcept {
    if (places_.size() <= smallest || used_ * 8 >= places_.size()) return;
    try {
      rehash(places_.size() / 2, hash_of);
    } catch (const std::bad_alloc&) {
    }
  }

  [[nodiscard]] std::size_t bytes() const { return places_.capacity() * sizeof(RecordId); }

 private:
  static constexpr std::size_t smallest = 16;

  [[nodiscard]] std::size_t mask() const { return places_.size() - 1; }
  [[nodiscard]] std::size_t home(std::uint64_t hash) const {
    return static_cast<std::size_t>(hash) & mask();
  }
  [[nodiscard]] std::size_t following(std::size_t at) const { return (at + 1) & mask(); }

  template <typename HashOf>
  void rehash(std::size_t size, HashOf hash_of) {
    std::vector<RecordId> old(size, no_record);
    places_.swap(old);
    used_ = 0;
    for (const RecordId id : old) {
      if (id != no_record) insert(hash_of(id), id);
    }
  }

  std::vector<RecordId> places_;  // a power of two of them
  std::size_t used_ = 0;
};

}  // namespace iw::memory
