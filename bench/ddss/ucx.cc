// The bare transport library: what a program that knows nothing but UCX would do. A put is flushed:
// before that it need not be at its target.
#include <sched.h>

#include <cstdio>
#include <cstring>

#include "ddss/measures.h"
#include "harness/bare_ucx.h"

namespace bench {
namespace {

class Bare {
 public:
  Bare(const std::string& transport, bool is_blocking)
      : worker_(transport == "shm" ? "self,sysv,cma" : "self,tcp", UCP_FEATURE_RMA, is_blocking) {}

  // The target's: what others need, as hexadecimal text.
  std::string offer() {
    ucp_mem_map_params_t params{};
    params.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
    params.length = sizes.back();
    params.flags = UCP_MEM_MAP_ALLOCATE;
    ucp_mem_h memory = nullptr;
    check(ucp_mem_map(worker_.context(), &params, &memory), "ucp_mem_map");
    ucp_mem_attr_t attributes{};
    attributes.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
    check(ucp_mem_query(memory, &attributes), "ucp_mem_query");
    void* key = nullptr;
    std::size_t key_bytes = 0;
    check(ucp_rkey_pack(worker_.context(), memory, &key, &key_bytes), "ucp_rkey_pack");
    const Lengths lengths{reinterpret_cast<std::uintptr_t>(attributes.address), key_bytes};
    std::string all(reinterpret_cast<const char*>(&lengths), sizeof lengths);
    all.append(static_cast<const char*>(key), key_bytes);
    all.append(worker_.address());
    std::string text;
    for (const unsigned char c : all) text += format("%02x", c);
    return text;
  }

  void connect(const std::string& text) {
    std::string all;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
      all += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
    }
    Lengths lengths;
    std::memcpy(&lengths, all.data(), sizeof lengths);
    remote_ = lengths.address;
    endpoint_ = worker_.connect(all.data() + sizeof lengths + lengths.key_bytes);
    check(ucp_ep_rkey_unpack(endpoint_, all.data() + sizeof lengths, &key_), "ucp_ep_rkey_unpack");
  }

  void put(const std::vector<char>& from) {
    ucp_request_param_t param{};
    finish(ucp_put_nbx(endpoint_, from.data(), from.size(), remote_, key_, &param));
    finish(ucp_ep_flush_nbx(endpoint_, &param));
  }

  void get(std::vector<char>* to) {
    ucp_request_param_t param{};
    finish(ucp_get_nbx(endpoint_, to->data(), to->size(), remote_, key_, &param));
  }

  void serve() {
    for (;;) turn();
  }

 private:
  struct Lengths {
    std::uint64_t address;
    std::uint64_t key_bytes;
  };

  void finish(ucs_status_ptr_t posted) {
    if (!UCS_PTR_IS_PTR(posted)) return check(UCS_PTR_STATUS(posted), "put or get");
    while (ucp_request_check_status(posted) == UCS_INPROGRESS) turn();
    check(ucp_request_check_status(posted), "put or get");
    ucp_request_free(posted);
  }

  void turn() {
    // The other may have no processor but this one.
    if (!worker_.turn() && !worker_.is_blocking()) sched_yield();
  }

  const BareWorker worker_;
  ucp_ep_h endpoint_ = nullptr;
  ucp_rkey_h key_ = nullptr;
  std::uint64_t remote_ = 0;
};

ChildServer bare_target(const Case& measured) {
  const std::string role = measured.is_blocking ? "ucx-blocking" : "ucx-polling";
  return ChildServer::listening({"/proc/self/exe", role, measured.transport});
}

}  // namespace

int run_ucx(const std::string& transport, bool is_blocking) {
  Bare bare(transport, is_blocking);
  std::printf("listening %s\n", bare.offer().c_str());
  std::fflush(stdout);
  bare.serve();
  return 0;
}

double ucx_get_us(const Case& measured, std::size_t bytes) {
  const ChildServer other = bare_target(measured);
  Bare bare(measured.transport, measured.is_blocking);
  bare.connect(other.address());
  std::vector<char> got(bytes);
  return measure([&] { bare.get(&got); });
}

void measure_ucx(const Case& measured, Table* table) {
  const ChildServer other = bare_target(measured);
  Bare bare(measured.transport, measured.is_blocking);
  bare.connect(other.address());
  for (const std::size_t bytes : sizes) {
    const std::vector<char> sent(bytes, 'x');
    std::vector<char> got(bytes);
    const double put_us = measure([&] { bare.put(sent); });
    const double get_us = measure([&] { bare.get(&got); });
    if (got != sent) fail("what was put is not what is got");
    table->row("put", "null", bytes, measured, "ucx", put_us);
    table->row("get", "null", bytes, measured, "ucx", get_us);
  }
}

}  // namespace bench
