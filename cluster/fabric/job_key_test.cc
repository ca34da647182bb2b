// Where a job key comes from, and what proves it.
#include "fabric/job_key.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

using namespace iw::fabric;

namespace {

constexpr const char* digits = "000102030405060708090a0b0c0d0e0f";

JobKey key_of(const std::string& text) {
  JobKey key;
  EXPECT_TRUE(JobKey::from_text(text, &key));
  return key;
}

Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

class JobKeys : public ::testing::Test {
 protected:
  JobKeys() { EXPECT_NE(mkdtemp(folder_), nullptr); }
  ~JobKeys() override {
    unsetenv("IW_CLUSTER_KEY");
    unsetenv("IW_CLUSTER_KEY_FILE");
    remember_job_key({});
    std::filesystem::remove_all(folder_);
  }
  std::string folder() const { return folder_; }
  std::string write(const std::string& text, mode_t mode) const {
    const std::string name = folder() + "/key";
    std::ofstream(name) << text;
    chmod(name.c_str(), mode);
    return name;
  }
  // Returns the error of the environment. It is empty if *key was found.
  static std::string look(JobKey* key) {
    std::string error;
    return find_job_key(key, &error) ? "" : error;
  }

 private:
  char folder_[32] = "/tmp/iw-job-key-XXXXXX";
};

}  // namespace

// [HELLO-3] The number is of another implementation.
TEST_F(JobKeys, AProofIsTheHmacOfItsLabelAndItsParts) {
  const std::string one = "one", two = "two";
  const Proof proof = key_of(digits).prove("interweave door 1", {bytes_of(one), bytes_of(two)});
  JobKey first_half, second_half;
  ASSERT_TRUE(JobKey::from_bytes(Bytes(proof).first(16), &first_half));
  ASSERT_TRUE(JobKey::from_bytes(Bytes(proof).last(16), &second_half));
  EXPECT_EQ(first_half.text() + second_half.text(),
            "04fc66f7d4e9c488415e0b31b95675a7b1ddc83eb3609d40b5c5ec65ae1f4e84");
}

TEST_F(JobKeys, OneBitOfAProofOrOfItsSubjectCounts) {
  const JobKey key = JobKey::draw();
  std::string said = "a question";
  Proof proof = key.prove("label", {bytes_of(said)});
  EXPECT_TRUE(key.is_proven(proof, "label", {bytes_of(said)}));
  EXPECT_FALSE(key.is_proven(proof, "labels", {bytes_of(said)}));
  EXPECT_FALSE(JobKey::draw().is_proven(proof, "label", {bytes_of(said)}));
  said[0] ^= 1;
  EXPECT_FALSE(key.is_proven(proof, "label", {bytes_of(said)}));
  said[0] ^= 1;
  proof[31] ^= std::byte{0x80};
  EXPECT_FALSE(key.is_proven(proof, "label", {bytes_of(said)}));
}

TEST_F(JobKeys, TheEnvironmentGoesBeforeWhatTheJobMetBy) {
  const JobKey met = JobKey::draw();
  JobKey key;
  EXPECT_EQ(look(&key), "");
  EXPECT_FALSE(key.is_secret());
  remember_job_key(met);
  EXPECT_EQ(look(&key), "");
  EXPECT_EQ(key.text(), met.text());
  setenv("IW_CLUSTER_KEY_FILE", write(std::string(digits) + "\n", 0600).c_str(), 1);
  EXPECT_EQ(look(&key), "");
  EXPECT_EQ(key.text(), digits);
  setenv("IW_CLUSTER_KEY", "FFFF02030405060708090a0b0c0d0e0f", 1);
  EXPECT_EQ(look(&key), "");
  EXPECT_EQ(key.text(), "ffff02030405060708090a0b0c0d0e0f");
}

TEST_F(JobKeys, AnErrorSaysWhatToSetAndNotTheKey) {
  JobKey key;
  for (const char* wrong :
       {"0001", "000102030405060708090a0b0c0d0e0g", "000102030405060708090a0b0c0d0e0f00"}) {
    setenv("IW_CLUSTER_KEY", wrong, 1);
    const std::string error = look(&key);
    EXPECT_NE(error.find("32 hexadecimal digits"), std::string::npos) << error;
    EXPECT_EQ(error.find(wrong), std::string::npos) << error;
  }
}

// [HELLO-9]
TEST_F(JobKeys, AnEmptyVariableOrAKeyOfZerosIsAnErrorAndNotNoKey) {
  JobKey key;
  for (const char* name : {"IW_CLUSTER_KEY_FILE", "IW_CLUSTER_KEY"}) {
    setenv(name, "", 1);
    EXPECT_NE(look(&key).find(std::string(name) + " is set and empty: unset it"), std::string::npos)
        << look(&key);
  }
  const std::string zeros(32, '0');
  setenv("IW_CLUSTER_KEY", zeros.c_str(), 1);
  EXPECT_NE(look(&key).find("not 0"), std::string::npos) << look(&key);
  unsetenv("IW_CLUSTER_KEY");
  setenv("IW_CLUSTER_KEY_FILE", write(zeros, 0600).c_str(), 1);
  EXPECT_NE(look(&key).find("not 0"), std::string::npos) << look(&key);
  EXPECT_FALSE(key.is_secret());
}

// [HELLO-9]
TEST_F(JobKeys, OnlyTheFirstVariableThatIsSetIsRead) {
  JobKey key;
  setenv("IW_CLUSTER_KEY", digits, 1);
  for (const char* file : {"", "/nowhere/key"}) {
    setenv("IW_CLUSTER_KEY_FILE", file, 1);
    EXPECT_EQ(look(&key), "");
    EXPECT_EQ(key.text(), digits);
  }
}

TEST_F(JobKeys, AFileThatOthersMayReadIsRefused) {
  JobKey key;
  setenv("IW_CLUSTER_KEY_FILE", write(digits, 0640).c_str(), 1);
  EXPECT_NE(look(&key).find("chmod 600"), std::string::npos) << look(&key);
  setenv("IW_CLUSTER_KEY_FILE", write("not a key", 0600).c_str(), 1);
  EXPECT_NE(look(&key).find("32 hexadecimal digits"), std::string::npos) << look(&key);
  setenv("IW_CLUSTER_KEY_FILE", (folder() + "/none").c_str(), 1);
  EXPECT_NE(look(&key).find("No such file"), std::string::npos) << look(&key);
}

TEST_F(JobKeys, TheProcessesOfAFolderShareOneKeyThatOthersCannotRead) {
  JobKey first, second;
  std::string error;
  ASSERT_TRUE(share_key_by_folder(folder(), &first, &error)) << error;
  ASSERT_TRUE(share_key_by_folder(folder(), &second, &error)) << error;
  EXPECT_TRUE(first.is_secret());
  EXPECT_EQ(first.text(), second.text());
  struct stat is;
  ASSERT_EQ(stat((folder() + "/job.key").c_str(), &is), 0);
  EXPECT_EQ(is.st_mode & 0777, 0600u);
  chmod((folder() + "/job.key").c_str(), 0644);
  EXPECT_FALSE(share_key_by_folder(folder(), &second, &error));
  const auto files = std::filesystem::directory_iterator(folder());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "nothing unfinished is left";
}
