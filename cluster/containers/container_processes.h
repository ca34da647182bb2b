// The common parts of the containers' tests: a name server, containers to share, and processes that
// read or write a container and obey orders.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <numeric>
#include <sstream>
#include <thread>

#include "containers/paper_string.h"
#include "testing/children.h"

namespace iw::containers_test {

using iw::testing::Child;
using Numbers = Vector<std::int64_t>;

// A container of objects, with the paper's three functions.
struct Bag : StandardContainer {
  OBJ_RETURN Insert(Ref first, Ref) override {
    objects.push_back(std::dynamic_pointer_cast<aString>(first));
    return OBJ_RETURN_SUCCESS;
  }
  OBJ_RETURN Delete(Ref first, Ref) override {
    const auto text = std::dynamic_pointer_cast<aString>(first)->text();
    objects.remove_if([&](const auto& each) { return each->text() == text; });
    return OBJ_RETURN_SUCCESS;
  }
  OBJ_RETURN Clear() override {
    objects.clear();
    return OBJ_RETURN_SUCCESS;
  }
  OBJ_RETURN Marshal(MarshalStream* stream) override {
    bool is_good = marshal(*stream, static_cast<std::uint32_t>(objects.size()));
    for (const auto& each : objects) is_good = is_good && marshal(*stream, *each);
    return is_good ? OBJ_RETURN_SUCCESS : OBJ_RETURN_FAIL;
  }
  OBJ_RETURN DeMarshal(DeMarshalStream* stream) override {
    std::size_t count = 0;
    objects.clear();
    if (!demarshal_count(*stream, &count)) return OBJ_RETURN_FAIL;
    for (; count > 0; count--) {
      objects.push_back(std::make_shared<aString>());
      if (!demarshal(*stream, objects.back().get())) return OBJ_RETURN_FAIL;
    }
    return OBJ_RETURN_SUCCESS;
  }
  std::list<std::shared_ptr<aString>> objects;
};

// A process that is only slow is not taken for dead.
inline Options quick() {
  Options options;
  options.ping_ms = 50;
  options.life_ms = 20000;
  options.gives_role = true;
  return options;
}
// A dead process is noticed while the test waits.
inline Options mortal() {
  Options options = quick();
  options.life_ms = 1500;
  return options;
}

inline std::string summary(const Numbers& numbers) {
  const auto& value = numbers.value();
  const auto sum = std::accumulate(value.begin(), value.end(), std::int64_t{0});
  return std::to_string(value.size()) + ":" + std::to_string(sum);
}

inline auto make_numbers(Factory& factory, const Options& options = quick()) {
  return factory.make_writer<Numbers>("numbers", std::make_shared<Numbers>(), options);
}

// The values, in their order.
inline std::string values(const Numbers& numbers) {
  std::string text;
  for (const auto each : numbers.value()) text += std::to_string(each) + " ";
  return text;
}

// These hold no view afterwards, so that none is held while a test waits for a reader.
inline std::string summary(const WriterContainer<Numbers>& writer) {
  return summary(*writer.read());
}
inline std::string values(const WriterContainer<Numbers>& writer) { return values(*writer.read()); }

// Waits until the condition holds. False: it does not after half a minute.
template <typename Condition>
bool eventually(Condition is_so) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // others need the cores
  }
  return true;
}

// Tries until making it throws no ContainerError. False: it still does after half a minute.
template <typename Make>
bool eventually_made(Make make) {
  return eventually([&] {
    try {
      make();
      return true;
    } catch (const ContainerError&) {
      return false;
    }
  });
}

// A name server in a process of its own, and this process's factory, over one transport.
class Containers : public ::testing::TestWithParam<const char*> {
 protected:
  Containers() {
    setenv("IW_FABRIC", GetParam(), 1);
    server.emplace("containers_names");
    setenv("IW_AMNS", server->line().hear_text().c_str(), 1);
    factory.emplace();
  }
  static std::string ask(const Child& child, const std::string& what) {
    child.line().say(what);
    return child.line().hear_text();
  }
  // Makes another factory, which waits only a second for the name server after it has met it.
  void become_impatient() {
    setenv("IW_AMNS_TIMEOUT_MS", "1000", 1);
    factory.reset();
    EXPECT_TRUE(eventually_made([&] { factory.emplace(); }));
    unsetenv("IW_AMNS_TIMEOUT_MS");
  }
  // Whether the writer pings the reader from now on.
  static bool is_pinged(const Child& reader) {
    const auto before = std::stoul(ask(reader, "pings"));
    return eventually([&] { return std::stoul(ask(reader, "pings")) >= before + 5; });
  }

  std::optional<Child> server;
  std::optional<Factory> factory;
};

}  // namespace iw::containers_test
