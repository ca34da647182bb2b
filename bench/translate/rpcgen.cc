// Sun RPC's marshaling, by the routines that rpcgen makes of shapes.x: an array as RPC arguments
// are sent, with strings and pointees in memory of their own. Decoding allocates, as it does for an
// RPC; what it allocated is freed outside of the time.
#include <pthread.h>
#include <rpc/rpc.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "translate/system.h"

// The types have the names of InterWeave's and another layout.
namespace rpc {
#include "rpc_shapes.h"
}

namespace bench {

namespace {

struct Element {
  xdrproc_t translate;
  u_int size_bytes;
};

template <typename F>
xdrproc_t as_xdrproc(F* f) {
  return reinterpret_cast<xdrproc_t>(f);
}

Element element_of(Shape shape) {
  switch (shape) {
    case Shape::int_array:
      return {as_xdrproc(xdr_int), sizeof(int)};
    case Shape::double_array:
      return {as_xdrproc(xdr_double), sizeof(double)};
    case Shape::int_struct:
      return {as_xdrproc(rpc::xdr_ints_32), sizeof(rpc::ints_32)};
    case Shape::double_struct:
      return {as_xdrproc(rpc::xdr_doubles_32), sizeof(rpc::doubles_32)};
    case Shape::string:
      return {as_xdrproc(rpc::xdr_text_256), sizeof(rpc::text_256)};
    case Shape::small_string:
      return {as_xdrproc(rpc::xdr_text_4), sizeof(rpc::text_4)};
    case Shape::pointer:
      return {as_xdrproc(rpc::xdr_int_pointer), sizeof(rpc::int_pointer)};
    case Shape::int_double:
      return {as_xdrproc(rpc::xdr_int_double), sizeof(rpc::int_double)};
    case Shape::mix:
      break;
  }
  return {as_xdrproc(rpc::xdr_mixed), sizeof(rpc::mixed)};
}

// The values of a source in rpcgen's local form, which refers to the source's texts and ints.
std::vector<char> local_form(const Source& source) {
  const std::size_t count = element_count(source.shape());
  std::vector<char> local(count * element_of(source.shape()).size_bytes);
  char** const texts = reinterpret_cast<char**>(local.data());
  switch (source.shape()) {
    case Shape::string:
      for (std::size_t i = 0; i < count; ++i) {
        texts[i] = const_cast<char*>(source.as<text_256>()[i]);
      }
      break;
    case Shape::small_string:
      for (std::size_t i = 0; i < count; ++i) texts[i] = const_cast<char*>(source.as<text_4>()[i]);
      break;
    case Shape::mix:
      for (std::size_t i = 0; i < count; ++i) {
        const mixed& from = source.as<mixed>()[i];
        reinterpret_cast<rpc::mixed*>(local.data())[i] = {
            from.i, from.d, const_cast<char*>(from.text), const_cast<char*>(from.word),
            from.pointer};
      }
      break;
    default:
      std::memcpy(local.data(), source.bytes(), source.size_bytes());
  }
  return local;
}

class Rpcgen final : public System {
 public:
  explicit Rpcgen(Shape shape)
      : sources_(shape),
        element_(element_of(shape)),
        count_(static_cast<u_int>(element_count(shape))),
        local_{local_form(sources_.values[0]), local_form(sources_.values[1])},
        sent_(4 * kMiB) {}

  ~Rpcgen() override { free_decoded(); }

  double collect_us() override {
    sources_.next();
    char* array = local_[sources_.turn].data();
    return time_us([&] { sent_bytes_ = translate(XDR_ENCODE, array); });
  }

  double apply_us() override {
    free_decoded();
    return time_us([&] { translate(XDR_DECODE, decoded_); });
  }

  void check() override {
    const Source& sent = sources_.now();
    std::vector<std::byte> array(sent.size_bytes());
    for (u_int i = 0; i < count_; ++i) {
      std::byte* const to = array.data() + i * element_bytes(sent.shape());
      const char* const from = decoded_ + i * element_.size_bytes;
      if (sent.shape() == Shape::string || sent.shape() == Shape::small_string) {
        std::strcpy(reinterpret_cast<char*>(to), *reinterpret_cast<char* const*>(from));
      } else if (sent.shape() == Shape::mix) {
        const auto& got = *reinterpret_cast<const rpc::mixed*>(from);
        auto& one = *reinterpret_cast<mixed*>(to);
        one.i = got.i;
        one.d = got.d;
        std::strcpy(one.text, got.text);
        std::strcpy(one.word, got.word);
        one.pointer = got.pointer;
      } else {
        std::memcpy(to, from, element_.size_bytes);
      }
    }
    sent.expect_equal("rpcgen", array.data(), nullptr);
  }

 private:
  static constexpr std::size_t kMiB = std::size_t{1} << 20;

  u_int translate(xdr_op operation, char*& array) {
    XDR xdr;
    xdrmem_create(&xdr, sent_.data(), static_cast<u_int>(sent_.size()), operation);
    u_int count = count_;
    if (!xdr_array(&xdr, &array, &count, ~0u, element_.size_bytes, element_.translate) ||
        count != count_) {
      std::abort();
    }
    const u_int bytes = xdr_getpos(&xdr);
    xdr_destroy(&xdr);
    return bytes;
  }

  void free_decoded() {
    if (decoded_ == nullptr) return;
    XDR xdr;
    xdr.x_op = XDR_FREE;
    u_int count = count_;
    xdr_array(&xdr, &decoded_, &count, ~0u, element_.size_bytes, element_.translate);
    decoded_ = nullptr;
  }

  Sources sources_;
  Element element_;
  u_int count_;
  std::vector<char> local_[2];
  std::vector<char> sent_;
  u_int sent_bytes_ = 0;
  char* decoded_ = nullptr;
};

}  // namespace

std::unique_ptr<System> rpcgen(Shape shape) { return std::make_unique<Rpcgen>(shape); }

}  // namespace bench
