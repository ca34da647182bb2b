// The numbers of the C interface are those of the protocol, by their names.
#include "interweave/interface.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "interweave.h"
#include "protocol/error.gen.h"

namespace iw {
namespace {

TEST(Interface, ErrorsAreThoseOfTheProtocol) {
  for (const auto& [code, name] : named_errors) {
    EXPECT_EQ(std::string_view(protocol::name_of(protocol::error_code(-code))), name) << code;
  }
  const auto next = protocol::error_code(std::size(named_errors) + 1);
  EXPECT_EQ(std::string_view(protocol::name_of(next)), "?");
}

TEST(Interface, TheTableOfStatisticsIsTheWholeStruct) {
  constexpr std::size_t first = offsetof(IW_stats_t, bytes_sent);
  EXPECT_EQ(first + std::size(named_statistics) * sizeof(std::uint64_t), sizeof(IW_stats_t));
}

}  // namespace
}  // namespace iw
