// A node, and processes that are not nodes of its space, or do not behave like nodes.
#include <array>

#include "ddss/ddss_fixture.h"
#include "ddss/directory.h"
#include "ddss/layout.h"
#include "ddss/questions.h"

namespace iw::ddss {
namespace {

fabric::Deadline in_good_time() {
  return fabric::Clock::now() + std::chrono::milliseconds(patient_ms);
}

fabric::Address address_of(const std::string& text) {
  fabric::Address address;
  for (std::size_t i = 0; i < address.bytes.size(); i++) {
    address.bytes[i] = static_cast<std::byte>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  }
  return address;
}

constexpr std::size_t pool_bytes = heap_begin + 4096;

// A process that sends any messages, and writes anything to its pool.
class Impostor {
 public:
  explicit Impostor(const std::string& founder) {
    std::string error;
    fabric::Status status;
    fabric_ = fabric::Fabric::open({}, &error);
    pool_ = fabric_->allocate(pool_bytes, &status);
    worker_ = fabric_->add_worker(&status);
    questions_ = std::make_unique<Questions>(*worker_,
                                             [](Question, fabric::Bytes, fabric::Bytes, Caller) {});
    EXPECT_EQ(worker_->connect(address_of(founder), in_good_time(), &founder_), fabric::Status::ok);
  }
  ~Impostor() { fabric::close_worker(&worker_); }
  template <typename News>
  void tell(fabric::MessageId id, const News& news) {
    Questions::post(*worker_, founder_, id, bytes_of(news), pool_->key());
  }
  // Afterwards the founder has handled all earlier messages.
  void await_the_founder() {
    Survey found;
    EXPECT_EQ(questions_->ask(founder_, Question::survey, KeyAsked{1}, &found, in_good_time()),
              fabric::Status::ok);
  }
  JoinAnswer join() {
    JoinAnswer answer;
    EXPECT_EQ(questions_->ask(founder_, Question::join, JoinAsked{worker_->address()}, &answer,
                              in_good_time(), pool_->key()),
              fabric::Status::ok);
    return answer;
  }
  const fabric::Address& address() const { return worker_->address(); }
  template <typename T>
  T& at(std::uint64_t offset) {
    return *reinterpret_cast<T*>(pool_->bytes().data() + offset);
  }

 private:
  std::unique_ptr<fabric::Fabric> fabric_;
  std::unique_ptr<fabric::Memory> pool_;
  std::unique_ptr<fabric::Worker> worker_;
  std::unique_ptr<Questions> questions_;
  fabric::PeerId founder_ = 0;
};

}  // namespace

// Joins, and writes the descriptors that it is told to its own directory.
ROLE(forger) {
  Impostor self(parent.hear_text());
  parent.say_value(self.join().number);
  for (;;) {
    const auto forged = parent.hear_value<Descriptor>();
    if (forged.key == 0) return 0;
    self.at<BlockHeader>(heap_begin).key = forged.key;
    self.at<Descriptor>(descriptor_offset(forged.key)) = forged;
    parent.say_value(forged.key);
  }
}

// Tells of members though it is not one.
ROLE(gossip) {
  Impostor self(parent.hear_text());
  self.tell(gone_id, GoneNews{0});
  self.tell(member_id, MemberNews{self.address(), 5});
  self.tell(member_id, MemberNews{self.address(), node_max + 1});
  self.tell(report_id, ReportNews{self.address(), node_max + 1, 0});
  self.await_the_founder();
  parent.say_value(true);
  parent.hear();
  return 0;
}

class Forged : public Space {};
OVER_ALL_TRANSPORTS(Forged);

// [DDSS-MEMBER-3]
TEST_P(Forged, NewsOfStrangersAreDropped) {
  const Child gossip("gossip");
  gossip.line().say(std::string(ddss_address()));
  EXPECT_TRUE(gossip.line().hear_value<bool>());
  EXPECT_EQ(ddss_nodes(), 1);
  const ddss_key_t key = ddss_allocate(8, DDSS_NULL, nullptr);
  EXPECT_NE(key, 0u) << ddss_error_text(ddss_errno());
}

// [DDSS-KEY-5]
TEST_P(Forged, DescriptorsThatLeadOutOfAPoolAreNoSegments) {
  Child forger("forger");
  forger.line().say(std::string(ddss_address()));
  const auto number = forger.line().hear_value<std::uint32_t>();
  std::uint32_t serial = 0;
  std::uint64_t word = 0;
  const auto result_of = [&](Descriptor forged) {
    forged.key = key_of(static_cast<NodeNumber>(number), 7, ++serial);
    forger.line().say_value(forged);
    return ddss_get(forger.line().hear_value<Key>(), &word, sizeof word);
  };
  Descriptor sound;
  sound.size = sizeof word;
  sound.data_offset = sound.lock_offset = heap_begin;
  sound.data_node = sound.lock_node = static_cast<NodeNumber>(number);
  EXPECT_EQ(result_of(sound), 0);
  std::vector<Descriptor> wrong(10, sound);
  wrong[0].data_offset = pool_bytes;
  wrong[1].data_offset = ~0ull - 63;
  wrong[2].data_offset += 8;
  wrong[3].lock_offset = pool_bytes - 32;
  wrong[4].size = ~0ull;
  wrong[5].model = DDSS_TEMPORAL + 1;
  wrong[6].keep = descriptor_keep_max + 1;
  wrong[7].data_node = 0xffff;
  wrong[8].lock_offset = 0;
  wrong[9].lock_offset = heap_begin - 64;
  for (std::size_t i = 0; i < wrong.size(); i++) EXPECT_EQ(result_of(wrong[i]), DDSS_ENOKEY) << i;
  EXPECT_EQ(result_of(sound), 0);
  forger.line().say_value(Descriptor{});
  EXPECT_EQ(forger.wait_for_end(), 0);
}

// [DDSS-KEY-4]
TEST(Directory, ADescriptionSaysWhereTheBlocksElsewhereLieAndNothingElse) {
  alignas(64) static std::array<std::byte, pool_bytes> pool;
  Directory directory(pool);
  constexpr NodeNumber here = 2, elsewhere = 3;
  Descriptor wanted;
  wanted.size = 8;
  wanted.data_node = elsewhere;
  wanted.lock_node = here;
  Descriptor made;
  ASSERT_EQ(directory.create(here, wanted, &made), 0);
  ASSERT_EQ(made.lock_offset, heap_begin);
  made.data_offset = heap_begin + 128;
  std::vector<Descriptor> wrong(7, made);
  wrong[0].data_offset = heap_begin - 64;
  wrong[1].data_offset += 8;
  wrong[2].lock_offset = heap_begin + 64;
  wrong[3].size = 16;
  wrong[4].data_node = here;
  wrong[5].model = DDSS_DELTA;
  wrong[6].is_named = 1;
  for (std::size_t i = 0; i < wrong.size(); i++) {
    EXPECT_EQ(directory.describe(wrong[i]), DDSS_EARGUMENT) << i;
  }
  EXPECT_EQ(directory.describe(made), 0);
  EXPECT_EQ(directory.describe(made), DDSS_ENOKEY) << "it is described already";
}

}  // namespace iw::ddss
