// The inboxes of a reader and a writer under any messages and answers. The reader's queue never is
// longer than it may be, and what it gives out is whole: parts that follow each other.
#include "containers/reader_inbox.h"
#include "containers/writer_inbox.h"
#include "fuzz/cluster/played_worker.h"
#include "fuzz/native/target.h"

using namespace iw;
using namespace iw::containers;

namespace {

constexpr std::size_t queue_length = 4;
constexpr int link_number = 1;

void check(const Item& item) {
  FUZZ_CHECK(!item.buffers.empty() && item.buffers.size() == item.checksums.size());
  for (std::size_t part = 0; part < item.buffers.size(); part++) {
    const bool is_last = part + 1 == item.buffers.size();
    FUZZ_CHECK((item.buffers[part].size() == part_bytes) != is_last);
  }
  static_cast<void>(item.is_undamaged());
}

void take_batch(ReaderInbox& inbox) {
  const auto batch = inbox.take_batch();
  if (batch.object) check(*batch.object);
  for (std::size_t i = 0; i < batch.updates.size(); i++) {
    check(batch.updates[i]);
    if (i == 0) continue;
    FUZZ_CHECK(batch.updates[i].head.sequence == batch.updates[i - 1].head.sequence + 1);
  }
}

void step(fuzzing::Input& input, ReaderInbox& reader, WriterInbox& writer) {
  const unsigned event = input.byte();
  Head head;
  const auto bytes = input.bytes(sizeof head);
  if (!fabric::read_whole(bytes, &head)) return;
  AnswerWords said;
  switch (event % 8) {
    case 0:
      return take_batch(reader);
    case 1:
      if (!fabric::read_whole(bytes.first(sizeof said), &said)) return;
      writer.answered(said.link, said.answer, said.sequence);
      return reader.answered(said.link, said.answer, said.sequence);
    case 2:
      writer.take_join(head.link, {});
      return static_cast<void>(writer.take_news());
    case 3:
      static_cast<void>(writer.take(head, {}));
      return writer.came_back(head.link);
    default: {
      const bool is_full = event >= 128;
      const std::vector<std::byte> full(is_full ? part_bytes : 0);
      static_cast<void>(reader.take(head, is_full ? full : input.bytes(event % 16)));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Options options;
  options.queue_length = queue_length;
  ReaderInbox reader(options);
  WriterInbox writer;
  reader.start(link_number);
  writer.open(link_number);
  writer.set_giving(true);
  fuzzing::Input input(data, size);
  while (!input.is_over()) {
    step(input, reader, writer);
    FUZZ_CHECK(reader.queued() <= queue_length);
  }
  take_batch(reader);
  return 0;
}
