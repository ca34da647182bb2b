// The settings of a node that the environment gives.
#include <charconv>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "dsm/node/node.h"

namespace iw::dsm {
namespace {

// A number, or one with K, M, G or T behind it.
bool read_size(std::string_view text, std::uint64_t* size) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *size);
  if (error != std::errc()) return false;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (unit.empty()) return true;
  constexpr std::string_view units = "KMGT";
  const std::size_t which = units.find(unit[0]);
  if (unit.size() > 1 || which == std::string_view::npos) return false;
  const unsigned shift = 10 * (static_cast<unsigned>(which) + 1);
  if (*size > std::numeric_limits<std::uint64_t>::max() >> shift) return false;
  *size <<= shift;
  return true;
}

// One variable. Without it the setting stays.
class Variable {
 public:
  explicit Variable(const char* name) : name_(name), text_(std::getenv(name)) {}
  bool is_set() const { return text_ != nullptr && *text_ != '\0'; }
  std::string_view text() const { return text_; }

  bool read(std::uint64_t least, std::uint64_t most, std::uint64_t* value,
            std::string* error) const {
    if (!is_set()) return true;
    std::uint64_t found = 0;
    if (!read_size(text_, &found) || found < least || found > most) {
      return refuse("a size from " + std::to_string(least) + " to " + std::to_string(most), error);
    }
    *value = found;
    return true;
  }
  bool read(bool* value, std::string* error) const {
    if (!is_set()) return true;
    if (text() != "yes" && text() != "no") return refuse("yes or no", error);
    *value = text() == "yes";
    return true;
  }
  bool refuse(const std::string& wanted, std::string* error) const {
    *error = std::string(name_) + " must be " + wanted + ", and is " + text_;
    return false;
  }

 private:
  const char* name_;
  const char* text_;
};

bool read_ways(Node::Options* options, std::string* error) {
  const Variable faults("IW_DSM_FAULTS"), diffs("IW_DSM_DIFFS");
  if (faults.is_set()) {
    const std::string_view way = faults.text();
    const bool is_known = way == "best" || way == "userfaultfd" || way == "sigsegv";
    if (!is_known) return faults.refuse("best, userfaultfd or sigsegv", error);
    options->heap.way = way == "best"      ? FaultWay::best
                        : way == "sigsegv" ? FaultWay::sigsegv
                                           : FaultWay::userfaultfd;
  }
  const bool is_sound = Variable("IW_DSM_DIRECT").read(&options->is_direct, error) &&
                        Variable("IW_DSM_CHECK").read(&options->checks_pointers, error) &&
                        Variable("IW_DSM_PULL").read(&options->kept_diffs.are_pulled, error);
  if (!is_sound) return false;
  const Variable fetch("IW_DSM_FETCH");
  if (fetch.is_set()) {
    const std::string_view from = fetch.text();
    if (from != "home" && from != "writer") return fetch.refuse("home or writer", error);
    options->kept_diffs.are_read_at_writers = from == "writer";
  }
  const Variable trace("IW_DSM_TRACE");
  if (trace.is_set()) {
    // Each page is to be a message, as between machines. The replay knows no kept diffs.
    options->trace = trace.text();
    options->kept_diffs = {};
    options->is_direct = false;
  }
  if (diffs.is_set()) {
    const std::string_view way = diffs.text();
    if (way != "pipe" && way != "orig") return diffs.refuse("pipe or orig", error);
    options->diffs = way == "pipe" ? DiffWay::pipe : DiffWay::orig;
  }
  return true;
}

}  // namespace

bool Node::read_environment(Options* options, std::string* error) {
  constexpr std::uint64_t heap_most = std::uint64_t{1} << 46;
  constexpr std::uint64_t log_bytes_least = 4096;
  // An instruction, and what it calls, may need several pages at one time.
  constexpr std::uint64_t cached_pages_least = 64;
  std::uint64_t heap = options->heap.bytes, page = options->heap.page_bytes,
                buffer = options->buffer_bytes, depth = options->depth, log = options->log_bytes,
                cache = options->cache_bytes, fan_in = options->fan_in, locks = options->kept_locks,
                kept = options->kept_diffs.kept_bytes_most;
  const bool is_sound =
      Variable("IW_DSM_PAGE").read(4096, page_bytes_max, &page, error) &&
      Variable("IW_DSM_HEAP").read(page, heap_most, &heap, error) &&
      Variable("IW_DSM_BUFFER").read(buffer_bytes_least, buffer_bytes_most, &buffer, error) &&
      Variable("IW_DSM_DEPTH").read(1, depth_most, &depth, error) &&
      Variable("IW_DSM_LOG").read(log_bytes_least, heap_most, &log, error) &&
      Variable("IW_DSM_CACHE").read(cached_pages_least * page, heap_most, &cache, error) &&
      Variable("IW_DSM_FAN_IN").read(1, ranks_max, &fan_in, error) &&
      Variable("IW_DSM_LOCKS").read(1, heap_most, &locks, error) &&
      Variable("IW_DSM_KEEP").read(0, heap_most, &kept, error) && read_ways(options, error);
  if (!is_sound) return false;
  if ((page & (page - 1)) != 0) {
    return Variable("IW_DSM_PAGE").refuse("a power of two", error);
  }
  options->log_bytes = log;
  options->cache_bytes = cache;
  options->fan_in = static_cast<Rank>(fan_in);
  options->kept_locks = locks;
  options->kept_diffs.kept_bytes_most = kept;
  options->heap.page_bytes = page;
  options->heap.bytes = heap / page * page;
  options->buffer_bytes = buffer / 8 * 8;
  options->depth = static_cast<unsigned>(depth);
  return true;
}

}  // namespace iw::dsm
