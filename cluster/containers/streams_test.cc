// Marshalling, and the table of functions, without processes.
#include "containers/container_processes.h"

using namespace iw::containers_test;

namespace {

DeMarshalStream::Buffers buffers_of(const std::function<void(MarshalStream&)>& write) {
  DeMarshalStream::Buffers buffers;
  MarshalStream stream(
      [&](std::vector<std::byte> buffer) { buffers.push_back(std::move(buffer)); });
  write(stream);
  stream.finish();
  return buffers;
}

struct Scores : Numbers {
  static void list(Functions<Scores>& functions) { functions.add<&Scores::push_back>(1); }
};

}  // namespace

TEST(Streams, AnObjectEndsWithABufferThatIsNotFull) {
  constexpr auto full = static_cast<long>(MarshalStream::buffer_bytes);
  for (const long bytes : {1L, full - 1, full, full + 1, 3 * full - 1, 3 * full, 3 * full + 1}) {
    std::vector<std::byte> value(static_cast<std::size_t>(bytes));
    for (std::size_t i = 0; i < value.size(); i++) value[i] = static_cast<std::byte>(i * 7);
    const auto buffers =
        buffers_of([&](auto& stream) { EXPECT_EQ(stream.WriteBytes(value.data(), bytes), bytes); });
    ASSERT_EQ(buffers.size(), static_cast<std::size_t>(bytes / full + 1));
    EXPECT_EQ(buffers.back().size(), static_cast<std::size_t>(bytes % full));
    DeMarshalStream stream(buffers);
    std::vector<std::byte> read(value.size());
    // So that later reads cross the ends of buffers.
    EXPECT_EQ(stream.ReadBytes(read.data(), 1), 1);
    EXPECT_EQ(stream.ReadBytes(read.data() + 1, bytes), bytes - 1);
    EXPECT_EQ(read, value);
    EXPECT_EQ(stream.ReadBytes(read.data(), 1), 0);
  }
}

TEST(Streams, ThePapersStringIsWhatItWas) {
  aString here("as printed"), there;
  const auto buffers =
      buffers_of([&](auto& stream) { EXPECT_EQ(here.Marshal(&stream), OBJ_RETURN_SUCCESS); });
  DeMarshalStream stream(buffers);
  EXPECT_EQ(there.DeMarshal(&stream), OBJ_RETURN_SUCCESS);
  EXPECT_EQ(there.text(), "as printed");
  EXPECT_EQ(there.DeMarshal(&stream), OBJ_RETURN_FAIL);  // nothing is left
}

TEST(Streams, CountsThatAreMoreThanWhatCameAreRefused) {
  const auto buffers =
      buffers_of([](auto& stream) { marshal(stream, std::uint32_t{4'000'000'000}); });
  std::string text;
  std::vector<std::int64_t> numbers;
  std::map<int, int> map;
  DeMarshalStream first(buffers), second(buffers), third(buffers);
  EXPECT_FALSE(demarshal(first, &text));
  EXPECT_FALSE(demarshal(second, &numbers));
  EXPECT_FALSE(demarshal(third, &map));
  EXPECT_EQ(DeMarshalStream(buffers).ReadBytes(&map, -1), 0);
}

TEST(Streams, OtherThingsThanBytesThatAreLeftAreNoArguments) {
  const auto buffers = buffers_of([](auto& stream) { marshal(stream, std::int32_t{1}); });
  Numbers numbers;
  DeMarshalStream stream(buffers);
  const auto& table = Functions<Numbers>::all().table();
  const auto* push = table.find(&identity_of<&Numbers::push_back>);
  ASSERT_NE(push, nullptr);
  EXPECT_FALSE(table.apply(push->number, push->signature, numbers, stream));
  EXPECT_FALSE(table.apply(push->number, push->signature + 1, numbers, stream));
  EXPECT_FALSE(table.apply(99, push->signature, numbers, stream));
  EXPECT_TRUE(numbers.value().empty());
}

TEST(Streams, AFunctionHasOneNumberOfItsOwn) {
  FunctionTable functions;
  const char one = 0, two = 0;
  const auto apply = [](StandardContainer&, DeMarshalStream&) { return true; };
  EXPECT_THROW(functions.add(0, &one, "", apply), std::invalid_argument);
  functions.add(11, &one, "", apply);
  EXPECT_THROW(functions.add(12, &one, "", apply), std::invalid_argument);
  EXPECT_THROW(functions.add(11, &two, "", apply), std::invalid_argument);
  functions.add(12, &two, "", apply);  // the number that was refused is free
}

TEST(Streams, AClassListsWhatItInheritsItself) {
  struct Silent : Numbers {};
  EXPECT_EQ(Functions<Silent>::all().table().find(&identity_of<&Silent::push_back>), nullptr);
  EXPECT_NE(Functions<Scores>::all().table().find(&identity_of<&Scores::push_back>), nullptr);
}
