// Selections over data nodes and workers that are processes of their own give what looking at all
// records gives.
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>

#include "select_records/data_node.h"
#include "select_records/selection.h"
#include "select_records/sockets.h"
#include "space/test_space.h"

namespace select_records {
namespace {

using services::Founder;
using services::Space;

Condition condition(const std::string& text) {
  std::string why;
  const auto parsed = Condition::parse(text, &why);
  EXPECT_TRUE(parsed) << why;
  return parsed.value_or(Condition());
}

std::vector<Record> looked_at_all(std::uint64_t records, const Condition& which) {
  std::vector<Record> found;
  for (std::uint64_t id = 0; id < records; id++) {
    if (which.holds(record_of(id))) found.push_back(record_of(id));
  }
  return found;
}

}  // namespace

// Two data nodes: a half of the records each.
ROLE(data_nodes) {
  const auto records = std::stoull(parent.hear_text());
  const Space space = Space::found(DataNode::pool_bytes(records));
  const DataNode first(0, records / 2, "127.0.0.1");
  iw::testing::Child other("other_data_node");
  other.line().say(std::string(ddss_address()));
  other.line().say(std::to_string(records / 2));
  if (other.line().hear_text() != "ready") return 1;
  parent.say(std::string(ddss_address()));
  parent.hear_text();
  other.line().say(std::string("end"));
  return other.wait_for_end();
}

ROLE(other_data_node) {
  const std::string address = parent.hear_text();
  const auto records = std::stoull(parent.hear_text());
  const Space space = Space::join_as_node(address, DataNode::pool_bytes(records));
  const DataNode second(1, records, "127.0.0.1");
  parent.say(std::string("ready"));
  parent.hear_text();
  return 0;
}

class Selections : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(Selections, GiveWhatLookingAtAllRecordsGives) {
  const Founder data("data_nodes", std::to_string(GetParam()));
  const Space space = Space::join_as_node(data.address(), Selection::pool_bytes(GetParam()));
  const command_line::StopSignal stop;
  Selection selection(SELECT_RECORDS, 3, stop);
  EXPECT_EQ(selection.records(), GetParam());
  for (const char* text : {"value<0.25 and kind=3", "", "x>0.999", "id<0", "time=100"}) {
    const auto expected = looked_at_all(GetParam(), condition(text));
    EXPECT_EQ(selection.select(condition(text), Way::kSegments), expected) << text;
    EXPECT_EQ(selection.select(condition(text), Way::kSockets), expected) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Selections, ::testing::Values(1000, 10'000, 100'000));

TEST(Conditions, AreRefusedWithWhatIsWrong) {
  std::string why;
  for (const char* text :
       {"value", "value<", "value<0.1 kind=3", "value<1 and", "colour=3", "x<1 or y<1"}) {
    why.clear();
    EXPECT_FALSE(Condition::parse(text, &why)) << text;
    EXPECT_FALSE(why.empty()) << text;
  }
}

ROLE(data_node_of_part_0) {
  const Space space = Space::join(parent.hear_text());
  parent.say(std::string("joined"));
  parent.hear_text();
  try {
    const DataNode node(0, 500, "127.0.0.1");
    parent.say(std::string("ready"));
    parent.hear_text();
  } catch (const services::Failure& failure) {
    parent.say(std::string(failure.what()));
  }
  return 0;
}

static std::unique_ptr<iw::testing::Child> join_as_data_node(const std::string& address) {
  auto child = std::make_unique<iw::testing::Child>("data_node_of_part_0");
  child->line().say(address);
  EXPECT_EQ(child->line().hear_text(), "joined");
  return child;
}

TEST(DataNodes, TakeNoPartThatALivingOneHas) {
  const Founder data("data_nodes", "1000");
  const Space space = Space::join(data.address());
  const auto second = join_as_data_node(data.address());
  second->line().say(std::string("begin"));
  EXPECT_EQ(second->line().hear_text(), "another data node has part 0; give --part another number");
  EXPECT_EQ(records_of(DataSet().parts()), 1000u);
}

TEST(DataNodes, TakeThePartOfOneThatWasKilled) {
  iw::testing::Child founder("founder_of_no_records");
  const std::string address = founder.line().hear_text();
  const Space space = Space::join(address);
  const auto first = join_as_data_node(address), second = join_as_data_node(address);
  first->line().say(std::string("begin"));
  ASSERT_EQ(first->line().hear_text(), "ready");
  first->kill();
  second->line().say(std::string("begin"));
  EXPECT_EQ(second->line().hear_text(), "ready");
  EXPECT_EQ(records_of(DataSet().parts()), 500u);
}

ROLE(founder_of_no_records) {
  const Space space = Space::found();
  parent.say(std::string(ddss_address()));
  parent.hear_text();
  return 0;
}

TEST(Sockets, GiveUpWhoDoesNotAnswer) {
  const int silent = listen_on_any_port("127.0.0.1");
  const int fd = connect_to("127.0.0.1", port_of(silent), std::chrono::milliseconds(1));
  std::byte byte;
  EXPECT_FALSE(receive_all(fd, std::span(&byte, 1)));
  close(fd);
  close(silent);
}

TEST(Selections, FailWhenAWorkerCannotWork) {
  const Founder data("data_nodes", "1000");
  const Space space = Space::join_as_node(data.address(), Selection::pool_bytes(1000));
  const command_line::StopSignal stop;
  EXPECT_THROW(Selection("/bin/false", 1, stop), services::Failure);
}

}  // namespace select_records
