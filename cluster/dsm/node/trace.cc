#include "dsm/node/trace.h"

#include <time.h>

#include <cerrno>
#include <cinttypes>
#include <cstring>

namespace iw::dsm {
namespace {

std::uint64_t ns_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  constexpr std::uint64_t billion = 1'000'000'000;
  return static_cast<std::uint64_t>(now.tv_sec) * billion + static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint64_t thread_ns() { return ns_of(CLOCK_THREAD_CPUTIME_ID); }
std::uint64_t wall_ns() { return ns_of(CLOCK_MONOTONIC); }

}  // namespace

std::unique_ptr<Trace> Trace::open(const std::string& path, Rank rank, Rank ranks,
                                   std::size_t page_bytes, std::string* error) {
  const std::string name = path + "." + std::to_string(rank);
  std::FILE* const file = std::fopen(name.c_str(), "we");
  if (file == nullptr) {
    *error = "IW_DSM_TRACE: " + name + " cannot be written: " + std::strerror(errno);
    return nullptr;
  }
  std::fprintf(file, "interweave-dsm-trace 1 %u %u %zu\n", rank, ranks, page_bytes);
  return std::unique_ptr<Trace>(new Trace(file));
}

Trace::~Trace() {
  if (file_ != nullptr) std::fclose(file_);
}

void Trace::begin() {
  has_begun_ = true;
  application_ = std::this_thread::get_id();
  begin_ns_ = wall_ns();
  lines_ns_ = 0;
  mark_ns_ = thread_ns();
  carried_ns_ = 0;
}

void Trace::begin_wait() {
  if (!is_application()) return;
  carried_ns_ += thread_ns() - mark_ns_;
  is_waiting_ = true;
}

void Trace::end_wait() {
  if (!is_application()) return;
  mark_ns_ = thread_ns();
  is_waiting_ = false;
}

void Trace::note_clock() { note("T", {wall_ns() - begin_ns_, lines_ns_}); }

void Trace::note(const char* event, std::initializer_list<std::uint64_t> numbers) {
  if (file_ == nullptr || !has_begun_) return;
  const std::uint64_t before = wall_ns();
  write(event, numbers);
  if (is_application()) lines_ns_ += wall_ns() - before;
}

void Trace::write(const char* event, std::initializer_list<std::uint64_t> numbers) {
  if (bytes_ >= bytes_most) {
    std::fputs("cut\n", file_);
    std::fclose(file_);
    file_ = nullptr;
    return;
  }
  int written = 0;
  const bool is_work = is_application() && !is_waiting_;
  if (!is_work) {
    written = std::fprintf(file_, "- %s", event);
  } else {
    const std::uint64_t passed = carried_ns_ + thread_ns() - mark_ns_;
    written = std::fprintf(file_, "%" PRIu64 " %s", passed, event);
    carried_ns_ = 0;
  }
  for (const std::uint64_t each : numbers) written += std::fprintf(file_, " %" PRIu64, each);
  std::fputc('\n', file_);
  bytes_ += static_cast<std::size_t>(written > 0 ? written + 1 : 1);
  // The line itself is not the application's work.
  if (is_work) mark_ns_ = thread_ns();
}

void Trace::end() {
  note("end");
  if (file_ == nullptr) return;
  // A trace whose end could not be written has no last line, and is refused by its reader.
  std::fclose(file_);
  file_ = nullptr;
}

}  // namespace iw::dsm
