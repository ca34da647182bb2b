// Protocol Buffers: filled from the source's array into a message that keeps its memory,
// serialised; parsed into such a message, read into an array of the source's layout.
#include <cstdlib>

#include "shapes.pb.h"
#include "translate/system.h"

namespace bench {

namespace {

class Protobuf final : public System {
 public:
  explicit Protobuf(Shape shape)
      : sources_(shape), decoded_(shape), count_(element_count(shape)), sent_(1 << 22) {}

  double collect_us() override {
    const Source& from = sources_.next();
    return time_us([&] {
      outgoing_.Clear();
      encode(from);
      sent_bytes_ = outgoing_.ByteSizeLong();
      if (sent_bytes_ > sent_.size()) std::abort();
      outgoing_.SerializeWithCachedSizesToArray(sent_.data());
    });
  }
  double apply_us() override {
    return time_us([&] {
      if (!incoming_.ParseFromArray(sent_.data(), static_cast<int>(sent_bytes_))) std::abort();
      decode();
    });
  }
  void check() override { decoded_.check("protobuf", sources_.now()); }

 private:
  template <typename T>
  void add_numbers(google::protobuf::RepeatedField<T>& to, const T* from, std::size_t count) {
    to.Reserve(static_cast<int>(count));
    to.Add(from, from + count);
  }
  void encode(const Source& from) {
    const std::size_t size = element_bytes(from.shape());
    switch (from.shape()) {
      case Shape::int_array:
        return add_numbers(*outgoing_.mutable_int_array(), from.as<int>(), count_);
      case Shape::double_array:
        return add_numbers(*outgoing_.mutable_double_array(), from.as<double>(), count_);
      case Shape::int_struct:
        for (std::size_t i = 0; i < count_; ++i) {
          add_numbers(*outgoing_.add_int_struct()->mutable_x(), from.as<int>() + 32 * i, 32);
        }
        return;
      case Shape::double_struct:
        for (std::size_t i = 0; i < count_; ++i) {
          add_numbers(*outgoing_.add_double_struct()->mutable_x(), from.as<double>() + 32 * i, 32);
        }
        return;
      case Shape::string:
      case Shape::small_string:
        for (std::size_t i = 0; i < count_; ++i) {
          outgoing_.add_strings()->assign(from.as<char>() + i * size);
        }
        return;
      case Shape::pointer:
        for (std::size_t i = 0; i < count_; ++i) {
          outgoing_.add_pointers()->set_value(*from.as<int*>()[i]);
        }
        return;
      case Shape::int_double:
        for (std::size_t i = 0; i < count_; ++i) {
          pb::IntDouble& to = *outgoing_.add_int_double();
          to.set_i(from.as<int_double>()[i].i);
          to.set_d(from.as<int_double>()[i].d);
        }
        return;
      case Shape::mix:
        for (std::size_t i = 0; i < count_; ++i) encode(from.as<mixed>()[i]);
    }
  }
  void encode(const mixed& from) {
    pb::Mixed& to = *outgoing_.add_mix();
    to.set_i(from.i);
    to.set_d(from.d);
    to.mutable_text()->assign(from.text);
    to.mutable_word()->assign(from.word);
    to.mutable_pointer()->set_value(*from.pointer);
  }

  void decode() {
    int* pointee = decoded_.pointees();
    switch (sources_.now().shape()) {
      case Shape::int_array:
        std::memcpy(decoded_.as<int>(), incoming_.int_array().data(), count_ * sizeof(int));
        return;
      case Shape::double_array:
        std::memcpy(decoded_.as<double>(), incoming_.double_array().data(),
                    count_ * sizeof(double));
        return;
      case Shape::int_struct:
        for (auto* to = decoded_.as<ints_32>(); const pb::Ints& one : incoming_.int_struct()) {
          std::memcpy(to++, one.x().data(), sizeof(ints_32));
        }
        return;
      case Shape::double_struct:
        for (auto* to = decoded_.as<doubles_32>();
             const pb::Doubles& one : incoming_.double_struct()) {
          std::memcpy(to++, one.x().data(), sizeof(doubles_32));
        }
        return;
      case Shape::string:
        for (auto* to = decoded_.as<text_256>(); const std::string& one : incoming_.strings()) {
          store_text(*to++, one.data(), one.size());
        }
        return;
      case Shape::small_string:
        for (auto* to = decoded_.as<text_4>(); const std::string& one : incoming_.strings()) {
          store_text(*to++, one.data(), one.size());
        }
        return;
      case Shape::pointer:
        for (auto* to = decoded_.as<int*>(); const pb::Int& one : incoming_.pointers()) {
          *pointee = one.value();
          *to++ = pointee++;
        }
        return;
      case Shape::int_double:
        for (auto* to = decoded_.as<int_double>();
             const pb::IntDouble& one : incoming_.int_double()) {
          to->i = one.i();
          to++->d = one.d();
        }
        return;
      case Shape::mix:
        for (auto* to = decoded_.as<mixed>(); const pb::Mixed& one : incoming_.mix()) {
          decode(one, *to++, pointee++);
        }
    }
  }
  static void decode(const pb::Mixed& from, mixed& to, int* pointee) {
    to.i = from.i();
    to.d = from.d();
    store_text(to.text, from.text().data(), from.text().size());
    store_text(to.word, from.word().data(), from.word().size());
    *pointee = from.pointer().value();
    to.pointer = pointee;
  }

  Sources sources_;
  Decoded decoded_;
  std::size_t count_;
  std::vector<std::uint8_t> sent_;
  std::size_t sent_bytes_ = 0;
  pb::Message outgoing_, incoming_;
};

}  // namespace

std::unique_ptr<System> protobuf(Shape shape) { return std::make_unique<Protobuf>(shape); }

}  // namespace bench
