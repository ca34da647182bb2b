// The messages of one rank to the others: packs diffs, keeps what the transport has not taken yet,
// and counts. Implements [DSM-MAIL-1] to [DSM-MAIL-5] of spec/cluster/dsm.x (PIPE, section 3).
//
// PIPE: each destination has a ring of `depth` buffers. Diffs are packed into one until it is full,
// or the interval ends. It travels while the next is filled. When it is acknowledged, it is free.
// ORIG: each diff is a message of its own, in a buffer of its own.
//
// Nothing here waits. A diff that finds no free buffer waits in a list, in order.
//
// The rank's exclusion is held in all calls. What a completion names stays where it is until then.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dsm/dsm.gen.h"
#include "dsm/protocol/attendance.h"
#include "dsm/protocol/barriers.h"
#include "dsm/protocol/fault_memory.h"
#include "dsm/protocol/locks.h"
#include "dsm/protocol/pages.h"
#include "dsm/protocol/receiver.h"
#include "fabric/fabric.h"

namespace iw::dsm {

enum class DiffWay : std::uint8_t { pipe, orig };
inline constexpr std::size_t buffer_bytes_usual = 32 << 10;
inline constexpr std::size_t buffer_bytes_least = 4 << 10;
inline constexpr std::size_t buffer_bytes_most = 1 << 20;
inline constexpr unsigned depth_usual = 2;
inline constexpr unsigned depth_most = 64;

struct MailStats {
  std::array<std::uint64_t, message_count> messages{};  // sent, by kind
  std::uint64_t service_messages = 0;
  std::uint64_t bytes = 0;  // sent, of all messages, headers among them
  std::uint64_t diffs = 0;
  std::uint64_t diff_bytes = 0;     // of their runs
  std::uint64_t buffers = 0;        // of diffs that were sent
  std::uint64_t stalls = 0;         // diffs that found no free buffer
  std::uint64_t waiting_bytes = 0;  // of diffs in buffers and in the list, now
  std::uint64_t waiting_bytes_most = 0;
};

class MailListener {
 public:
  virtual ~MailListener() = default;
  // The transport did not take a message.
  virtual void not_sent(Rank to, fabric::Status why) = 0;
};

class NodeMail final : public PageMail, public LockMail, public BarrierMail, public DiffBuffers {
 public:
  struct Options {
    DiffWay way = DiffWay::pipe;
    std::size_t buffer_bytes = buffer_bytes_usual;
    unsigned depth = depth_usual;
  };
  // peers: by rank; that of this rank itself is not looked at.
  NodeMail(const Options& options, Rank me, fabric::Worker& worker,
           std::vector<fabric::PeerId> peers, MailListener& listener);
  ~NodeMail() override;

  std::optional<Rank> rank_of(fabric::PeerId peer) const;

  // PageMail
  void ask_home(Rank to, PageNumber page) override;
  void tell_home(Rank to, PageNumber page, Rank home) override;
  void ask_initial(Rank to, PageNumber page) override;
  void tell_initial(Rank to, PageNumber page, std::span<const std::byte> bytes) override;
  void ask_page(Rank to, PageNumber page, std::span<const Stamp> needed) override;
  void tell_page(Rank to, PageNumber page, std::span<const Stamp> there,
                 std::span<const std::byte> bytes) override;
  void send_diff(Rank to, PageNumber page, Sequence sequence,
                 std::span<const std::byte> runs) override;
  void flush_diffs() override;
  void pull_diffs(Rank to, PageNumber page, Sequence last, Rank asker) override;
  void ask_diffs(Rank to, PageNumber page, const DiffRange& range) override;
  void tell_diffs(Rank to, PageNumber page, std::span<const KeptDiff* const> diffs) override;
  // LockMail
  void ask_lock(Rank to, LockId lock, bool is_try, const VectorTime& known) override;
  void forward(Rank to, LockId lock, Rank asker, bool is_try, const VectorTime& known) override;
  void grant(Rank to, LockId lock, Epoch epoch, std::span<const Interval> intervals) override;
  void refuse(Rank to, LockId lock) override;
  void tell_tried(Rank to, LockId lock, bool is_given) override;
  void give_back(Rank to, Epoch epoch, std::span<const GivenLock> locks) override;
  void take_back(Rank to, std::span<const GivenLock> locks) override;
  // BarrierMail
  void arrive(Rank to, BarrierId barrier, const VectorTime& known,
              std::span<const Interval> held) override;
  void let_go(Rank to, const VectorTime& common, std::span<const Interval> lacking) override;

  // Where this rank is from now on: arrivals tell it.
  void be_at(const Whereabouts& here) { here_ = here; }
  void tell_whereabouts(Rank to);

  // DiffBuffers
  void acknowledge_diffs(Rank to) override;
  [[nodiscard]] bool heard_acknowledge(Rank from) override;

  // Diffs that wait for a buffer are more than a rank should have.
  bool is_full() const { return stats_.waiting_bytes > waiting_bytes_most; }
  // Nothing that this rank sent is still in the hands of the transport.
  bool is_idle() const { return in_transport_ == 0; }

  // Any message. Longer payloads than the fabric takes go in parts [DSM-MAIL-2].
  void send(Rank to, Message kind, fabric::Bytes header, fabric::Bytes payload);
  // ok, or why the message cannot be sent.
  fabric::Status send_service(Rank to, fabric::MessageId id, fabric::Bytes header,
                              fabric::Bytes payload);
  const MailStats& stats() const { return stats_; }

 private:
  static constexpr std::uint64_t waiting_bytes_most = 64 << 20;
  // A message, until the transport has taken it. A fault sends some.
  struct Letter : fabric::Completion {
    NodeMail* mail = nullptr;
    Rank to = 0;
    std::array<std::byte, fabric::header_bytes_max> header;
    FaultVector<std::byte> bytes;
  };
  // Diffs that travel together. The fabric's room is at the beginning. A fault sends diffs that
  // stayed here.
  struct Buffer : fabric::Completion {
    NodeMail* mail = nullptr;
    Rank to = 0;
    bool is_in_transport = false;
    bool is_acknowledged = false;
    std::size_t diff_bytes = 0;
    FaultVector<std::byte> bytes;
  };
  struct Diff {
    PageNumber page;
    Sequence sequence;
    std::span<const std::byte> runs;
  };
  struct WaitingDiff {
    PageNumber page;
    Sequence sequence;
    FaultVector<std::byte> runs;
  };
  struct Ring {
    FaultPointer<Buffer> filling;
    FaultDeque<FaultPointer<Buffer>> sent;  // in their order
    FaultVector<FaultPointer<Buffer>> free;
    std::size_t made = 0;
    FaultDeque<WaitingDiff> waiting;
    std::size_t packed = 0;  // of the first one that waits
  };

  Letter* take_letter(Rank to);
  void give_back(Letter* letter, fabric::Status status);
  fabric::Status hand(Letter* letter, fabric::MessageId id, fabric::Bytes header,
                      fabric::Bytes payload);
  fabric::Status post(Rank to, fabric::MessageId id, fabric::Bytes header, fabric::Bytes payload);
  static void on_letter_sent(fabric::Completion& self, fabric::Status status);
  static void on_buffer_sent(fabric::Completion& self, fabric::Status status);
  bool has_buffer(Rank to);
  std::size_t pack(Rank to, const Diff& diff, std::size_t offset);
  void send_filling(Rank to);
  void send_waiting(Rank to);
  void free_buffers(Rank to);
  void count_waiting(std::size_t more, std::size_t less);

  const Options options_;
  const Rank me_;
  fabric::Worker& worker_;
  const std::vector<fabric::PeerId> peers_;
  std::vector<std::optional<Rank>> ranks_;  // by peer
  MailListener& listener_;
  Whereabouts here_;
  FaultVector<FaultPointer<Letter>> letters_;
  FaultVector<Letter*> free_letters_;
  std::size_t in_transport_ = 0;
  std::vector<Ring> rings_;
  FaultVector<Rank> dirty_;  // some of these ranks' buffers are begun
  std::vector<std::byte> scratch_;
  MailStats stats_;
};

}  // namespace iw::dsm
