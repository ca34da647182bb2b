// Cap'n Proto: a message built anew each time in a first segment that is kept, gathered into one
// array, and read from there into an array of the source's layout.
#include <capnp/message.h>
#include <capnp/serialize.h>

#include <cstdlib>
#include <optional>

#include "shapes.capnp.h"
#include "translate/system.h"

namespace bench {

namespace {

class CapnProto final : public System {
 public:
  explicit CapnProto(Shape shape)
      : sources_(shape),
        decoded_(shape),
        count_(static_cast<unsigned>(element_count(shape))),
        first_(kWords),
        sent_(kWords) {}

  double collect_us() override {
    const Source& from = sources_.next();
    return time_us([&] {
      // The builder wants zeros, and leaves zeros behind.
      capnp::MallocMessageBuilder builder(kj::arrayPtr(first_.data(), first_.size()));
      encode(from, builder.initRoot<cp::Message>());
      kj::ArrayOutputStream to(kj::arrayPtr(reinterpret_cast<kj::byte*>(sent_.data()),
                                            sent_.size() * sizeof(capnp::word)));
      capnp::writeMessage(to, builder);
    });
  }
  double apply_us() override {
    return time_us([&] {
      capnp::ReaderOptions options;
      options.traversalLimitInWords = std::uint64_t{1} << 40;
      capnp::FlatArrayMessageReader reader(kj::arrayPtr(sent_.data(), sent_.size()), options);
      decode(reader.getRoot<cp::Message>());
    });
  }
  void check() override { decoded_.check("capnproto", sources_.now()); }

 private:
  static constexpr std::size_t kWords = (std::size_t{8} << 20) / sizeof(capnp::word);

  template <typename T, typename List>
  static void set_numbers(List to, const T* from, unsigned count) {
    for (unsigned i = 0; i < count; ++i) to.set(i, from[i]);
  }
  void encode(const Source& from, cp::Message::Builder to) {
    const std::size_t size = element_bytes(from.shape());
    switch (from.shape()) {
      case Shape::int_array:
        return set_numbers(to.initIntArray(count_), from.as<int>(), count_);
      case Shape::double_array:
        return set_numbers(to.initDoubleArray(count_), from.as<double>(), count_);
      case Shape::int_struct: {
        unsigned i = 0;
        for (auto one : to.initIntStruct(count_)) {
          set_numbers(one.initX(32), from.as<int>() + 32 * i++, 32);
        }
        return;
      }
      case Shape::double_struct: {
        unsigned i = 0;
        for (auto one : to.initDoubleStruct(count_)) {
          set_numbers(one.initX(32), from.as<double>() + 32 * i++, 32);
        }
        return;
      }
      case Shape::string:
      case Shape::small_string: {
        auto strings = to.initStrings(count_);
        for (unsigned i = 0; i < count_; ++i) strings.set(i, from.as<char>() + i * size);
        return;
      }
      case Shape::pointer: {
        int* const* pointer = from.as<int*>();
        for (auto one : to.initPointers(count_)) one.initTo().setValue(**pointer++);
        return;
      }
      case Shape::int_double: {
        const auto* value = from.as<int_double>();
        for (auto one : to.initIntDouble(count_)) {
          one.setI(value->i);
          one.setD(value++->d);
        }
        return;
      }
      case Shape::mix: {
        const auto* value = from.as<mixed>();
        for (auto one : to.initMix(count_)) encode(*value++, one);
      }
    }
  }
  static void encode(const mixed& from, cp::Mixed::Builder to) {
    to.setI(from.i);
    to.setD(from.d);
    to.setText(from.text);
    to.setWord(from.word);
    to.initPointer().setValue(*from.pointer);
  }

  template <typename T, typename List>
  static T* get_numbers(T* to, List from) {
    for (unsigned i = 0, count = from.size(); i < count; ++i) to[i] = from[i];
    return to + from.size();
  }
  void decode(cp::Message::Reader from) {
    int* pointee = decoded_.pointees();
    switch (sources_.now().shape()) {
      case Shape::int_array:
        get_numbers(decoded_.as<int>(), from.getIntArray());
        return;
      case Shape::double_array:
        get_numbers(decoded_.as<double>(), from.getDoubleArray());
        return;
      case Shape::int_struct:
        for (auto* to = decoded_.as<int>(); auto one : from.getIntStruct()) {
          to = get_numbers(to, one.getX());
        }
        return;
      case Shape::double_struct:
        for (auto* to = decoded_.as<double>(); auto one : from.getDoubleStruct()) {
          to = get_numbers(to, one.getX());
        }
        return;
      case Shape::string:
        for (auto* to = decoded_.as<text_256>(); auto one : from.getStrings()) {
          store_text(*to++, one.cStr(), one.size());
        }
        return;
      case Shape::small_string:
        for (auto* to = decoded_.as<text_4>(); auto one : from.getStrings()) {
          store_text(*to++, one.cStr(), one.size());
        }
        return;
      case Shape::pointer:
        for (auto* to = decoded_.as<int*>(); auto one : from.getPointers()) {
          *pointee = one.getTo().getValue();
          *to++ = pointee++;
        }
        return;
      case Shape::int_double:
        for (auto* to = decoded_.as<int_double>(); auto one : from.getIntDouble()) {
          to->i = one.getI();
          to++->d = one.getD();
        }
        return;
      case Shape::mix:
        for (auto* to = decoded_.as<mixed>(); auto one : from.getMix()) {
          decode(one, *to++, pointee++);
        }
    }
  }
  static void decode(cp::Mixed::Reader from, mixed& to, int* pointee) {
    to.i = from.getI();
    to.d = from.getD();
    store_text(to.text, from.getText().cStr(), from.getText().size());
    store_text(to.word, from.getWord().cStr(), from.getWord().size());
    *pointee = from.getPointer().getValue();
    to.pointer = pointee;
  }

  Sources sources_;
  Decoded decoded_;
  unsigned count_;
  std::vector<capnp::word> first_, sent_;
};

}  // namespace

std::unique_ptr<System> capnproto(Shape shape) { return std::make_unique<CapnProto>(shape); }

}  // namespace bench
