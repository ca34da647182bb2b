#include "platform/private_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace iw::platform {
namespace {

// A folder that is removed with what a test puts into it.
class PrivateFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "iw_private_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }

  void TearDown() override {
    for (const char* const name : {"/file", "/link"}) unlink((folder_ + name).c_str());
    rmdir(folder_.c_str());
  }

  std::string made(mode_t mode) const {
    const std::string file = folder_ + "/file";
    std::ofstream(file) << "secret\n";
    EXPECT_EQ(chmod(file.c_str(), mode), 0);
    return file;
  }

  std::string folder_;
};

TEST_F(PrivateFile, OfThisUserAloneIsRead) {
  EXPECT_EQ(read_private_file(made(0600), 4096), "secret\n");
}

TEST_F(PrivateFile, ThatOthersMayReadIsNotRead) {
  EXPECT_EQ(read_private_file(made(0640), 4096), "");
  EXPECT_EQ(read_private_file(made(0604), 4096), "");
}

TEST_F(PrivateFile, FolderIsOfThisUserAlone) {
  EXPECT_TRUE(is_private_folder(folder_));
  EXPECT_FALSE(is_private_folder(made(0600)));
  ASSERT_EQ(chmod(folder_.c_str(), 0750), 0);
  EXPECT_FALSE(is_private_folder(folder_));
}

TEST_F(PrivateFile, ThatIsALinkOrAFolderOrMissingOrLongIsNotRead) {
  const std::string file = made(0600);
  const std::string link = folder_ + "/link";
  ASSERT_EQ(symlink(file.c_str(), link.c_str()), 0);
  EXPECT_EQ(read_private_file(link, 4096), "");
  EXPECT_EQ(read_private_file(folder_, 4096), "");
  EXPECT_EQ(read_private_file(folder_ + "/none", 4096), "");
  EXPECT_EQ(read_private_file(file, 3), "");
}

}  // namespace
}  // namespace iw::platform
