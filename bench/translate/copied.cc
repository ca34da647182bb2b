#include <cstring>
#include <vector>

#include "translate/system.h"

namespace bench {

namespace {

class Copied final : public System {
 public:
  explicit Copied(Shape shape)
      : sources_(shape), sent_(sources_.now().size_bytes()), got_(sent_.size()) {}

  double collect_us() override {
    const Source& from = sources_.next();
    return time_us([&] { std::memcpy(sent_.data(), from.bytes(), sent_.size()); });
  }
  double apply_us() override {
    return time_us([&] { std::memcpy(got_.data(), sent_.data(), sent_.size()); });
  }
  void check() override { sources_.now().expect_equal("memcpy", got_.data(), nullptr); }

 private:
  Sources sources_;
  std::vector<std::byte> sent_, got_;
};

}  // namespace

std::unique_ptr<System> copied(Shape shape) { return std::make_unique<Copied>(shape); }

}  // namespace bench
