// Takes the messages of other ranks apart, and hands them to the machines. Each is checked before
// it is used [DSM-MAIL-1]. No I/O.
//
// Invariant: the memory for messages that are not whole yet is bounded by the bytes that came, and
// for each rank by parts_bytes_max and a diff.
#pragma once

#include <optional>
#include <vector>

#include "dsm/dsm.gen.h"
#include "dsm/protocol/attendance.h"
#include "dsm/protocol/barriers.h"
#include "dsm/protocol/locks.h"
#include "dsm/protocol/messages.h"
#include "dsm/protocol/pages.h"
#include "fabric/fabric.h"

namespace iw::dsm {

// The buffers of diffs, at both ends.
class DiffBuffers {
 public:
  virtual ~DiffBuffers() = default;
  virtual void acknowledge_diffs(Rank to) = 0;
  // False: nothing is on the way to that rank.
  [[nodiscard]] virtual bool heard_acknowledge(Rank from) = 0;
};

class Receiver {
 public:
  Receiver(Rank me, const Bounds& bounds, std::size_t page_bytes, Pages& pages, Locks& locks,
           Barriers& barriers, Attendance& attendance, DiffBuffers& diffs)
      : me_(me),
        bounds_(bounds),
        page_bytes_(page_bytes),
        pages_(pages),
        locks_(locks),
        barriers_(barriers),
        attendance_(attendance),
        diffs_(diffs),
        parts_(bounds.ranks),
        partial_(bounds.ranks) {}

  // Any message but tell_job. False: it breaks the protocol. REQUIRES: the job has the rank, which
  // is another one.
  [[nodiscard]] bool take(Message kind, Rank from, fabric::Bytes header, fabric::Bytes payload);
  // The payload of a message that can be long, with the parts that came before [DSM-MAIL-2]. They
  // are put together in *room.
  fabric::Bytes join(Rank from, fabric::Bytes payload, std::vector<std::byte>* room);

 private:
  bool take_whole(Message kind, Rank from, fabric::Bytes header, fabric::Bytes payload);
  bool take_part(Rank from, fabric::Bytes header, fabric::Bytes payload);
  bool take_homes(Message kind, Rank from, fabric::Bytes header, fabric::Bytes payload);
  bool take_page(Message kind, Rank from, fabric::Bytes header, fabric::Bytes payload);
  bool take_diffs(Rank from, fabric::Bytes header, fabric::Bytes payload);
  bool take_kept_diffs(Message kind, Rank from, fabric::Bytes header, fabric::Bytes payload);
  bool take_ask_diffs(Rank from, const AskDiffsHead& head);
  bool take_diff_piece(Rank from, const DiffPiece& piece);
  bool take_lock(Message kind, Rank from, fabric::Bytes header, fabric::Bytes payload);
  bool take_lock_request(Message kind, Rank from, const LockHead& head, fabric::Bytes payload);
  bool take_given_locks(Message kind, Rank from, fabric::Bytes header, fabric::Bytes payload);
  bool take_come(Rank from, fabric::Bytes header, fabric::Bytes payload);
  bool take_barrier(Message kind, Rank from, fabric::Bytes header, fabric::Bytes payload);

  const Rank me_;
  const Bounds bounds_;
  const std::size_t page_bytes_;
  Pages& pages_;
  Locks& locks_;
  Barriers& barriers_;
  Attendance& attendance_;
  DiffBuffers& diffs_;

  // Of payloads and diffs of which a part has come, by rank.
  struct PartialDiff {
    DiffHead head;
    std::vector<std::byte> runs;
  };
  std::vector<std::vector<std::byte>> parts_;
  std::vector<std::optional<PartialDiff>> partial_;
  FaultVector<Stamp> stamps_;  // of the last message about a page
};

}  // namespace iw::dsm
