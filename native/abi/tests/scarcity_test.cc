// Memory ends in the middle of a call: the process lives, the call says IW_ENO_MEMORY or succeeds,
// and once there is memory again everything works: locks, releases, aborts, and another process
// reads the same bytes. Each call is made with its first allocation failing, then its second, until
// it needs no more: with that allocation alone, with each seventh behind it, with all behind it.
#include <gtest/gtest.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "abi/tests/pads.h"
#include "abi/tests/scarce_memory.h"
#include "abi/tests/server_process.h"
#include "interweave.h"

namespace iw::test {
namespace {

constexpr std::size_t count = 5000;  // of ints: some pages
constexpr long most_allocations = 100000;

// A call that is made while memory fails; returns its code: 0 or an IW_E code.
using Call = std::function<int()>;
using Step = std::function<void()>;

constexpr std::array<Failing, 3> every_way{Failing::once, Failing::now_and_then,
                                           Failing::from_then_on};
std::string text_of(Failing failing) {
  const std::array<const char*, 3> texts{" alone", " and each seventh behind it",
                                         " and all behind it"};
  return texts.at(static_cast<std::size_t>(failing));
}

int code_of(const void* out) { return out != nullptr ? 0 : IW_errno(); }

class Scarce : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(register_pads(), 0);
    ASSERT_TRUE(server_.good());
    url_ = server_.url("/scarce");
    segment_ = open(url_, timeout_s());
    ASSERT_NE(segment_, nullptr) << IW_strerror();
    ASSERT_EQ(reader_.tell("open " + url_ + " 30"), "ok");
    make();
  }
  void TearDown() override {
    if (segment_ != nullptr) {
      EXPECT_EQ(IW_close_segment(segment_), 0) << IW_strerror();
    }
  }
  [[nodiscard]] virtual double timeout_s() const { return 30; }

  static IW_handle_t open(const std::string& url, double timeout_s = 30) {
    IW_open_options options{};
    options.size = sizeof options;
    options.flags = IW_CREATE;
    options.timeout = timeout_s;
    options.durability = IW_MEMORY;
    return IW_open_segment_with(url.c_str(), &options);
  }

  void make() {
    ASSERT_EQ(IW_wl_acquire(segment_), 0) << IW_strerror();
    ASSERT_NE(IW_malloc_array(segment_, IW_int, count, "numbers"), nullptr) << IW_strerror();
    ASSERT_NE(IW_malloc_named(segment_, &pad_type, "pad"), nullptr) << IW_strerror();
    find();
    fill(0);
    ASSERT_EQ(IW_wl_release(segment_), 0) << IW_strerror();
  }

  void find() {
    numbers_ = static_cast<int*>(IW_mip_to_ptr((url_ + "#numbers").c_str()));
    pad_ = static_cast<Pad*>(IW_mip_to_ptr((url_ + "#pad").c_str()));
    ASSERT_NE(numbers_, nullptr) << IW_strerror();
    ASSERT_NE(pad_, nullptr) << IW_strerror();
  }

  // Under the writer lock: everything becomes that of a version.
  void fill(int value) {
    for (std::size_t i = 0; i < count; ++i) numbers_[i] = value + static_cast<int>(i);
    const std::string title =
        "a title that is too long for a short string, of " + std::to_string(value);
    ASSERT_EQ(IW_assign(segment_, &pad_->title, title.data(), title.size()), 0) << IW_strerror();
    const std::array<int, 3> marks{value, value + 1, value + 2};
    ASSERT_EQ(IW_assign(segment_, &pad_->marks, marks.data(), marks.size()), 0) << IW_strerror();
    value_ = value;
  }

  // Under a lock: it is that version, whole.
  void expect_version(int value) {
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(numbers_[i], value + static_cast<int>(i)) << "number " << i;
    }
    ASSERT_EQ(words_of(*pad_), "a title that is too long for a short string, of " +
                                   std::to_string(value) + "," + std::to_string(value) + "," +
                                   std::to_string(value + 1) + "," + std::to_string(value + 2) +
                                   "/{}");
  }

  void expect_reader_has(int value) {
    ASSERT_EQ(reader_.tell("rl"), "ok");
    ASSERT_EQ(reader_.tell("get numbers 0"), std::to_string(value));
    ASSERT_EQ(reader_.tell("get numbers 4999"), std::to_string(value + 4999));
    ASSERT_EQ(reader_.tell("pad pad"), words_of(*pad_));
    ASSERT_EQ(reader_.tell("rl_release"), "ok");
  }

  // No lock is held: everything works, and nothing of what failed is to be seen.
  void expect_all_works() {
    ASSERT_EQ(IW_rl_acquire_for(segment_, 30, IW_FRESH), 0) << IW_strerror();
    expect_version(value_);
    ASSERT_EQ(IW_rl_release(segment_), 0) << IW_strerror();
    ASSERT_EQ(IW_wl_acquire(segment_), 0) << IW_strerror();
    expect_version(value_);
    fill(value_ + 1);
    ASSERT_EQ(IW_wl_release(segment_), 0) << IW_strerror();
    ASSERT_EQ(IW_wl_acquire(segment_), 0) << IW_strerror();
    const int kept = value_;
    fill(-1);
    ASSERT_NE(IW_malloc(segment_, IW_int), nullptr) << IW_strerror();
    ASSERT_EQ(IW_wl_abort(segment_), 0) << IW_strerror();
    value_ = kept;
    ASSERT_EQ(IW_rl_acquire(segment_), 0) << IW_strerror();
    expect_version(value_);
    expect_reader_has(value_);
    ASSERT_EQ(IW_rl_release(segment_), 0) << IW_strerror();
  }

  // The other process makes a version: all numbers are one more, and there is a block more or less.
  void change_numbers_elsewhere() {
    ASSERT_EQ(reader_.tell("wl"), "ok");
    ASSERT_EQ(reader_.tell("stripe numbers 1 5000"), "ok");
    ASSERT_EQ(reader_.tell(has_other_ ? "free other" : "make other 3000"), "ok");
    ASSERT_EQ(reader_.tell("release"), "ok");
    has_other_ = !has_other_;
  }
  // The pad follows.
  void follow_numbers() {
    ASSERT_EQ(IW_wl_acquire(segment_), 0) << IW_strerror();
    ASSERT_EQ(numbers_[0], value_ + 1);
    ASSERT_EQ(numbers_[count - 1], value_ + static_cast<int>(count));
    fill(value_ + 1);
    ASSERT_EQ(IW_wl_release(segment_), 0) << IW_strerror();
  }

  // Another process gets the writer lock. Where the answer to a request was lost, with its
  // connection, and there was no memory for another, that may take the lease.
  void expect_not_held_at_server() {
    if (failing_ != Failing::once) return;
    ASSERT_EQ(reader_.tell("wl"), "ok");
    ASSERT_EQ(reader_.tell("abort"), "ok");
  }

  // `prepare`, then the call with failing memory, then `settle` with its code.
  void try_all(const std::string& what, const Step& prepare, const Call& call,
               const std::function<void(int)>& settle) {
    for (const Failing failing : every_way) {
      // Of long calls not each one, nor where later failures hit the same.
      const long step = failing == Failing::now_and_then ? 5 : 1;
      for (long n = 1; try_one(what, failing, n, prepare, call, settle); n += step + n / 200 * 20) {
        ASSERT_LT(n, most_allocations) << what;
      }
      if (HasFailure()) return;
    }
  }

  bool try_one(const std::string& what, Failing failing, long n, const Step& prepare,
               const Call& call, const std::function<void(int)>& settle) {
    SCOPED_TRACE(what + ", allocation " + std::to_string(n) + text_of(failing));
    failing_ = failing;
    prepare();
    if (HasFailure()) return false;
    Scarcity scarcity(Whose::callers, failing, n);
    const int code = call();
    const bool has_failed = scarcity.stop();
    // A connection that was lost for lack of memory may not be back within a short deadline.
    const bool is_out_of_time = wanted_ == IW_ETIMED_OUT && code == IW_EUNREACHABLE && has_failed;
    EXPECT_TRUE(code == wanted_ || code == IW_ENO_MEMORY || is_out_of_time)
        << code << " " << IW_strerror();
    if (code != 0) {
      EXPECT_EQ(IW_errno(), code);
    }
    if (code == IW_ENO_MEMORY) {
      EXPECT_NE(std::string(IW_strerror()).find("[NO_MEMORY]"), std::string::npos);
    }
    EXPECT_TRUE(has_failed || code == wanted_) << code << " " << IW_strerror();
    settle(code);
    return has_failed && !HasFailure();
  }

  void try_all_unlocked(const std::string& what, const Call& call) {
    try_all(
        what, [] {}, call, [this](int) { expect_all_works(); });
  }

  void lock_for_writing() { ASSERT_EQ(IW_wl_acquire(segment_), 0) << IW_strerror(); }
  void abort_and_expect_all_works() {
    ASSERT_EQ(IW_wl_abort(segment_), 0) << IW_strerror();
    expect_all_works();
  }
  // A call under the writer lock, after which the section is aborted.
  void try_all_writing(const std::string& what, const Call& call) {
    try_all(
        what, [this] { lock_for_writing(); }, call, [this](int) { abort_and_expect_all_works(); });
  }

  Server server_;
  Agent reader_;
  std::string url_;
  IW_handle_t segment_ = nullptr;
  int* numbers_ = nullptr;
  Pad* pad_ = nullptr;
  int value_ = 0;
  int wanted_ = 0;  // what calls give with memory
  Failing failing_ = Failing::once;
  std::unique_ptr<Scarcity> scarcity_;  // it continues after its thread's end
  bool has_other_ = false;
};

TEST_F(Scarce, AReaderLockWithoutAMessage) {
  ASSERT_EQ(IW_set_coherence(segment_, IW_NULL, 0), 0);
  try_all(
      "IW_rl_acquire", [] {}, [this] { return IW_rl_acquire(segment_); },
      [this](int code) {
        if (code == 0) {
          ASSERT_EQ(IW_rl_release(segment_), 0);
        }
        expect_all_works();
      });
}

TEST_F(Scarce, AReaderLockThatFetchesChanges) {
  try_all(
      "IW_rl_acquire_for", [this] { change_numbers_elsewhere(); },
      [this] { return IW_rl_acquire_for(segment_, 30, IW_FRESH); },
      [this](int code) {
        if (code == 0) {
          ASSERT_EQ(numbers_[0], value_ + 1);
          ASSERT_EQ(IW_rl_release(segment_), 0);
        }
        follow_numbers();
        expect_all_works();
      });
}

TEST_F(Scarce, TheFirstReaderLock) {
  IW_handle_t fresh = nullptr;
  ASSERT_EQ(IW_close_segment(segment_), 0);
  segment_ = nullptr;
  try_all(
      "IW_rl_acquire",
      [&] {
        fresh = open(url_);
        ASSERT_NE(fresh, nullptr) << IW_strerror();
      },
      [&] { return IW_rl_acquire(fresh); },
      [&](int code) {
        segment_ = fresh;
        if (code == 0) {
          ASSERT_EQ(IW_rl_release(fresh), 0);
        }
        ASSERT_EQ(IW_rl_acquire(fresh), 0) << IW_strerror();
        find();
        ASSERT_EQ(IW_rl_release(fresh), 0);
        expect_all_works();
        ASSERT_EQ(IW_close_segment(fresh), 0) << IW_strerror();
        segment_ = nullptr;
      });
}

TEST_F(Scarce, AStrictReaderLock) {
  ASSERT_EQ(IW_set_coherence(segment_, IW_STRICT, 0), 0);
  try_all(
      "IW_rl_acquire, IW_rl_release", [] {},
      [this] {
        const int code = IW_rl_acquire(segment_);
        return code != 0 ? code : IW_rl_release(segment_);
      },
      [this](int) {
        expect_not_held_at_server();
        expect_all_works();
      });
}

// A thread that has not used the library before.
TEST_F(Scarce, AThreadsFirstLock) {
  const auto on_a_thread = [this](Failing failing, long n) {
    bool has_failed = false;
    std::thread([&] {
      Scarcity scarcity(Whose::callers, failing, n);
      const int code = IW_wl_acquire(segment_);
      has_failed = scarcity.stop();
      EXPECT_TRUE(code == 0 || code == IW_ENO_MEMORY) << IW_strerror();
      if (code == 0) {
        EXPECT_EQ(IW_wl_abort(segment_), 0) << IW_strerror();
      }
    }).join();
    return has_failed;
  };
  for (const Failing failing : every_way) {
    for (long n = 1; on_a_thread(failing, n) && !HasFailure(); ++n) expect_all_works();
  }
}

// What a thread holds at its end is given back without memory.
TEST_F(Scarce, AThreadThatEndsWithTheWriterLock) {
  IW_set_log([](int, const char*, void*) {}, nullptr);  // which reports each such thread
  for (long n = 1; n < 20 && !HasFailure(); ++n) {
    const int kept = value_;
    std::thread([this, n] {
      lock_for_writing();
      fill(-3);
      scarcity_ = std::make_unique<Scarcity>(Whose::callers, Failing::from_then_on, n);
    }).join();
    scarcity_.reset();
    value_ = kept;
    expect_all_works();
  }
  IW_set_log(nullptr, nullptr);
}

TEST_F(Scarce, IwRlRelease) {
  try_all(
      "IW_rl_release", [this] { ASSERT_EQ(IW_rl_acquire(segment_), 0) << IW_strerror(); },
      [this] { return IW_rl_release(segment_); },
      [this](int code) {
        ASSERT_EQ(code, 0);
        expect_all_works();
      });
}

TEST_F(Scarce, IwRefreshAndOtherQuestions) {
  try_all_unlocked("IW_refresh", [this] { return IW_refresh(segment_); });
  try_all_unlocked("IW_staleness", [this] {
    double seconds = 0;
    return IW_staleness(segment_, &seconds);
  });
  try_all_unlocked("IW_version", [this] { return IW_version(segment_) != 0 ? 0 : IW_errno(); });
  try_all_unlocked("IW_stats", [this] {
    IW_stats_t stats{};
    stats.size = sizeof stats;
    return IW_stats(segment_, &stats);
  });
}

TEST_F(Scarce, IwSetCoherence) {
  try_all_unlocked("IW_set_coherence", [this] { return IW_set_coherence(segment_, IW_DELTA, 2); });
  try_all_unlocked("IW_set_coherence_fn", [this] {
    const auto never = [](const IW_copy_state*, void*) { return 0; };
    return IW_set_coherence_fn(segment_, never, nullptr);
  });
  ASSERT_EQ(IW_set_coherence(segment_, IW_FULL, 0), 0);
}

TEST_F(Scarce, AWriterLock) {
  try_all(
      "IW_wl_acquire", [this] { change_numbers_elsewhere(); },
      [this] { return IW_wl_acquire(segment_); },
      [this](int code) {
        if (code == 0) {
          ASSERT_EQ(IW_wl_abort(segment_), 0) << IW_strerror();
        }
        expect_not_held_at_server();
        follow_numbers();
        expect_all_works();
      });
}

// The request is given up, and may be granted all the same.
TEST_F(Scarce, AWriterLockThatDoesNotComeInTime) {
  wanted_ = IW_ETIMED_OUT;
  try_all(
      "IW_wl_acquire_for", [this] { ASSERT_EQ(reader_.tell("wl"), "ok"); },
      [this] { return IW_wl_acquire_for(segment_, 0.01); },
      [this](int) {
        ASSERT_EQ(reader_.tell("abort"), "ok");
        expect_all_works();
      });
}

TEST_F(Scarce, AReadOnlyCopy) {
  ASSERT_EQ(IW_close_segment(segment_), 0);
  segment_ = nullptr;
  IW_handle_t fresh = nullptr;
  try_all(
      "IW_rl_acquire",
      [&] {
        IW_open_options options{};
        options.size = sizeof options;
        options.flags = IW_READ_ONLY;
        fresh = IW_open_segment_with(url_.c_str(), &options);
        ASSERT_NE(fresh, nullptr) << IW_strerror();
      },
      [&] { return IW_rl_acquire(fresh); },
      [&](int code) {
        if (code == 0) {
          ASSERT_EQ(IW_rl_release(fresh), 0);
        }
        ASSERT_EQ(IW_rl_acquire(fresh), 0) << IW_strerror();
        find();
        expect_version(value_);
        ASSERT_EQ(IW_rl_release(fresh), 0);
        ASSERT_EQ(IW_close_segment(fresh), 0) << IW_strerror();
      });
}

TEST_F(Scarce, IwWlAbort) {
  int before = 0;
  try_all(
      "IW_wl_abort",
      [&] {
        lock_for_writing();
        before = value_;
        fill(-7);
        ASSERT_NE(IW_malloc_named(segment_, IW_int, "short-lived"), nullptr);
      },
      [this] { return IW_wl_abort(segment_); },
      [&](int code) {
        value_ = before;
        expect_not_held_at_server();
        ASSERT_EQ(code, 0);
        ASSERT_EQ(IW_wl_abort(segment_), IW_ENO_LOCK);
        expect_all_works();
      });
}

class ScarceRelease : public Scarce {
 protected:
  // A release that was sent waits so long for memory to read the answer.
  [[nodiscard]] double timeout_s() const override { return 1.5; }

  void settle(int code) {
    const std::string text = code == 0 ? "" : IW_strerror();
    if (text.find("still held") != std::string::npos) {
      expect_version(value_);
      ASSERT_EQ(IW_wl_release(segment_), 0) << IW_strerror();
    } else if (code != 0) {
      ASSERT_NE(text.find("may have been committed"), std::string::npos) << text;
      ASSERT_EQ(IW_wl_release(segment_), IW_ENO_LOCK);
      ASSERT_EQ(IW_rl_acquire(segment_), 0) << IW_strerror();
      if (numbers_[0] != value_) --value_;
      expect_version(value_);
      ASSERT_EQ(IW_rl_release(segment_), 0);
    }
    expect_all_works();
  }
};

TEST_F(ScarceRelease, IwWlRelease) {
  try_all(
      "IW_wl_release",
      [this] {
        lock_for_writing();
        fill(value_ + 1);
        void* const named = IW_mip_to_ptr((url_ + "#named").c_str());
        if (named == nullptr) {
          ASSERT_NE(IW_malloc_array(segment_, IW_double, 40000, "named"), nullptr);
        } else {
          ASSERT_EQ(IW_free(segment_, named), 0) << IW_strerror();
        }
      },
      [this] { return IW_wl_release(segment_); }, [this](int code) { settle(code); });
}

TEST_F(Scarce, Allocating) {
  try_all_writing("IW_malloc", [this] { return code_of(IW_malloc(segment_, IW_double)); });
  try_all_writing("IW_malloc_named", [this] {
    return code_of(IW_malloc_named(segment_, &kid_type, "a name that is too long to be short"));
  });
  try_all_writing("IW_malloc_array",
                  [this] { return code_of(IW_malloc_array(segment_, IW_int, 1000000, nullptr)); });
  // The grant's serials end.
  try_all(
      "IW_malloc", [this] { lock_for_writing(); },
      [this] {
        for (int i = 0; i < 1500; ++i) {
          if (IW_malloc(segment_, IW_int) == nullptr) return IW_errno();
        }
        return 0;
      },
      [this](int) {
        ASSERT_NE(IW_malloc(segment_, IW_int), nullptr) << IW_strerror();
        abort_and_expect_all_works();
      });
}

TEST_F(Scarce, FreeingAndAssigning) {
  try_all_writing("IW_free", [this] { return IW_free(segment_, numbers_); });
  try_all_writing("IW_free", [this] { return IW_free(segment_, pad_); });
  try_all_writing("IW_assign", [this] { return IW_assign(segment_, &pad_->title, "new", 3); });
  try_all_writing("IW_assign", [this] { return IW_assign(segment_, &pad_->kids, nullptr, 5); });
}

TEST_F(Scarce, LookingAtBlocks) {
  const auto reading = [this](const std::string& what, const Call& call) {
    try_all(
        what, [this] { ASSERT_EQ(IW_rl_acquire(segment_), 0) << IW_strerror(); }, call,
        [this](int) {
          ASSERT_EQ(IW_rl_release(segment_), 0);
          expect_all_works();
        });
  };
  reading("IW_next_block", [this] { return code_of(IW_next_block(segment_, nullptr)); });
  reading("IW_describe_block", [this] {
    IW_block_t block{};
    block.size = sizeof block;
    return IW_describe_block(segment_, pad_, &block);
  });
  reading("IW_check_extents", [this] {
    const std::array<std::int64_t, 2> extents{50, 100};
    return IW_check_extents(numbers_, sizeof(int), extents.data(), 2);
  });
  reading("IW_pin", [this] {
    const IW_pin_t pin = IW_pin(segment_, numbers_);
    IW_unpin(pin);
    return code_of(pin);
  });
  reading("IW_ptr_to_mip", [this] {
    const IW_mip_t mip = IW_ptr_to_mip(numbers_ + 3);
    IW_mip_free(mip);
    return code_of(mip);
  });
  try_all_unlocked("IW_laid_out", [] { return code_of(IW_laid_out(&pad_type)); });
}

TEST_F(Scarce, IwMipToPtr) {
  const std::string known = url_ + "#numbers#7";
  try_all_unlocked("IW_mip_to_ptr", [&] { return code_of(IW_mip_to_ptr(known.c_str())); });
  // Of a segment that is not open here, and of a block that is not known.
  int round = 0;
  std::string other;
  Agent maker;
  try_all(
      "IW_mip_to_ptr",
      [&] {
        other = server_.url("/other" + std::to_string(++round));
        ASSERT_EQ(maker.tell("open " + other + " 30"), "ok");
        ASSERT_EQ(maker.tell("wl"), "ok");
        ASSERT_EQ(maker.tell("make there 10"), "ok");
        ASSERT_EQ(maker.tell("release"), "ok");
        other += "#there";
      },
      [&] { return code_of(IW_mip_to_ptr(other.c_str())); },
      [&](int) {
        ASSERT_NE(IW_mip_to_ptr(other.c_str()), nullptr) << IW_strerror();
        expect_all_works();
      });
}

// The copy of a segment whose pointers lead into another one, which is asked for their blocks.
TEST_F(Scarce, APointerIntoAnotherSegment) {
  static const IW_type_def any_pointer = IW_POINTER_DEF("", nullptr);
  static const IW_field_def link_fields[] = {{"to", &any_pointer, 0}};
  static const IW_type_def link_type =
      IW_RECORD_DEF("scarce_link", sizeof(void*), alignof(void*), link_fields, 1);
  const IW_type_t types[] = {&link_type};
  ASSERT_EQ(IW_register_types(types, 1), 0);
  int round = 0;
  std::string from_url;
  std::string to_url;
  IW_handle_t from = nullptr;
  IW_handle_t to = nullptr;
  // Segments that this process does not know any more.
  const auto make_two = [&] {
    from_url = server_.url("/from" + std::to_string(++round));
    to_url = server_.url("/to" + std::to_string(round));
    from = open(from_url);
    to = open(to_url);
    ASSERT_EQ(IW_wl_acquire(to), 0) << IW_strerror();
    auto* const target = static_cast<int*>(IW_malloc_named(to, IW_int, "target"));
    ASSERT_NE(target, nullptr) << IW_strerror();
    *target = 42;
    ASSERT_EQ(IW_wl_release(to), 0) << IW_strerror();
    ASSERT_EQ(IW_wl_acquire(from), 0) << IW_strerror();
    auto** const link = static_cast<void**>(IW_malloc_named(from, &link_type, "link"));
    ASSERT_NE(link, nullptr) << IW_strerror();
    *link = target;
    ASSERT_EQ(IW_wl_release(from), 0) << IW_strerror();
    ASSERT_EQ(IW_close_segment(to), 0) << IW_strerror();
    ASSERT_EQ(IW_close_segment(from), 0) << IW_strerror();
  };
  try_all(
      "IW_rl_acquire",
      [&] {
        make_two();
        from = open(from_url);
        ASSERT_NE(from, nullptr) << IW_strerror();
      },
      [&] { return IW_rl_acquire(from); },
      [&](int code) {
        if (code == 0) {
          ASSERT_EQ(IW_rl_release(from), 0);
        }
        ASSERT_EQ(IW_rl_acquire_for(from, 30, IW_FRESH), 0) << IW_strerror();
        auto** const link = static_cast<void**>(IW_mip_to_ptr((from_url + "#link").c_str()));
        ASSERT_NE(link, nullptr) << IW_strerror();
        to = open(to_url);
        ASSERT_NE(to, nullptr) << IW_strerror();
        ASSERT_EQ(IW_rl_acquire(to), 0) << IW_strerror();
        ASSERT_EQ(*link, IW_mip_to_ptr((to_url + "#target").c_str()));
        ASSERT_EQ(*static_cast<int*>(*link), 42);
        ASSERT_EQ(IW_rl_release(to), 0);
        ASSERT_EQ(IW_rl_release(from), 0);
        ASSERT_EQ(IW_close_segment(to), 0) << IW_strerror();
        ASSERT_EQ(IW_close_segment(from), 0) << IW_strerror();
      });
}

TEST_F(Scarce, OpeningAndClosing) {
  int round = 0;
  std::string other;
  IW_handle_t opened = nullptr;
  try_all(
      "IW_open_segment", [&] { other = server_.url("/opened" + std::to_string(++round)); },
      [&] {
        opened = IW_open_segment(other.c_str());
        return code_of(opened);
      },
      [&](int) {
        if (opened == nullptr) opened = IW_open_segment(other.c_str());
        ASSERT_NE(opened, nullptr) << IW_strerror();
        ASSERT_EQ(IW_wl_acquire(opened), 0) << IW_strerror();
        ASSERT_NE(IW_malloc(opened, IW_int), nullptr) << IW_strerror();
        ASSERT_EQ(IW_wl_release(opened), 0) << IW_strerror();
        ASSERT_EQ(IW_close_segment(opened), 0) << IW_strerror();
        expect_all_works();
      });
  try_all(
      "IW_close_segment", [] {}, [this] { return IW_close_segment(segment_); },
      [this](int code) {
        if (code != 0) {
          ASSERT_EQ(IW_close_segment(segment_), 0) << IW_strerror();
        }
        segment_ = open(url_);
        ASSERT_NE(segment_, nullptr) << IW_strerror();
        ASSERT_EQ(IW_rl_acquire(segment_), 0) << IW_strerror();
        find();
        ASSERT_EQ(IW_rl_release(segment_), 0);
        expect_all_works();
      });
}

// What the library calls it for, without memory.
class Heard {
 public:
  static void change(IW_handle_t, std::uint64_t version, void* heard) {
    static_cast<Heard*>(heard)->set(version);
  }
  static void connection(IW_handle_t, IW_connection_t, void*) {}

  void wait_for(std::uint64_t version) {
    std::unique_lock lock(mutex_);
    while (version_ < version) changed_.wait(lock);
  }

 private:
  void set(std::uint64_t version) {
    const std::lock_guard lock(mutex_);
    version_ = version;
    changed_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t version_ = 0;
};

TEST_F(Scarce, Listening) {
  Heard heard;
  try_all(
      "IW_on_change", [] {}, [&] { return IW_on_change(segment_, Heard::change, &heard); },
      [&](int) {
        ASSERT_EQ(IW_on_change(segment_, nullptr, nullptr), 0) << IW_strerror();
        expect_all_works();
      });
  try_all(
      "IW_on_connection", [] {},
      [&] { return IW_on_connection(segment_, Heard::connection, &heard); },
      [&](int) {
        ASSERT_EQ(IW_on_connection(segment_, nullptr, nullptr), 0) << IW_strerror();
        expect_all_works();
      });
}

// The threads of the library read, call back and reconnect.
TEST_F(Scarce, TheLibrarysThreads) {
  Heard heard;
  ASSERT_EQ(IW_on_change(segment_, Heard::change, &heard), 0);
  for (const Failing failing : every_way) {
    for (long n = 1; n <= 40 && !HasFailure(); ++n) {
      SCOPED_TRACE("allocation " + std::to_string(n) + text_of(failing));
      Scarcity scarcity(Whose::library, failing, n);
      ASSERT_EQ(reader_.tell("add numbers 0 1"), "ok");
      const std::uint64_t newest = std::stoull(reader_.tell("version"));
      if (failing != Failing::once) (void)scarcity.stop();
      heard.wait_for(newest);
      (void)scarcity.stop();
      ASSERT_EQ(IW_wl_acquire(segment_), 0) << IW_strerror();
      ASSERT_EQ(numbers_[0], value_ + 1);
      fill(value_ + 1);
      ASSERT_EQ(IW_wl_release(segment_), 0) << IW_strerror();
      expect_all_works();
    }
  }
  ASSERT_EQ(IW_on_change(segment_, nullptr, nullptr), 0);
}

// Pages of the stack must be there before there are no more.
void touch_stack() {
  std::array<volatile char, 512 * 1024> pages;
  for (std::size_t i = 0; i < pages.size(); i += 1024) pages[i] = 0;
}

// Sanitizers end the process themselves when the system gives no more.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool system_may_refuse = false;
#else
constexpr bool system_may_refuse = true;
#endif

TEST_F(Scarce, AnAddressSpaceThatEnds) {
  if (!system_may_refuse) GTEST_SKIP() << "a sanitizer needs address space of its own";
  touch_stack();
  int round = 0;
  for (std::size_t more = std::size_t{64} << 10; more <= std::size_t{128} << 20; more *= 2) {
    SCOPED_TRACE(std::to_string(more) + " bytes more");
    ASSERT_EQ(reader_.tell("wl"), "ok");
    const std::string big = "big" + std::to_string(++round);
    ASSERT_EQ(reader_.tell("make " + big + " 2000000"), "ok");
    ASSERT_EQ(reader_.tell("stripe " + big + " 1 2000000"), "ok");
    ASSERT_EQ(reader_.tell("release"), "ok");
    const std::string other = server_.url("/narrow" + std::to_string(round));
    IW_handle_t opened = nullptr;
    int opening = 0;
    int locking = 0;
    void* block = nullptr;
    int allocating = 0;
    {
      const NarrowAddressSpace narrow(more);
      opened = IW_open_segment(other.c_str());
      opening = code_of(opened);
      locking = IW_wl_acquire(segment_);
      if (locking == 0) {
        block = IW_malloc_array(segment_, IW_int, 1000000, nullptr);
        allocating = code_of(block);
      }
    }
    EXPECT_TRUE(opening == 0 || opening == IW_ENO_MEMORY) << opening;
    EXPECT_TRUE(locking == 0 || locking == IW_ENO_MEMORY) << locking;
    EXPECT_TRUE(allocating == 0 || allocating == IW_ENO_MEMORY) << allocating;
    if (opened != nullptr) {
      ASSERT_EQ(IW_close_segment(opened), 0) << IW_strerror();
    }
    if (locking == 0) {
      ASSERT_EQ(IW_wl_abort(segment_), 0) << IW_strerror();
    }
    expect_all_works();
    ASSERT_EQ(reader_.tell("wl"), "ok");
    ASSERT_EQ(reader_.tell("free " + big), "ok");
    ASSERT_EQ(reader_.tell("release"), "ok");
  }
}

}  // namespace
}  // namespace iw::test
