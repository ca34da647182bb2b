// Costs that do not depend on the container's size (an insert's bytes, the reader's handler), and
// costs by the queue's length.
#include <cstdio>

#include "containers/measures.h"
#include "containers/reader_inbox.h"

namespace bench {

using namespace iw::containers;

namespace {

std::shared_ptr<Numbers> numbers_of(std::size_t elements) {
  auto numbers = std::make_shared<Numbers>();
  for (std::size_t i = 0; i < elements; i++) numbers->push_back(1);
  return numbers;
}

}  // namespace

// The time that a thread takes to handle a message with so many bytes of arguments.
void measure_handler() {
  Csv csv("containers_handler.csv", "bytes,us");
  constexpr int batches = 101, count = 100;
  Options options;
  options.queue_length = 2 * count;  // measure() warms up
  double smallest_us = 0;
  for (const std::size_t bytes : {8, 64, 512, 1024, 4096, 16000}) {
    ReaderInbox inbox(options);
    inbox.start(1);
    Head head{};
    head.link = 1;
    head.life_ms = 1000;
    head.kind = whole_object;
    inbox.take(head, {});
    head.kind = 1;
    const std::vector<std::byte> block(bytes);
    std::vector<double> samples;
    for (int batch = 0; batch < batches; batch++) {
      inbox.take_batch();
      samples.push_back(measure(1, count, [&] {
        head.sequence++;
        if (inbox.take(head, block) != Answer::ok) fail("the handler took nothing");
      }));
    }
    const double us = median(samples);
    if (smallest_us == 0) smallest_us = us;
    std::printf("handler, %5zu bytes: %.3f us, %.2fx of that of 8\n", bytes, us, us / smallest_us);
    csv.row(format("%zu,%.4f", bytes, us));
  }
  csv.finish();
}

void measure_sizes(Factory& factory) {
  Csv csv("containers_size.csv", "elements,insert_bytes,object_bytes");
  for (const std::size_t elements : {0, 1000, 100000, 1000000}) {
    const auto writer = factory.make_writer<Numbers>("sized", numbers_of(elements));
    const auto reader = factory.make_reader<Numbers>("sized");
    await_answers(*writer);
    const auto object_bytes = writer->statistics().bytes_sent;
    writer->call<&Numbers::push_back>(1);
    await_answers(*writer);
    const auto insert_bytes = writer->statistics().bytes_sent - object_bytes;
    std::printf("%8zu elements: an insert %llu bytes, the object %llu\n", elements,
                static_cast<unsigned long long>(insert_bytes),
                static_cast<unsigned long long>(object_bytes));
    csv.row(format("%zu,%llu,%llu", elements, static_cast<unsigned long long>(insert_bytes),
                   static_cast<unsigned long long>(object_bytes)));
  }
  csv.finish();
}

namespace {

struct Sweep {
  std::uint64_t objects;
  double bytes_an_update, kept, read_us;
};

// A reader that reads once in so many updates.
Sweep sweep(WriterContainer<Numbers>& writer, ReaderContainer<Numbers>& reader, int reads,
            int updates_a_read) {
  const auto before = writer.statistics();
  std::vector<double> read_us, kept;
  for (int i = 0; i < reads; i++) {
    for (int update = 0; update < updates_a_read; update++) {
      writer.call<&Numbers::set>(static_cast<std::uint64_t>(update), i);
    }
    await_answers(writer);
    kept.push_back(static_cast<double>(reader.statistics().queued));
    const auto begin = std::chrono::steady_clock::now();
    reader.read();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    read_us.push_back(took.count());
  }
  await_answers(writer);
  const auto after = writer.statistics();
  return {after.objects_sent - before.objects_sent,
          static_cast<double>(after.bytes_sent - before.bytes_sent) / (reads * updates_a_read),
          median(kept), median(read_us)};
}

}  // namespace

void measure_queues(Factory& factory) {
  constexpr int reads = 32, updates_a_read = 64;
  Csv csv("containers_queue.csv", "read_every,queue_length,objects,bytes_an_update,kept,read_us");
  const auto writer = factory.make_writer<Numbers>("swept", numbers_of(10000));
  for (const std::size_t length : {1, 4, 16, 32, 63, 64, 256}) {
    Options options;
    options.queue_length = length;
    const auto reader = factory.make_reader<Numbers>("swept", std::make_shared<Numbers>(), options);
    await_answers(*writer);
    reader->read();
    const Sweep is = sweep(*writer, *reader, reads, updates_a_read);
    std::printf(
        "queue of %3zu: %2llu objects, %6.0f bytes an update, %3.0f kept, %5.0f us a read\n",
        length, static_cast<unsigned long long>(is.objects), is.bytes_an_update, is.kept,
        is.read_us);
    csv.row(format("%d,%zu,%llu,%.1f,%.0f,%.1f", updates_a_read, length,
                   static_cast<unsigned long long>(is.objects), is.bytes_an_update, is.kept,
                   is.read_us));
  }
  csv.finish();
}

}  // namespace bench
