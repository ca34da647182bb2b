// The texts of a ddss_init that fails.
#include <filesystem>
#include <optional>
#include <thread>

#include "ddss/ddss_fixture.h"

namespace iw::ddss {
namespace {

// Sets a variable of the environment, and sets it back in the end.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value, 1);
  }
  ~Environment() {
    if (before_) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* const name_;
  std::optional<std::string> before_;
};

// Checks the error of a ddss_init, and returns its text.
std::string refused(int error, const ddss_options_t& options = {}) {
  EXPECT_EQ(ddss_init(&options), error);
  EXPECT_EQ(ddss_errno(), error);
  return ddss_error_text(error);
}

bool starts_with(const std::string& text, const std::string& start) {
  return text.starts_with(start);
}

std::string refused_daemon(const std::string& path) {
  ddss_options_t options{};
  options.daemon = path.c_str();
  return refused(DDSS_EUNREACHABLE, options);
}

}  // namespace

// Founds a space, says its address, and lives until it is killed.
ROLE(founder_to_join) {
  ddss_options_t options{};
  options.pool_bytes = small_pool;
  if (ddss_init(&options) != 0) return 1;
  parent.say(std::string(ddss_address()));
  parent.hear();
  return 0;
}

TEST(Opening, WithAWrongEnvironmentSaysWhatIsWrong) {
  {
    const Environment fabric("IW_FABRIC", "foo");
    EXPECT_EQ(refused(DDSS_EUNREACHABLE), "IW_FABRIC must be auto, shm, tcp or verbs");
  }
  const Environment fabric("IW_FABRIC", "tcp"), rank("IW_RANK", "0"), size("IW_SIZE", "2");
  {
    const Environment rendezvous("IW_RENDEZVOUS", "foo");
    EXPECT_EQ(refused(DDSS_EUNREACHABLE),
              "IW_RENDEZVOUS must be tcp:HOST:PORT or file:DIRECTORY, and is foo");
  }
  const Environment rendezvous("IW_RENDEZVOUS", "file:/nonexistent");
  EXPECT_EQ(refused(DDSS_EUNREACHABLE),
            "IW_RENDEZVOUS: the folder /nonexistent: No such file or directory");
}

TEST(Opening, WithoutADaemonSaysWhereItLooked) {
  EXPECT_EQ(refused_daemon("/nonexistent"), "no daemon at /nonexistent: No such file or directory");
  const std::string file = std::filesystem::read_symlink("/proc/self/exe");
  EXPECT_EQ(refused_daemon(file), "no daemon at " + file + ": Connection refused");
  const std::string path = "/" + std::string(107, 'x');
  EXPECT_EQ(refused_daemon(path), "no daemon at " + path + ": File name too long");
}

TEST(Opening, WithWrongOptionsSaysWhich) {
  const Environment fabric("IW_FABRIC", "tcp");
  ddss_options_t options{};
  options.pool_bytes = (std::size_t{1} << 40) + 1;
  EXPECT_EQ(refused(DDSS_EARGUMENT, options), "a pool has at most 1 TiB");
  options.pool_bytes = small_pool;
  options.join = "nonsense";
  EXPECT_EQ(refused(DDSS_EARGUMENT, options), "'nonsense' is not the address of a space");
  options.join = nullptr;
  ASSERT_EQ(ddss_init(&options), 0) << ddss_error_text(ddss_errno());
  EXPECT_EQ(refused(DDSS_EARGUMENT, options), "this process takes part already");
  EXPECT_EQ(ddss_finish(), 0);
}

// The address is of a founder that died.
TEST(Opening, WhereNobodyIsAnyMoreSaysSo) {
  const Environment fabric("IW_FABRIC", "tcp");
  Child founder("founder_to_join");
  const std::string address = founder.line().hear_text();
  founder.kill();
  ddss_options_t options{};
  options.join = address.c_str();
  options.pool_bytes = small_pool;
  EXPECT_PRED2(starts_with, refused(DDSS_ENODE, options), "the space's founder does not answer: ");
}

TEST(Opening, IsExplainedToItsThreadUntilAnotherCallFails) {
  refused_daemon("/nonexistent");
  const std::string general = "no transport leads there, or it failed";
  std::thread([&] { EXPECT_EQ(ddss_error_text(DDSS_EUNREACHABLE), general); }).join();
  EXPECT_NE(ddss_error_text(DDSS_EUNREACHABLE), general);
  EXPECT_EQ(std::string(ddss_error_text(DDSS_ENOKEY)).find("no daemon"), std::string::npos);
  EXPECT_EQ(ddss_nodes(), DDSS_ENOTINIT);
  EXPECT_EQ(ddss_error_text(DDSS_EUNREACHABLE), general);
}

}  // namespace iw::ddss
