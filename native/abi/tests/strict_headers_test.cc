// The public headers in a program whose compiler is told to complain of much: CMakeLists.txt makes
// each warning an error in this file.
#include <gtest/gtest.h>

#include "interweave.hpp"

namespace iw::test {
namespace {

TEST(StrictHeaders, AProgramThatAllowsNoWarningsUsesThem) {
  const stored_t<bool> flag = 1;
  EXPECT_EQ(sizeof flag, sizeof(IW_bool_t));
  EXPECT_EQ(type_of<long long>::get(), IW_hyper);
  EXPECT_EQ(type_of<std::uint64_t>::get(), IW_uhyper);
}

}  // namespace
}  // namespace iw::test
