// A record: a sent message in one piece, as it travels, so that it is copied once before the
// transport takes it. The record is kept until the message cannot come back any more.
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
  int destination = -1;    // the translation's index, which handler 0 is told
  bool in_transit = false;
  bool is_released = true;  // the message cannot come back any more

  // Writes words and block behind the fabric's room and the head. Returns the head, which the
  // caller fills in.
  Head& write(std::span<const int> words, std::span<const std::byte> block) {
    header_bytes_ = am::header_bytes(words.size());
    bytes_ = fabric::message_room_bytes + header_bytes_ + block.size();
    if (bytes_ > capacity_) grow();
    Head& head = *reinterpret_cast<Head*>(memory_.get() + fabric::message_room_bytes);
    write_words(reinterpret_cast<int*>(&head + 1), words);
    if (!block.empty()) {
      std::memcpy(memory_.get() + bytes_ - block.size(), block.data(), block.size());
    }
    return head;
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
  // Word by word, because a wider load would wait until the stores of single words are done.
  static void write_words(int* to, std::span<const int> words) {
    static_assert(AM_MAX_ARGS == 8);
    if (words.size() % 2 != 0) to[words.size()] = 0;  // so that no old memory is sent
    switch (words.size()) {
      case 8:
        to[7] = words[7];
        [[fallthrough]];
      case 7:
        to[6] = words[6];
        [[fallthrough]];
      case 6:
        to[5] = words[5];
        [[fallthrough]];
      case 5:
        to[4] = words[4];
        [[fallthrough]];
      case 4:
        to[3] = words[3];
        [[fallthrough]];
      case 3:
        to[2] = words[2];
        [[fallthrough]];
      case 2:
        to[1] = words[1];
        [[fallthrough]];
      case 1:
        to[0] = words[0];
    }
  }

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
