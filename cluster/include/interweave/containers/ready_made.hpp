// Containers that need no code of one's own: Vector, Map, Queue and Text.
#pragma once

#include "interweave/containers/functions.hpp"

namespace iw::containers {

// A container whose whole value is one marshallable value.
template <typename Value>
class ValueContainer : public StandardContainer {
 public:
  OBJ_RETURN Marshal(MarshalStream* stream) override {
    return marshal(*stream, value_) ? OBJ_RETURN_SUCCESS : OBJ_RETURN_FAIL;
  }
  OBJ_RETURN DeMarshal(DeMarshalStream* stream) override {
    return demarshal(*stream, &value_) ? OBJ_RETURN_SUCCESS : OBJ_RETURN_FAIL;
  }
  OBJ_RETURN Clear() override {
    value_ = {};
    return OBJ_RETURN_SUCCESS;
  }
  const Value& value() const { return value_; }

 protected:
  Value value_{};
};

// Positions past the end change nothing, so a writer's mistake does not damage the readers.
template <typename T>
class Vector : public ValueContainer<std::vector<T>> {
 public:
  void push_back(T element) { this->value_.push_back(std::move(element)); }
  void pop_back() {
    if (!this->value_.empty()) this->value_.pop_back();
  }
  void set(std::uint64_t at, T element) {
    if (at < this->value_.size()) this->value_[at] = std::move(element);
  }
  void insert(std::uint64_t at, T element) {
    if (at <= this->value_.size()) this->value_.insert(position(at), std::move(element));
  }
  void erase(std::uint64_t at) {
    if (at < this->value_.size()) this->value_.erase(position(at));
  }
  static void list(Functions<Vector>& functions) {
    functions.template add<&Vector::push_back>(1)
        .template add<&Vector::pop_back>(2)
        .template add<&Vector::set>(3)
        .template add<&Vector::insert>(4)
        .template add<&Vector::erase>(5);
  }

 private:
  auto position(std::uint64_t at) { return this->value_.begin() + static_cast<std::ptrdiff_t>(at); }
};

template <typename K, typename V>
class Map : public ValueContainer<std::map<K, V>> {
 public:
  void set(K key, V value) { this->value_.insert_or_assign(std::move(key), std::move(value)); }
  void erase(K key) { this->value_.erase(key); }
  static void list(Functions<Map>& functions) {
    functions.template add<&Map::set>(1).template add<&Map::erase>(2);
  }
};

template <typename T>
class Queue : public ValueContainer<std::deque<T>> {
 public:
  void push(T element) { this->value_.push_back(std::move(element)); }
  void pop() {
    if (!this->value_.empty()) this->value_.pop_front();
  }
  static void list(Functions<Queue>& functions) {
    functions.template add<&Queue::push>(1).template add<&Queue::pop>(2);
  }
};

class Text : public ValueContainer<std::string> {
 public:
  void append(std::string more) { value_ += more; }
  // `count` characters from `at` become `with`.
  void replace(std::uint64_t at, std::uint64_t count, std::string with) {
    if (at <= value_.size()) value_.replace(at, count, with);
  }
  static void list(Functions<Text>& functions) {
    functions.add<&Text::append>(1).add<&Text::replace>(2);
  }
};

}  // namespace iw::containers
