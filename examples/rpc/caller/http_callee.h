// A callee that is reached by HTTP: a form is posted to /restock or /introduce and a form comes
// back, as `visited=1000&ordered=12`, or a line that says why not.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "caller/callee.h"

namespace stock {

class HttpCallee final : public Callee {
 public:
  explicit HttpCallee(std::string address);  // http://HOST:PORT
  ~HttpCallee() override;

  receipt restock(const std::string& root_mip, const restock_order& order) override;
  receipt introduce(const std::string& root_mip, int number, double price,
                    const std::string& name) override;
  [[nodiscard]] std::uint64_t bytes() const override { return bytes_; }

 private:
  using Form = std::vector<std::pair<const char*, std::string>>;
  receipt post(const std::string& path, const Form& form);

  std::string address_;
  void* curl_;  // keeps its connection from call to call
  std::uint64_t bytes_ = 0;
};

}  // namespace stock
