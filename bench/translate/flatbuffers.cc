// FlatBuffers: a message built anew each time in a builder that keeps its memory, verified and then
// read into an array of the source's layout.
#include <cstdlib>

#include "shapes_generated.h"
#include "translate/system.h"

namespace bench {

namespace {

using Builder = flatbuffers::FlatBufferBuilder;

class FlatBuffers final : public System {
 public:
  explicit FlatBuffers(Shape shape) : sources_(shape), decoded_(shape), builder_(1 << 22) {}

  double collect_us() override {
    const Source& from = sources_.next();
    return time_us([&] {
      builder_.Clear();
      encode(from);
    });
  }
  double apply_us() override {
    return time_us([&] {
      flatbuffers::Verifier verifier(builder_.GetBufferPointer(), builder_.GetSize(), 64, 10000000);
      if (!verifier.VerifyBuffer<fb::Message>(nullptr)) std::abort();
      decode(*flatbuffers::GetRoot<fb::Message>(builder_.GetBufferPointer()));
    });
  }
  void check() override { decoded_.check("flatbuffers", sources_.now()); }

 private:
  template <typename T, typename As>
  flatbuffers::Offset<flatbuffers::Vector<const As*>> structs(const Source& from) {
    static_assert(sizeof(T) == sizeof(As));
    return builder_.CreateVectorOfStructs(from.as<As>(), count_);
  }
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>> strings(
      const Source& from) {
    const std::size_t size = element_bytes(from.shape());
    offsets_.clear();
    for (std::size_t i = 0; i < count_; ++i) {
      offsets_.push_back(builder_.CreateString(from.as<char>() + i * size).o);
    }
    return builder_.CreateVector(
        reinterpret_cast<const flatbuffers::Offset<flatbuffers::String>*>(offsets_.data()), count_);
  }
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::Pointer>>> pointers(
      const Source& from) {
    offsets_.clear();
    for (std::size_t i = 0; i < count_; ++i) {
      const fb::Int pointee(*from.as<int*>()[i]);
      offsets_.push_back(fb::CreatePointer(builder_, &pointee).o);
    }
    return builder_.CreateVector(
        reinterpret_cast<const flatbuffers::Offset<fb::Pointer>*>(offsets_.data()), count_);
  }
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::Mixed>>> mix(const Source& from) {
    offsets_.clear();
    for (std::size_t i = 0; i < count_; ++i) {
      const mixed& one = from.as<mixed>()[i];
      const fb::Int pointee(*one.pointer);
      const auto text = builder_.CreateString(one.text);
      const auto word = builder_.CreateString(one.word);
      offsets_.push_back(fb::CreateMixed(builder_, one.i, one.d, text, word, &pointee).o);
    }
    return builder_.CreateVector(
        reinterpret_cast<const flatbuffers::Offset<fb::Mixed>*>(offsets_.data()), count_);
  }

  template <typename V, typename Add>
  void finish(V vector, Add add) {
    fb::MessageBuilder message(builder_);
    (message.*add)(vector);
    builder_.Finish(message.Finish());
  }
  void encode(const Source& from) {
    using M = fb::MessageBuilder;
    switch (from.shape()) {
      case Shape::int_array:
        return finish(builder_.CreateVector(from.as<int>(), count_), &M::add_int_array);
      case Shape::double_array:
        return finish(builder_.CreateVector(from.as<double>(), count_), &M::add_double_array);
      case Shape::int_struct:
        return finish(structs<ints_32, fb::Ints>(from), &M::add_int_struct);
      case Shape::double_struct:
        return finish(structs<doubles_32, fb::Doubles>(from), &M::add_double_struct);
      case Shape::string:
      case Shape::small_string:
        return finish(strings(from), &M::add_strings);
      case Shape::pointer:
        return finish(pointers(from), &M::add_pointers);
      case Shape::int_double:
        return finish(structs<int_double, fb::IntDouble>(from), &M::add_int_double);
      case Shape::mix:
        return finish(mix(from), &M::add_mix);
    }
  }

  // Little-endian numbers and structs lie in the message as they do in memory.
  template <typename V>
  void copy(const V& vector) {
    std::memcpy(decoded_.as<std::byte>(), vector.Data(),
                vector.size() * element_bytes(sources_.now().shape()));
  }
  void decode(const fb::Message& from) {
    switch (sources_.now().shape()) {
      case Shape::int_array:
        return copy(*from.int_array());
      case Shape::double_array:
        return copy(*from.double_array());
      case Shape::int_struct:
        return copy(*from.int_struct());
      case Shape::double_struct:
        return copy(*from.double_struct());
      case Shape::int_double:
        return copy(*from.int_double());
      case Shape::string:
        for (auto* to = decoded_.as<text_256>(); const auto* one : *from.strings()) {
          store_text(*to++, one->c_str(), one->size());
        }
        return;
      case Shape::small_string:
        for (auto* to = decoded_.as<text_4>(); const auto* one : *from.strings()) {
          store_text(*to++, one->c_str(), one->size());
        }
        return;
      case Shape::pointer: {
        int* pointee = decoded_.pointees();
        for (auto* to = decoded_.as<int*>(); const auto* one : *from.pointers()) {
          *pointee = one->to()->value();
          *to++ = pointee++;
        }
        return;
      }
      case Shape::mix:
        return decode_mix(*from.mix());
    }
  }
  void decode_mix(const flatbuffers::Vector<flatbuffers::Offset<fb::Mixed>>& from) {
    int* pointee = decoded_.pointees();
    for (auto* to = decoded_.as<mixed>(); const auto* one : from) {
      to->i = one->i();
      to->d = one->d();
      store_text(to->text, one->text()->c_str(), one->text()->size());
      store_text(to->word, one->word()->c_str(), one->word()->size());
      *pointee = one->pointer()->value();
      to++->pointer = pointee++;
    }
  }

  Sources sources_;
  Decoded decoded_;
  Builder builder_;
  std::size_t count_ = element_count(sources_.now().shape());
  std::vector<flatbuffers::uoffset_t> offsets_;
};

}  // namespace

std::unique_ptr<System> flatbuffers(Shape shape) { return std::make_unique<FlatBuffers>(shape); }

}  // namespace bench
