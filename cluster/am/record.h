// A message that was sent: as it travels, in one piece, so that it is copied once before the
// transport; and what is known of it until nobody may want it back.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "am/wire.h"
#include "fabric/fabric.h"

namespace iw::am {

class Bundle;

struct Record : fabric::Completion {
  Bundle* bundle = nullptr;
  Record* next = nullptr;  // in the list that it is in
  int destination = -1;    // the translation's index, for who gets it back
  bool in_transit = false;
  bool is_settled = true;  // nobody may want it back

  // Room for the fabric, the head, its words (nullptr: none), the block.
  void write(const Head& head, const void* words, std::span<const std::byte> block) {
    header_bytes_ = am::header_bytes(head.n_args);
    const std::size_t begin_bytes = fabric::message_room_bytes + header_bytes_;
    bytes_ = begin_bytes + block.size();
    if (bytes_ > capacity_) grow();
    std::byte* at = memory_.get() + fabric::message_room_bytes;
    std::memcpy(at, &head, sizeof head);
    if (words != nullptr && head.n_args > 0) {
      std::memcpy(at + header_bytes_ - sizeof(std::int64_t), &no_words, sizeof no_words);
      std::memcpy(at + sizeof head, words, head.n_args * sizeof(std::int32_t));
    }
    if (!block.empty()) std::memcpy(memory_.get() + begin_bytes, block.data(), block.size());
  }

  std::span<std::byte> piece() { return {memory_.get(), bytes_}; }
  std::size_t header_bytes() const { return header_bytes_; }
  HeadAndWords header() const {
    HeadAndWords sent;
    const std::byte* at = memory_.get() + fabric::message_room_bytes;
    std::memcpy(&sent.head, at, sizeof sent.head);
    sent.words = at + sizeof sent.head;
    return sent;
  }
  std::span<const std::byte> block() const {
    return std::span<const std::byte>(memory_.get(), bytes_)
        .subspan(fabric::message_room_bytes + header_bytes_);
  }

 private:
  static constexpr std::int64_t no_words = 0;  // beside an odd word, instead of old memory

  void grow() {
    constexpr std::size_t bytes_min = 128;
    capacity_ = std::bit_ceil(std::max(bytes_, bytes_min));
    memory_ = std::make_unique_for_overwrite<std::byte[]>(capacity_);
  }

  std::unique_ptr<std::byte[]> memory_;
  std::size_t capacity_ = 0, bytes_ = 0, header_bytes_ = 0;
};

// Records in the order in which they came.
class RecordQueue {
 public:
  std::size_t size() const { return size_; }
  void push(Record* record) {
    record->next = nullptr;
    (size_++ == 0 ? first_ : last_->next) = record;
    last_ = record;
  }
  Record* pop() {
    size_--;
    return std::exchange(first_, first_->next);
  }

 private:
  Record *first_ = nullptr, *last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace iw::am
