#include "fabric/rendezvous.h"

#include <cstdlib>

#include "fabric/rendezvous_means.h"

namespace iw::fabric {
namespace {

class Alone final : public Rendezvous {
 public:
  Status exchange(Bytes mine, Deadline, std::vector<std::vector<std::byte>>* everybodys) override {
    everybodys->assign(1, {mine.begin(), mine.end()});
    return Status::ok;
  }
};

bool read_number(const char* name, unsigned* number) {
  const char* text = std::getenv(name);
  if (text == nullptr) return false;
  char* end = nullptr;
  const unsigned long value = std::strtoul(text, &end, 10);
  *number = static_cast<unsigned>(value);
  return end != text && *end == '\0' && value < 65536;
}

}  // namespace

std::unique_ptr<Rendezvous> Rendezvous::open(Deadline deadline, std::string* error) {
  const char* set = std::getenv("IW_RENDEZVOUS");
  if (set == nullptr) {
    if (std::getenv("PMIX_RANK") != nullptr) return meet_by_pmix(deadline, error);
    return std::make_unique<Alone>();
  }
  const std::string means = set;
  unsigned rank = 0, size = 0;
  if (!read_number("IW_RANK", &rank) || !read_number("IW_SIZE", &size) || rank >= size) {
    *error = "IW_RENDEZVOUS needs IW_RANK and IW_SIZE, the rank below the size";
    return nullptr;
  }
  if (means.starts_with("file:")) return meet_by_files(means.substr(5), rank, size, error);
  if (means.starts_with("tcp:")) return meet_by_tcp(means.substr(4), rank, size, deadline, error);
  *error = "IW_RENDEZVOUS must be tcp:HOST:PORT or file:DIRECTORY, and is " + means;
  return nullptr;
}

}  // namespace iw::fabric
