#include "dsm/memory/home_tables.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <random>
#include <utility>

namespace iw::dsm {
namespace {

using Word = std::atomic_ref<std::uint64_t>;
constexpr std::uint64_t is_present = 1;  // in the home's own word of a row

std::uint64_t& readers_in(const Mapping& table) {
  return *reinterpret_cast<std::uint64_t*>(table.begin() + table_readers_at);
}

// The file of another process, if it has that size. Empty: it cannot be mapped.
Mapping map_file_of(std::uint32_t pid, std::uint32_t file, std::size_t bytes) {
  // Not a std::string: a page faults when its home's file is first needed.
  char path[48];
  std::snprintf(path, sizeof path, "/proc/%u/fd/%u", pid, file);
  const int opened = open(path, O_RDWR | O_CLOEXEC);
  if (opened < 0) return {};
  Mapping mapping;
  struct stat found {};
  const bool is_ours = fstat(opened, &found) == 0 && S_ISREG(found.st_mode) &&
                       static_cast<std::size_t>(found.st_size) == bytes;
  if (is_ours) mapping = Mapping::make(nullptr, bytes, opened);
  close(opened);
  return mapping;
}

}  // namespace

std::size_t HomeTables::table_bytes() const {
  return table_rows_at + shape_.pages * (shape_.ranks + 1) * sizeof(std::uint64_t);
}

std::unique_ptr<HomeTables> HomeTables::make(const Shape& shape) {
  std::unique_ptr<HomeTables> tables(new HomeTables(shape));
  tables->file_ = memfd_create("interweave-dsm-table", MFD_CLOEXEC);
  if (tables->file_ < 0) return nullptr;
  const std::size_t bytes = tables->table_bytes();
  if (ftruncate(tables->file_, static_cast<off_t>(bytes)) != 0) return nullptr;
  tables->table_ = Mapping::make(nullptr, bytes, tables->file_);
  if (tables->table_.begin() == nullptr) return nullptr;
  std::random_device random;
  for (std::uint64_t& each : tables->nonce_) each = std::uint64_t{random()} << 32 | random();
  std::memcpy(tables->table_.begin(), tables->nonce_.data(), sizeof tables->nonce_);
  return tables;
}

HomeTables::~HomeTables() {
  if (file_ >= 0) close(file_);
}

Memory HomeTables::memory(int heap_file) const {
  return {static_cast<std::uint32_t>(getpid()), static_cast<std::uint32_t>(heap_file),
          static_cast<std::uint32_t>(file_), 0, nonce_};
}

std::uint64_t* HomeTables::row_in(const Mapping& table, PageNumber page) const {
  return reinterpret_cast<std::uint64_t*>(table.begin() + table_rows_at) +
         page * (shape_.ranks + 1);
}

void HomeTables::tell_present(PageNumber page) {
  Word(row_in(table_, page)[shape_.me]).fetch_or(is_present, std::memory_order_release);
}

void HomeTables::tell_flushed(PageNumber page, Stamp stamp) {
  Word(row_in(table_, page)[stamp.writer]).store(stamp.sequence, std::memory_order_release);
}

void HomeTables::open(Other& other) const {
  const Memory memory = std::exchange(other.memory, {});
  Mapping table = map_file_of(memory.pid, memory.table_file, table_bytes());
  if (table.begin() == nullptr) return;
  if (std::memcmp(table.begin(), memory.nonce.data(), sizeof memory.nonce) != 0) return;
  Mapping heap = map_file_of(memory.pid, memory.heap_file, shape_.pages * shape_.page_bytes);
  if (heap.begin() == nullptr) return;
  other.table = std::move(table);
  other.heap = std::move(heap);
}

bool HomeTables::is_open(Other& other) const {
  if (other.memory.pid != 0) open(other);
  return other.heap.begin() != nullptr;
}

// Before the bytes are loaded. Either the home sees it when its interval ends, or the bytes have
// what the home stored in that interval.
void HomeTables::tell_reader(Rank home, PageNumber page) {
  Other& other = others_[home];
  if (!is_open(other)) return;
  Word(row_in(other.table, page)[home]).fetch_or(table_is_read);
  Word(readers_in(other.table)).fetch_add(1);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

// Behind the stores of the interval that ends.
bool HomeTables::has_new_readers() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const std::uint64_t now = Word(readers_in(table_)).load();
  return std::exchange(readers_, now) != now;
}

bool HomeTables::is_read(PageNumber page) {
  return (Word(row_in(table_, page)[shape_.me]).load() & table_is_read) != 0;
}

std::optional<Rank> HomeTables::find_home(Rank directory, PageNumber page, Rank otherwise) {
  const bool is_here = directory == shape_.me;
  if (!is_here && !is_open(others_[directory])) return std::nullopt;
  std::uint64_t* const row = row_in(is_here ? table_ : others_[directory].table, page);
  std::uint64_t found = 0;
  if (Word(row[shape_.ranks]).compare_exchange_strong(found, std::uint64_t{otherwise} + 1)) {
    return otherwise;
  }
  // The table is another process's.
  if (found > shape_.ranks) return std::nullopt;
  return static_cast<Rank>(found - 1);
}

void HomeTables::tell_initial_bytes(PageNumber page) {
  Word(row_in(table_, page)[0]).fetch_or(table_is_initial, std::memory_order_release);
}

std::optional<std::span<const std::byte>> HomeTables::find_initial(PageNumber page) {
  Other& first = others_[0];
  if (!is_open(first)) return std::nullopt;
  const std::uint64_t word = Word(row_in(first.table, page)[0]).load(std::memory_order_acquire);
  if ((word & table_is_initial) == 0) return std::span<const std::byte>();
  return std::span<const std::byte>(first.heap.begin() + page * shape_.page_bytes,
                                    shape_.page_bytes);
}

std::span<const std::byte> HomeTables::find(Rank home, PageNumber page,
                                            std::span<const Stamp> needed,
                                            std::vector<Stamp>* there) {
  Other& other = others_[home];
  if (!is_open(other)) return {};
  std::uint64_t* const row = row_in(other.table, page);
  const auto word_of = [&](Rank rank) { return Word(row[rank]).load(std::memory_order_acquire); };
  if ((word_of(home) & is_present) == 0) return {};
  for (const Stamp& each : needed) {
    if (each.writer != home && word_of(each.writer) < each.sequence) return {};
  }
  there->clear();
  for (Rank rank = 0; rank < shape_.ranks; rank++) {
    const Sequence sequence = rank == home ? 0 : word_of(rank);
    if (sequence != 0) there->push_back({rank, sequence});
  }
  return {other.heap.begin() + page * shape_.page_bytes, shape_.page_bytes};
}

}  // namespace iw::dsm
