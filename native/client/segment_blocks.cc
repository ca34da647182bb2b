// Blocks: allocation under the writer lock, and where places of the segment lie.
#include <algorithm>

#include "client/runtime.h"
#include "client/segment.h"
#include "session/frame_writer.h"
#include "types/navigation.h"
#include "types/reflection.h"

namespace iw::client {

using protocol::error_code;

namespace {

bool holds_writer_lock(const Segment* segment) {
  const Hold* const hold = find_hold(segment);
  return hold != nullptr && hold->writes > 0;
}

Result needs_writer_lock() {
  return {error_code::NO_LOCK, "this needs the segment's writer lock; IW_wl_acquire takes it"};
}

}  // namespace

Result Segment::allocate(IW_type_t type, std::size_t count, const char* name, void*& out) {
  if (!holds_writer_lock(this)) return needs_writer_lock();
  if (count == 0) return {error_code::BAD_ARGUMENT, "a block of 0 values was asked for"};
  if (name != nullptr && !types::is_block_name(name)) {
    return {error_code::BAD_NAME,
            std::string("'") + name +
                "' is not a block name: 1 to 255 bytes of UTF-8, not beginning "
                "with a digit, without '#' and control characters"};
  }
  if (!copy_->has_serials()) {
    if (Result granted = ask_for_serials(); !granted) return granted;
  }
  return copy_->allocate(type, count, name == nullptr ? "" : name, quota_bytes_, out);
}

Result Segment::find(const char* name, void*& out) {
  if (find_hold(this) == nullptr) {
    return {error_code::NO_LOCK, "finding a block needs a reader or writer lock of the segment"};
  }
  memory::Block block;
  const std::string_view wanted = name == nullptr ? std::string_view() : name;
  if (!heap()->find(wanted, block) || block.is_reserved) {
    return {error_code::NO_BLOCK, "the segment has no block named '" + std::string(wanted) + "'"};
  }
  out = block.address;
  return {};
}

Result Segment::find_or_allocate(IW_type_t type, std::size_t count, const char* name, void*& out) {
  if (!holds_writer_lock(this)) return needs_writer_lock();
  if (name == nullptr) return {error_code::BAD_NAME, "a block that is to be found needs a name"};
  if (Result found = copy_->find_as(type, count, name, out); !found || out != nullptr) return found;
  return allocate(type, count, name, out);
}

// The grant's serials are used up: a further range, twice as large as the last [LOCK-6].
Result Segment::ask_for_serials() {
  {
    const MutexLock lock(mutex_);
    talk_.want_serials();
  }
  Request request;
  request.type = message_type::MORE_SERIALS;
  const auto body = [this] {
    mutex_.assert_held();
    return session::encoded(talk_.serials_question());
  };
  const std::int64_t deadline_ns = wish_for(-1).deadline_ns;
  if (Result called = converse(request, body, deadline_ns, true); !called) return called;
  protocol::serials_granted granted;
  Result answered = session::decode_answer(request.answer, message_type::SERIALS_GRANTED, granted);
  if (!answered) return answered;
  return copy_->add_serials({granted.first_serial, granted.serial_count});
}

Result Segment::free_block(void* block) {
  if (!holds_writer_lock(this)) return needs_writer_lock();
  return copy_->free(block);
}

Result Segment::assign(void* field, const void* source, std::size_t count) {
  if (!holds_writer_lock(this)) return needs_writer_lock();
  if (count > 0 && !copy_->has_serials()) {
    if (Result granted = ask_for_serials(); !granted) return granted;
  }
  return copy_->assign(field, source, count);
}

Result Segment::next_block(const void* after, void*& out) {
  out = nullptr;
  if (find_hold(this) == nullptr) {
    return {error_code::NO_LOCK, "iterating needs a reader or writer lock of the segment"};
  }
  const std::shared_ptr<memory::Heap> blocks = heap();
  memory::Block block;
  std::uint64_t serial = 0;
  if (after != nullptr) {
    if (!blocks->find_at(after, block)) {
      return {error_code::BAD_POINTER,
              "the address to continue from is not in a block of the segment"};
    }
    serial = block.serial;
  }
  // Owned blocks belong to their fields, reserved ones are not part of this version.
  while (blocks->next_by_serial(serial, block)) {
    serial = block.serial;
    if (block.is_owned || block.is_reserved) continue;
    out = block.address;
    return {};
  }
  return {};
}

Result Segment::describe_block(const void* place, IW_block_t& out) {
  if (find_hold(this) == nullptr) {
    return {error_code::NO_LOCK, "this needs a reader or writer lock of the segment"};
  }
  const std::shared_ptr<memory::Heap> blocks = heap();
  memory::Block block;
  if (!blocks->find_at(place, block)) {
    return {error_code::BAD_POINTER, "the address is in no block of the segment"};
  }
  out.address = block.address;
  out.type = types::table_of(*block.type);
  out.count = static_cast<std::size_t>(block.count);
  out.serial = block.serial;
  out.is_owned = block.is_owned ? 1 : 0;
  out.is_reserved = block.is_reserved ? 1 : 0;
  const std::string name = blocks->name_of(block.serial);
  name.copy(out.name, sizeof out.name - 1);  // [MIP-2]: at most 255 bytes
  return {};
}

Result Segment::pin(const void* place, Pin& out) {
  if (find_hold(this) == nullptr) {
    return {error_code::NO_LOCK, "this needs a reader or writer lock of the segment"};
  }
  out.heap = heap();
  out.subsegment = out.heap->pin(place);
  if (out.subsegment == nullptr) {
    return {error_code::BAD_POINTER, "the address is in no memory of the segment"};
  }
  return {};
}

Result Segment::place_of(const types::Mip& mip, void*& out) {
  const std::shared_ptr<memory::Heap> blocks = heap();
  if (blocks == nullptr) return {error_code::NOT_OPEN, "the segment is not open"};
  memory::Block block;
  const auto find = [&mip, &blocks, &block] {
    if (mip.serial != 0) return blocks->find(mip.serial, block);
    if (!mip.block_name.empty()) return blocks->find(mip.block_name, block);
    return blocks->next_by_serial(0, block);
  };
  bool is_found = find();
  if (!is_found && !holds_writer_lock(this)) {
    std::vector<std::uint64_t> serials;
    std::vector<std::string> names;
    if (mip.serial != 0) serials.push_back(mip.serial);
    if (!mip.block_name.empty()) names.push_back(mip.block_name);
    const std::int64_t deadline_ns = wish_for(-1).deadline_ns;
    if (Result described = describe(std::move(serials), std::move(names), deadline_ns);
        !described) {
      return described;
    }
    is_found = find();
  }
  if (!is_found) {
    const std::string what = mip.serial != 0          ? "block " + std::to_string(mip.serial)
                             : mip.block_name.empty() ? std::string("block at all")
                                                      : "block named '" + mip.block_name + "'";
    return {error_code::NO_BLOCK, "the segment has no " + what};
  }
  if (mip.unit > block.count * block.type->units) {
    return {error_code::BAD_POINTER,
            "the block has " + std::to_string(block.count * block.type->units) + " units; offset " +
                std::to_string(mip.unit) + " is beyond its end"};
  }
  out = block.address + types::byte_of_unit(*block.type, block.count, mip.unit);
  return {};
}

Result Segment::describe(std::vector<std::uint64_t> serials, std::vector<std::string> names,
                         std::int64_t deadline_ns) {
  std::size_t at = 0;
  do {
    protocol::describe_blocks wanted;
    const std::size_t end =
        std::min(serials.size(), at + static_cast<std::size_t>(protocol::MAX_DESCRIBED));
    wanted.serials.assign(serials.begin() + static_cast<std::ptrdiff_t>(at),
                          serials.begin() + static_cast<std::ptrdiff_t>(end));
    if (at == 0) wanted.names = names;
    at = end;
    Request request;
    request.type = message_type::DESCRIBE_BLOCKS;
    const auto body = [this, &wanted] {
      mutex_.assert_held();
      wanted.segment = talk_.number();
      return session::encoded(wanted);
    };
    if (Result called = converse(request, body, deadline_ns, false); !called) return called;
    protocol::blocks_described described;
    Result answered =
        session::decode_answer(request.answer, message_type::BLOCKS_DESCRIBED, described);
    if (!answered) return answered;
    std::shared_ptr<Copy> copy;
    {
      const MutexLock lock(mutex_);
      copy = copy_;
    }
    const std::span<const std::byte> diff = request.answer.message.bulk.bytes();
    if (diff.empty() || copy == nullptr) continue;
    HeapResolver resolver(runtime_);
    if (Result reserved = copy->describe(diff, resolver); !reserved) return reserved;
  } while (at < serials.size());
  return {};
}

}  // namespace iw::client
