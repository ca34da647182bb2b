// The start, the replay, the blocks and the end. Services and locks: process_calls.cc.
#include "dsm/api/process.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace iw::dsm {

using fabric::Exclusion;
using fabric::Status;

namespace {

constexpr fabric::MessageId service_message = Node::first_service;

bool read_timeout(std::chrono::milliseconds* timeout, std::string* error) {
  const char* const text = std::getenv("IW_DSM_TIMEOUT");
  if (text == nullptr || *text == '\0') return true;
  const std::string_view digits(text);
  unsigned value = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (code != std::errc() || end != digits.data() + digits.size() || value == 0) {
    *error = "IW_DSM_TIMEOUT must be milliseconds, a number from 1 on, and is " + std::string(text);
    return false;
  }
  *timeout = std::chrono::milliseconds(value);
  return true;
}

bool is_page_size(std::size_t bytes) {
  return bytes >= 4096 && bytes <= std::size_t{page_bytes_max} && (bytes & (bytes - 1)) == 0;
}

// Options that are given replace those of the environment. False, and why: they make no sense.
bool apply(const dsm_options& given, Node::Options* wanted, std::string* error) {
  if (given.page_bytes != 0) wanted->heap.page_bytes = given.page_bytes;
  if (given.heap_bytes != 0) wanted->heap.bytes = given.heap_bytes;
  if (given.buffer_bytes != 0) wanted->buffer_bytes = given.buffer_bytes / 8 * 8;
  if (given.buffer_depth != 0) wanted->depth = given.buffer_depth;
  if (given.timeout_ms != 0) wanted->timeout = std::chrono::milliseconds(given.timeout_ms);
  if (given.faults == DSM_FAULTS_USERFAULTFD) wanted->heap.way = FaultWay::userfaultfd;
  if (given.faults == DSM_FAULTS_SIGSEGV) wanted->heap.way = FaultWay::sigsegv;
  if (given.diffs == DSM_DIFFS_PIPE) wanted->diffs = DiffWay::pipe;
  if (given.diffs == DSM_DIFFS_ORIG) wanted->diffs = DiffWay::orig;
  if (!is_page_size(wanted->heap.page_bytes)) {
    *error = "page_bytes must be a power of two from 4096 to 65536";
  } else if (wanted->heap.bytes < wanted->heap.page_bytes) {
    *error = "heap_bytes must be at least one page";
  } else if (wanted->buffer_bytes < buffer_bytes_least ||
             wanted->buffer_bytes > buffer_bytes_most) {
    *error = "buffer_bytes must be from 4 KiB to 1 MiB";
  } else if (wanted->depth > depth_most) {
    *error = "buffer_depth must be at most 64";
  } else if (given.faults < DSM_FAULTS_BEST || given.faults > DSM_FAULTS_SIGSEGV ||
             given.diffs < DSM_DIFFS_DEFAULT || given.diffs > DSM_DIFFS_ORIG) {
    *error = "faults or diffs is not one of the values";
  }
  wanted->heap.bytes = wanted->heap.bytes / wanted->heap.page_bytes * wanted->heap.page_bytes;
  return error->empty();
}

HeapAddress number_of(const void* address) { return reinterpret_cast<HeapAddress>(address); }

// Addresses of blocks that the allocator gave, and of their headers, lie in the heap.
std::byte* pointer_of(HeapAddress address) { return reinterpret_cast<std::byte*>(address); }

std::string hex(const void* address) {
  char text[32];
  std::snprintf(text, sizeof text, "%p", address);
  return text;
}

}  // namespace

std::unique_ptr<Process> Process::start(const dsm_options& given, Failure* failure) {
  std::unique_ptr<Process> process(new Process);
  if (!process->start_node(given, failure)) return nullptr;
  Node& node = *process->node_;
  ServiceMail& mail = *process;
  BlockHeaders& headers = *process;
  process->services_ = std::make_unique<Services>(node.rank(), node.ranks(), mail);
  const HeapAddress begin = number_of(node.heap().begin());
  {
    const platform::MutexLock held(process->mutex_);
    process->allocator_.emplace(begin, begin + node.heap().bytes(), node.heap().page_bytes(),
                                headers);
  }
  if (node.rank() != 0) process->quiet_output_.begin();
  return process;
}

bool Process::start_node(const dsm_options& given, Failure* failure) {
  Node::Options wanted;
  std::string error;
  if (!Node::read_environment(&wanted, &error) || !read_timeout(&wanted.timeout, &error) ||
      !apply(given, &wanted, &error)) {
    *failure = {DSM_EARGUMENT, error};
    return false;
  }
  wanted.services.push_back({service_message, &Process::on_service, this});
  const auto deadline = fabric::Clock::now() + wanted.timeout;
  node_ = Node::start(wanted, &error);
  const bool is_late = fabric::Clock::now() >= deadline;
  if (node_ == nullptr) *failure = {is_late ? DSM_ETIMEDOUT : DSM_EFAILED, error};
  return node_ != nullptr;
}

Process::~Process() = default;

int Process::dead_rank() {
  const Result health = node_->health();
  return health.is_ok() ? -1 : health.rank;
}

Failure Process::end_of_job(const Result& result) const {
  const std::string who = "rank " + std::to_string(result.rank);
  switch (result.status) {
    case Status::peer_dead:
      return {DSM_EDEAD, who + " died, or ended without dsm_finish"};
    case Status::bad_argument:
      return {DSM_EMISMATCH, who + " was at another barrier or collective than other ranks"};
    case Status::refused:
      return {DSM_ENOTINIT, "another thread called dsm_finish meanwhile"};
    default:
      return {DSM_EFAILED, who + ": " + fabric::to_string(result.status)};
  }
}

Failure Process::failure_of(const Result& result, int wrong) {
  switch (result.status) {
    case Status::ok:
      return {};
    case Status::in_handler:
      return {DSM_EINHANDLER};
    case Status::no_memory:
      return {DSM_EMEMORY, "the system has no memory for a page or its twin"};
    default:
      break;
  }
  if (const Result health = node_->health(); !health.is_ok()) return end_of_job(health);
  if (result.status == Status::bad_argument) return {wrong};
  return end_of_job(result);
}

// Blocks.

BlockHeader Process::load(HeapAddress at) {
  BlockHeader header;
  std::memcpy(&header, pointer_of(at), sizeof header);
  return header;
}

void Process::store(HeapAddress at, const BlockHeader& header) {
  std::memcpy(pointer_of(at), &header, sizeof header);
}

void* Process::allocate(std::size_t bytes, Failure* failure) {
  const platform::MutexLock held(mutex_);
  if (!node_->has_begun()) replay_.note(Replay::Call::allocate, bytes);
  const std::optional<HeapAddress> block = allocator_->allocate(bytes);
  if (block) return pointer_of(*block);
  *failure = {DSM_EMEMORY, "the heap has no room for " + std::to_string(bytes) +
                               " bytes: " + std::to_string(allocator_->free_bytes()) +
                               " are free for this rank. Set IW_DSM_HEAP to more"};
  return nullptr;
}

Failure Process::free(void* block) {
  const platform::MutexLock held(mutex_);
  if (!node_->has_begun()) {
    replay_.note(Replay::Call::free, number_of(block) - number_of(node_->heap().begin()));
  }
  const Allocator::Freed freed = allocator_->free(number_of(block));
  if (freed == Allocator::Freed::freed) return {};
  const bool is_free = freed == Allocator::Freed::free_already;
  Failure failure{is_free ? DSM_EFREED : DSM_EFOREIGN,
                  hex(block) + (is_free ? " is a block that is free already"
                                        : " is not the beginning of a block of the heap")};
  std::fprintf(stderr, "interweave: rank %d: dsm_free: %s\n", rank(), failure.text.c_str());
  return failure;
}

bool Process::pages_of(const void* address, std::size_t bytes, PageNumber* first,
                       std::size_t* count) const {
  const Heap& heap = node_->heap();
  const HeapAddress begin = number_of(heap.begin());
  const HeapAddress at = number_of(address);
  if (at < begin || at - begin > heap.bytes() || bytes > heap.bytes() - (at - begin)) return false;
  *first = (at - begin) / heap.page_bytes();
  *count = bytes == 0 ? 0 : (at - begin + bytes - 1) / heap.page_bytes() - *first + 1;
  return true;
}

Failure Process::place(const void* address, std::size_t bytes, dsm_placement placement, int rank) {
  PageNumber first = 0;
  std::size_t count = 0;
  if (!pages_of(address, bytes, &first, &count)) {
    return {DSM_EARGUMENT, hex(address) + " is not in the heap"};
  }
  const platform::MutexLock held(mutex_);
  if (node_->has_begun()) return {DSM_ELATE};
  const Rank ranks = node_->ranks();
  switch (placement) {
    case DSM_FIRST_TOUCH:
      replay_.leave_to_first_touch(first, count, ranks);
      break;
    case DSM_BLOCKS:
      replay_.place_blocks(first, count, ranks);
      break;
    case DSM_ROUND_ROBIN:
      replay_.place_round_robin(first, count);
      break;
    case DSM_RANK:
      if (rank < 0 || rank >= ranks) {
        return {DSM_EARGUMENT, "there is no rank " + std::to_string(rank)};
      }
      replay_.place_at(first, count, static_cast<Rank>(rank));
      break;
    default:
      return {DSM_EARGUMENT, "the placement is not one of the values"};
  }
  replay_.note(Replay::Call::home, first, count);
  return {};
}

Failure Process::touch(const void* address, std::size_t bytes, bool will_store) {
  PageNumber first = 0;
  std::size_t count = 0;
  if (!pages_of(address, bytes, &first, &count)) {
    return {DSM_EARGUMENT, hex(address) + " is not in the heap"};
  }
  if (!node_->has_begun() || count == 0) return {};
  return failure_of(node_->touch(first, count, will_store ? Access::write : Access::read),
                    DSM_EARGUMENT);
}

// The end of the replay, and of the job.

Failure Process::begin(std::uint64_t barrier) {
  const platform::MutexLock held(mutex_);
  if (node_->has_begun()) {
    return {DSM_EARGUMENT, "another thread of this rank was at the first barrier"};
  }
  if (!early_locks_.empty()) return {DSM_EHELD, "a lock is held over the first barrier"};
  replay_.note(Replay::Call::barrier, barrier);
  const HeapAddress begin = number_of(node_->heap().begin());
  const PageNumber end = (allocator_->reached_end() - begin) / node_->heap().page_bytes();
  const Result result = node_->begin(replay_.hash(), end, replay_.homes());
  if (result.status == Status::bad_argument) {
    return {DSM_EREPLAY, "rank " + std::to_string(result.rank) +
                             " made other calls before the first barrier than rank 0. All ranks "
                             "must allocate alike until then; docs/dsm.md has the rules"};
  }
  if (!result.is_ok()) return failure_of(result, DSM_EREPLAY);
  allocator_->end_replay(node_->rank(), node_->ranks());
  quiet_output_.end();
  return {};
}

Failure Process::finish() {
  if (!node_->has_begun()) {
    Failure failure = begin(~std::uint64_t{0});
    if (failure.error != 0) return failure;
  }
  return failure_of(node_->finish(), DSM_EARGUMENT);
}

}  // namespace iw::dsm
