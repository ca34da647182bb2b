// A callee that is reached by Sun RPC over TCP, with rpcgen's client functions.
#pragma once

#include "caller/callee.h"

namespace stock {

class SunRpcCallee final : public Callee {
 public:
  explicit SunRpcCallee(const std::string& address);
  ~SunRpcCallee() override;

  receipt restock(const std::string& root_mip, const restock_order& order) override;
  receipt introduce(const std::string& root_mip, int number, double price,
                    const std::string& name) override;
  receipt restock_copy(PartCopy& parts, const restock_order& order) override;
  [[nodiscard]] std::uint64_t bytes() const override;

 private:
  template <typename Argument>
  receipt call(clnt_stat (*function)(Argument*, answer*, CLIENT*), Argument argument);

  std::string address_;
  int fd_ = -1;
  CLIENT* client_ = nullptr;
};

}  // namespace stock
