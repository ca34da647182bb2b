// iws:// in a program that finds no OpenSSL: the error names the library.
#include <gtest/gtest.h>

#include <string>

#include "abi/tests/authority.h"
#include "abi/tests/server_process.h"
#include "interweave.h"

namespace iw::test {
namespace {

TEST(NoOpenssl, TheErrorNamesTheLibraryAndPlainConnectionsWork) {
  const Authority authority;
  const Server server(authority.serving());
  ASSERT_TRUE(server.good());
  const EnvironmentVariable trust("IW_CA", authority.file("ca.pem"));
  EXPECT_EQ(IW_open_segment(secure(server, "/s").c_str()), nullptr);
  EXPECT_EQ(IW_errno(), IW_EUNIMPLEMENTED) << IW_strerror();
  const std::string text = IW_strerror();
  for (const char* word : {"OpenSSL 3", "libssl.so.3", "iw://"}) {
    EXPECT_NE(text.find(word), std::string::npos) << text << " lacks " << word;
  }
  const IW_handle_t plain = IW_open_segment(server.url("/s").c_str());
  ASSERT_NE(plain, nullptr) << IW_strerror();
  EXPECT_EQ(IW_close_segment(plain), 0);
}

}  // namespace
}  // namespace iw::test
