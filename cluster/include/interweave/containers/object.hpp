// What can be shared and shipped: Object, the streams it is marshalled through, StandardContainer.
//
// The names and the code of section 4.1 of the paper "Active Containers" hold here as printed.
// Where the paper has a conservative garbage collector, objects are owned by std::shared_ptr: the
// writer's program and its container may both refer to an object, and each reader has a copy of its
// own that nothing refers to but the reader's container and who took a Ref from it. So a copy goes
// when the container lets go of it, at that moment and not at some later collection, whether or not
// the writer's program keeps the original; and nothing that looks like a pointer keeps it alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <typeindex>
#include <vector>

namespace iw::containers {

enum OBJ_RETURN { OBJ_RETURN_SUCCESS = 0, OBJ_RETURN_FAIL = 1 };

// Bytes of an object on their way out. Each full buffer goes to the sink; finish() sends the last
// one, which is shorter than the others and may be empty: that ends the object.
class MarshalStream {
 public:
  static constexpr std::size_t buffer_bytes = 16384;
  using Sink = std::function<void(std::vector<std::byte> buffer)>;
  explicit MarshalStream(Sink sink) : sink_(std::move(sink)) {}
  // Returns how many were written: all, or 0 if `count` is not from 1 to INT_MAX.
  int WriteBytes(const void* bytes, long count);
  void finish();

 private:
  Sink sink_;
  std::vector<std::byte> buffer_;
};

// Bytes of an object as they came: buffers in a row.
class DeMarshalStream {
 public:
  using Buffers = std::vector<std::vector<std::byte>>;
  explicit DeMarshalStream(const Buffers& buffers);
  // Returns how many were read: fewer than `count` at the end, 0 if `count` is not
  // from 1 to INT_MAX.
  int ReadBytes(void* bytes, long count);
  std::size_t left() const { return left_; }

 private:
  const Buffers& buffers_;
  std::size_t buffer_ = 0, offset_ = 0, left_ = 0;
};

class Object {
 public:
  virtual ~Object() = default;
  virtual OBJ_RETURN Marshal(MarshalStream* stream) = 0;
  // What it reads comes from another process: a length is to be compared with what it is for.
  virtual OBJ_RETURN DeMarshal(DeMarshalStream* stream) = 0;
};

using Ref = std::shared_ptr<Object>;

// The three functions that every container ships, with at most two arguments. A container that has
// other functions (Functions<C>) need not have these.
class StandardContainer : public Object {
 public:
  virtual OBJ_RETURN Insert(Ref first, Ref second = nullptr);
  virtual OBJ_RETURN Delete(Ref first, Ref second = nullptr);
  virtual OBJ_RETURN Clear();
};

// Kinds of objects that travel as a Ref: both sides register them by the same name. False: the
// name is another type's.
bool register_object(const std::string& name, std::type_index type, std::function<Ref()> make);
template <typename T>
bool register_object(const std::string& name) {
  return register_object(name, typeid(T), [] { return std::make_shared<T>(); });
}
bool marshal_ref(MarshalStream& stream, const Ref& object);
bool demarshal_ref(DeMarshalStream& stream, Ref* object);

}  // namespace iw::containers
