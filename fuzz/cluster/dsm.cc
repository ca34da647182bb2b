// The machines of a rank under any messages of other ranks: no page outside of the heap is touched,
// no twin is lost, and the memory that messages take is bounded.
#include <vector>

#include "dsm/protocol/page_diff.h"
#include "dsm/protocol/receiver.h"
#include "fuzz/cluster/played_worker.h"
#include "fuzz/native/target.h"

using namespace iw;
using namespace iw::dsm;

namespace {

constexpr Rank ranks = 3;
constexpr PageNumber pages = 6;
constexpr std::size_t page_bytes = 64;

// Plays memory, network and waiting threads of rank `me`.
class Played final : PageMemory,
                     PageMail,
                     PageListener,
                     LockMail,
                     LockListener,
                     BarrierMail,
                     BarrierListener,
                     AttendanceListener,
                     DiffBuffers {
 public:
  Played(Rank me, Rank fan_in, bool keeps_diffs)
      : bytes_(pages * page_bytes),
        twins_(pages),
        me_(me),
        pages_(me, ranks, *this, *this, *this),
        locks_(me, ranks, pages_, *this, *this),
        barriers_(me, BarrierTree::of(ranks, fan_in), pages_, *this, *this),
        attendance_(me, *this),
        receiver_(me, {ranks, pages}, page_bytes, pages_, locks_, barriers_, attendance_, *this) {
    pages_.use({keeps_diffs, keeps_diffs, page_bytes}, page_bytes);
    pages_.begin({}, pages / 2);
    locks_.keep(1);
  }

  // False: the other rank broke the protocol, and the job is over.
  bool step(fuzzing::Input& input) {
    const unsigned event = input.byte();
    if (event >= 192) {
      act(event);
      return true;
    }
    const auto from = static_cast<Rank>((me_ + 1 + event % (ranks - 1)) % ranks);
    const auto kind = static_cast<Message>(event / (ranks - 1) % (message_count - 1));
    const auto header = input.bytes(input.byte());
    const auto payload = input.bytes(input.byte());
    return receiver_.take(kind, from, header, payload);
  }

 private:
  void act(unsigned event) {
    const std::uint64_t number = event % 4;
    switch (event / 4 % 5) {
      case 0:
        return static_cast<void>(pages_.touch(number, Access::read));
      case 1:
        return static_cast<void>(pages_.touch(number, Access::write));
      case 2:
        if (!is_busy_) is_busy_ = locks_.acquire(number) == Locks::Outcome::asked;
        return;
      case 3:
        if (locks_.release(number)) locks_.wants_common_time();
        return;
      default:
        if (!is_at_barrier_) {
          is_at_barrier_ = true;
          barriers_.arrive(number);
        }
    }
  }
  std::span<std::byte> of(PageNumber page) {
    FUZZ_CHECK(page < pages);
    return std::span(bytes_).subspan(page * page_bytes, page_bytes);
  }

  void allow(PageNumber first, std::size_t count, Access) override {
    FUZZ_CHECK(first < pages && count <= pages - first);
  }
  bool make_twin(PageNumber page) override {
    FUZZ_CHECK(twins_[page].empty());
    twins_[page].assign(of(page).begin(), of(page).end());
    return true;
  }
  std::span<const std::byte> take_diff(PageNumber page) override {
    FUZZ_CHECK(!twins_[page].empty());
    runs_ = runs_between(twins_[page], of(page));
    twins_[page].clear();
    return runs_;
  }
  bool apply(PageNumber page, std::span<const std::byte> runs) override {
    return apply_runs(runs, of(page));
  }
  std::span<const std::byte> read(PageNumber page) override { return of(page); }
  void fill(PageNumber page, std::span<const std::byte> bytes) override {
    FUZZ_CHECK(bytes.empty() || bytes.size() == page_bytes);
    FUZZ_CHECK(twins_[page].empty());
    std::ranges::copy(bytes, of(page).begin());
  }
  void give_back(PageNumber first, std::size_t count) override {
    for (PageNumber page = first; page < first + count; page++) fill(page, {});
  }
  void ready(PageNumber page) override { FUZZ_CHECK(page < pages); }
  void needs_no_interval(Rank asker, PageNumber page) override {
    FUZZ_CHECK(asker < ranks && page < pages);
  }

  void sends(Rank to) { FUZZ_CHECK(to < ranks); }
  void ask_home(Rank to, PageNumber) override { sends(to); }
  void tell_home(Rank to, PageNumber, Rank) override { sends(to); }
  void ask_initial(Rank to, PageNumber) override { sends(to); }
  void tell_initial(Rank to, PageNumber, std::span<const std::byte>) override { sends(to); }
  void ask_page(Rank to, PageNumber, std::span<const Stamp>) override { sends(to); }
  void tell_page(Rank to, PageNumber, std::span<const Stamp>, std::span<const std::byte>) override {
    sends(to);
  }
  void send_diff(Rank to, PageNumber, Sequence, std::span<const std::byte>) override { sends(to); }
  void flush_diffs() override {}
  void pull_diffs(Rank to, PageNumber, Sequence, Rank asker) override {
    sends(to);
    FUZZ_CHECK(asker < ranks);
  }
  void ask_diffs(Rank to, PageNumber, const DiffRange&) override { sends(to); }
  void tell_diffs(Rank to, PageNumber, std::span<const KeptDiff* const>) override { sends(to); }
  void give_back(Rank to, Epoch, std::span<const GivenLock>) override { sends(to); }
  void take_back(Rank to, std::span<const GivenLock>) override { sends(to); }
  void contradict(const Attendant& one, const Attendant& other) override {
    FUZZ_CHECK(one.rank < ranks && other.rank < ranks);
  }
  void ask_lock(Rank to, LockId, bool, const VectorTime&) override { sends(to); }
  void forward(Rank to, LockId, Rank, bool, const VectorTime&) override { sends(to); }
  void grant(Rank to, LockId, Epoch, std::span<const Interval>) override { sends(to); }
  void refuse(Rank to, LockId) override { sends(to); }
  void tell_tried(Rank to, LockId, bool) override { sends(to); }
  void acquired(LockId) override { is_busy_ = false; }
  void not_acquired(LockId) override { is_busy_ = false; }
  void granted_with_gap(Rank rank) override { FUZZ_CHECK(rank < ranks); }
  void arrive(Rank to, BarrierId, const VectorTime&, std::span<const Interval>) override {
    sends(to);
  }
  void let_go(Rank to, const VectorTime&, std::span<const Interval>) override { sends(to); }
  void passed(const VectorTime& common) override {
    is_at_barrier_ = false;
    locks_.passed_barrier(common);
  }
  void mismatch(Rank, BarrierId, BarrierId) override {}
  void arrived_twice(Rank, BarrierId) override {}
  void acknowledge_diffs(Rank to) override { sends(to); }
  bool heard_acknowledge(Rank) override { return true; }

  std::vector<std::byte> bytes_;
  std::vector<std::vector<std::byte>> twins_;
  std::vector<std::byte> runs_;
  bool is_busy_ = false;
  bool is_at_barrier_ = false;
  const Rank me_;
  Pages pages_;
  Locks locks_;
  Barriers barriers_;
  Attendance attendance_;
  Receiver receiver_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzzing::Input input(data, size);
  // In a chain, the fan-in 1, rank 1 is an inner one.
  const unsigned shape = input.byte();
  Played played(static_cast<Rank>(shape % ranks), shape / ranks % 2 == 0 ? ranks : 1,
                shape / ranks / 2 % 2 != 0);
  for (int steps = 0; !input.is_over() && steps < 200; steps++) {
    if (!played.step(input)) break;
  }
  return 0;
}
