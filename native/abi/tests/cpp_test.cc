// The C++ interface against the real server.
#include <gtest/gtest.h>

#include <cstddef>
#include <interweave.hpp>
#include <optional>
#include <string>

#include "abi/tests/ear.h"
#include "abi/tests/server_process.h"

namespace iw::test {
namespace {

TEST(Cpp, AReleasedWriteLockCommits) {
  const Server server;
  ASSERT_TRUE(server.good());
  const Segment segment(server.url("/cpp"));
  {
    WriteLock lock(segment);
    make<double>(segment, "values", 10)[3] = 2.5;
    lock.release();
  }
  EXPECT_EQ(segment.version(), 1u);
  const ReadLock lock(segment);
  const auto* const values = segment.find<double>("values");
  ASSERT_NE(values, nullptr);
  EXPECT_EQ(values[3], 2.5);
  EXPECT_EQ(segment.find<double>("other"), nullptr);
}

TEST(Cpp, WriteCommitsAndReturnsAndAnExceptionUndoes) {
  const Server server;
  ASSERT_TRUE(server.good());
  const Segment segment(server.url("/cpp"));
  EXPECT_EQ(write(segment, [&] { return *find_or_make<int>(segment, "count") += 2; }), 2);
  write(segment, [&] { *find_or_make<int>(segment, "count") += 3; });
  EXPECT_THROW(write(segment,
                     [&] {
                       *find_or_make<int>(segment, "count") = 9;
                       throw std::runtime_error("no");
                     }),
               std::runtime_error);
  EXPECT_EQ(read(segment, [&] { return *segment.find<int>("count"); }), 5);
  EXPECT_EQ(segment.version(), 2u);
}

TEST(Cpp, FindOrMakeRefusesAnotherTypeOrNumber) {
  const Server server;
  ASSERT_TRUE(server.good());
  const Segment segment(server.url("/cpp"));
  WriteLock lock(segment);
  int* const row = find_or_make<int>(segment, "row", 3);
  EXPECT_EQ(find_or_make<int>(segment, "row", 3), row);
  for (const auto& ask : {+[](const Segment& s) { find_or_make<int>(s, "row", 4); },
                          +[](const Segment& s) { find_or_make<unsigned>(s, "row", 3); }}) {
    try {
      ask(segment);
      ADD_FAILURE() << "it was found as something else";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), IW_ETYPE_CONFLICT);
      EXPECT_NE(std::string(error.what()).find("'row' is 3 of int"), std::string::npos)
          << error.what();
    }
  }
  lock.abort();
}

TEST(Cpp, BlocksAreWalkedAndRowsAreSpans) {
  const Server server;
  ASSERT_TRUE(server.good());
  const Segment segment(server.url("/cpp"));
  write(segment, [&] {
    make<double>(segment, "row", 4)[3] = 1.5;
    make<int>(segment);
  });
  const ReadLock lock(segment);
  std::string seen;
  for (const IW_block_t& block : blocks(segment)) {
    seen += std::string(block.name) + ":" + std::to_string(block.count) + " ";
  }
  EXPECT_EQ(seen, "row:4 :1 ");
  double sum = 0;
  for (const double value : values<const double>(segment, "row")) sum += value;
  EXPECT_EQ(sum, 1.5);
  EXPECT_EQ(values<double>(segment, "row").size(), 4u);
  EXPECT_TRUE(values<double>(segment, "none").empty());
}

TEST(Cpp, AForgottenReleaseIsSaidAndAnExceptionIsNot) {
  const Server server;
  ASSERT_TRUE(server.good());
  const Segment segment(server.url("/cpp"));
  std::string said;
  IW_set_log([](int, const char* text, void* to) { *static_cast<std::string*>(to) += text; },
             &said);
  try {
    const WriteLock lock(segment);
    throw std::runtime_error("no");
  } catch (const std::runtime_error&) {
  }
  WriteLock(segment).abort();
  write(segment, [&] { *make<int>(segment, "count") = 1; });
  {
    const WriteLock lock(segment);
    if (*segment.find<int>("count") == 1) *segment.find<int>("count") = 1;
  }
  EXPECT_EQ(said, "") << "nothing was changed";
  {
    const WriteLock lock(segment);
    *segment.find<int>("count") = 2;
  }
  IW_set_log(nullptr, nullptr);
  EXPECT_NE(said.find("without a release"), std::string::npos) << said;
  EXPECT_EQ(segment.version(), 1u);
}

TEST(Cpp, AFunctionObjectHearsOfVersions) {
  const Server server;
  ASSERT_TRUE(server.good());
  Segment segment(server.url("/cpp"));
  Ear ear;
  ASSERT_EQ(ear.listen_in_loop(), "ok");  // as other tests of this process
  segment.on_change([&ear](std::uint64_t version) { Ear::change(nullptr, version, &ear); });
  Segment moved(std::move(segment));
  (void)read(moved, [] { return 0; });
  Agent other;
  for (const std::string& command : {"open " + server.url("/cpp") + " 10", std::string("wl"),
                                     std::string("make n 1"), std::string("release")}) {
    ASSERT_EQ(other.tell(command), "ok") << command;
  }
  EXPECT_EQ(ear.next(), "version 1");
  moved.on_change(nullptr);
}

TEST(Cpp, LocksWaitForDurations) {
  const Server server;
  ASSERT_TRUE(server.good());
  const Segment segment(server.url("/cpp"));
  EXPECT_TRUE(ReadLock::try_for(segment, std::chrono::milliseconds(5000)));
  std::optional<WriteLock> lock = WriteLock::try_for(segment, std::chrono::seconds(5));
  ASSERT_TRUE(lock);
  lock->abort();
}

struct Config {
  double gain;
  double limits[2];
};
const IW_type_def limits_type =
    IW_ARRAY_DEF("", 2 * sizeof(double), IW_ALIGN_OF(double), &IW_def_double, 2);
const IW_field_def config_fields[] = {{"gain", &IW_def_double, offsetof(Config, gain)},
                                      {"limits", &limits_type, offsetof(Config, limits)}};
const IW_type_def config_type =
    IW_RECORD_DEF("cpp_config", sizeof(Config), alignof(Config), config_fields, 2);
const IW_type_def grid_type =
    IW_ARRAY_DEF("cpp_grid", 6 * sizeof(int), IW_ALIGN_OF(int), &IW_def_int, 6);

}  // namespace
}  // namespace iw::test

template <>
struct iw::type_of<iw::test::Config> {
  static IW_type_t get() { return &iw::test::config_type; }
};

namespace iw::test {
namespace {

template <typename T>
int code_of_find(const Segment& segment, const std::string& name, std::size_t count = 1) {
  try {
    return segment.find<T>(name, count) == nullptr ? IW_ENO_BLOCK : 0;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
    return error.code();
  }
}

class CppFind : public ::testing::Test {
 protected:
  void SetUp() override {
    const IW_type_t types[] = {&config_type, &grid_type};
    ASSERT_EQ(IW_register_types(types, 2), 0);
    ASSERT_TRUE(server_.good());
    segment_.emplace(server_.url("/cpp"));
    WriteLock lock(*segment_);
    make<Config>(*segment_, "config");
    make<double>(*segment_, "numbers", 3);
    ASSERT_NE(IW_malloc_array(segment_->handle(), &grid_type, 2, "grids"), nullptr);
    lock.release();
  }

  Server server_;
  std::optional<Segment> segment_;
};

// Stores through a pointer to another type would fall behind the block and travel nowhere.
TEST_F(CppFind, ABlockOfAnotherTypeIsATypeConflict) {
  const ReadLock lock(*segment_);
  EXPECT_EQ(code_of_find<Config>(*segment_, "config"), 0);
  EXPECT_EQ(code_of_find<const Config>(*segment_, "config"), 0);
  EXPECT_EQ(code_of_find<void>(*segment_, "config"), 0);
  EXPECT_EQ(code_of_find<Config>(*segment_, "numbers"), IW_ETYPE_CONFLICT);
  EXPECT_EQ(code_of_find<double>(*segment_, "config"), IW_ETYPE_CONFLICT);
  EXPECT_EQ(code_of_find<float>(*segment_, "numbers"), IW_ETYPE_CONFLICT);
  EXPECT_EQ(code_of_find<double>(*segment_, "grids"), IW_ETYPE_CONFLICT);
  EXPECT_EQ(code_of_find<double>(*segment_, "none"), IW_ENO_BLOCK);
}

TEST_F(CppFind, ABlockOfFewerValuesIsRefused) {
  const ReadLock lock(*segment_);
  EXPECT_EQ(code_of_find<double>(*segment_, "numbers", 3), 0);
  EXPECT_EQ(code_of_find<double>(*segment_, "numbers", 4), IW_EBAD_ARGUMENT);
  EXPECT_EQ(code_of_find<int>(*segment_, "grids", 12), 0);
  EXPECT_EQ(code_of_find<int>(*segment_, "grids", 13), IW_EBAD_ARGUMENT);
}

TEST_F(CppFind, ALookNeedsNoLockOfTheCaller) {
  EXPECT_EQ(code_of_find<double>(*segment_, "numbers"), 0);
  EXPECT_EQ(code_of_find<Config>(*segment_, "numbers"), IW_ETYPE_CONFLICT);
  EXPECT_EQ(code_of_find<Config>(*segment_, "none"), IW_ENO_BLOCK);
  EXPECT_TRUE(WriteLock::try_for(*segment_, 0)) << "the look gave its lock back";
  const Segment again(server_.url("/cpp"));
  EXPECT_EQ(code_of_find<Config>(again, "numbers"), IW_ETYPE_CONFLICT);
}

TEST_F(CppFind, EveryNumberOfCppHasAType) {
  WriteLock lock(*segment_);
  *make<long long>(*segment_, "hyper") = -1;
  *make<unsigned long long>(*segment_, "uhyper") = 1;
  *make<std::int64_t>(*segment_, "int64") = -2;
  *make<std::uint64_t>(*segment_, "uint64") = 2;
  IW_bool_t* const flags = make<bool>(*segment_, "flags", 2);
  flags[1] = 1;
  lock.release();
  const ReadLock reading(*segment_);
  EXPECT_EQ(*segment_->find<std::int64_t>("hyper"), -1);
  EXPECT_EQ(*segment_->find<unsigned long long>("uint64"), 2U);
  EXPECT_EQ(segment_->find<const bool>("flags", 2)[1], 1);
  EXPECT_EQ(code_of_find<int>(*segment_, "flags"), IW_ETYPE_CONFLICT);
}

TEST(Cpp, AScopeLeftByAnExceptionUndoes) {
  const Server server;
  ASSERT_TRUE(server.good());
  const Segment segment(server.url("/cpp"));
  const auto fail = [&segment] {
    const WriteLock lock(segment);
    make<int>(segment, "number");
    throw std::runtime_error("on purpose");
  };
  EXPECT_THROW(fail(), std::runtime_error);
  EXPECT_EQ(segment.version(), 0u);
  const auto free_again = WriteLock::try_for(segment, 10);
  ASSERT_TRUE(free_again);
  EXPECT_EQ(segment.find<int>("number"), nullptr);
}

TEST(Cpp, ErrorsHaveCodesAndTexts) {
  try {
    const Segment missing("127.0.0.1:1/nothing");
    FAIL() << "there is no such server";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), IW_EUNREACHABLE);
    EXPECT_NE(std::string(error.what()).find("127.0.0.1:1"), std::string::npos);
  }
  const Server server;
  ASSERT_TRUE(server.good());
  const Segment segment(server.url("/cpp"));
  const ReadLock reading(segment);
  EXPECT_THROW(WriteLock{segment}, Error);
  EXPECT_THROW(make<int>(segment), Error);
}

}  // namespace
}  // namespace iw::test
