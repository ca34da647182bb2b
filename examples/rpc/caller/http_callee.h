// A callee that is reached by HTTP. By reference a form is posted to /restock or /introduce and a
// form comes back, as `visited=1000&ordered=12`; by copy JSON is posted to /restock_copy and JSON
// comes back (json_stock.h). Or a line comes back that says why not.
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
  receipt restock_copy(PartCopy& parts, const restock_order& order) override;
  [[nodiscard]] std::uint64_t bytes() const override { return bytes_before_ + bytes_; }

 private:
  using Form = std::vector<std::pair<const char*, std::string>>;
  receipt post_form(const std::string& path, const Form& form);
  // Gives what came back.
  std::string post(const std::string& path, const char* content_type, const std::string& body);
  void count_bytes();

  std::string address_;
  void* curl_;                      // keeps its connection from call to call
  std::uint64_t bytes_before_ = 0;  // of connections that have ended
  std::uint64_t bytes_ = 0;         // of this one
};

}  // namespace stock
