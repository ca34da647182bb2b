// A node's directory and the founder's names under any questions, answers and deaths: nothing
// outside the pool changes, and each question is answered once at most, but for claims, which wait.
#include <algorithm>

#include "ddss/serving.h"
#include "fuzz/cluster/played_worker.h"
#include "fuzz/native/target.h"

using namespace iw;
using namespace iw::ddss;

namespace {

constexpr std::size_t heap_bytes = 8192, guard_bytes = 64;
constexpr std::byte untouched{0xa5};

// The directory takes most of it, so it is made once; the parts that a run may change are cleared.
std::span<std::byte> pool() {
  static auto* const memory = new std::vector<std::byte>(heap_begin + heap_bytes + guard_bytes);
  constexpr std::size_t entries = 4096;  // no input of the fuzzer creates more
  std::fill_n(memory->begin(), entries * sizeof(Descriptor), std::byte{0});
  std::fill_n(memory->begin() + heap_begin, heap_bytes, std::byte{0});
  std::fill(memory->end() - guard_bytes, memory->end(), untouched);
  return {memory->data(), memory->size()};
}

struct Played {
  Played() : memory(pool()), directory(memory.first(heap_begin + heap_bytes)) {}
  void serve(Question question, fabric::Bytes asked, fabric::Bytes payload, Caller caller) {
    serve_directory(directory, *questions, question, asked, payload, caller);
    serve_names(names, *questions, question, asked, caller);
  }
  void step(fuzzing::Input& input) {
    const unsigned event = input.byte();
    const fabric::PeerId peer = event % fuzzing::peers;
    if (event >= 250) {
      is_gone[peer] = true;
      worker.die(peer);
      return names.note_death(peer);
    }
    const int id = event >= 240 ? answer_id : question_id;
    const auto header = input.bytes(input.byte());
    const auto payload = input.bytes(event % 32);
    worker.arrive(peer, static_cast<fabric::MessageId>(id), header, payload, false);
    asked++;
    FUZZ_CHECK(worker.sent <= asked);
  }
  std::size_t asked = 0;
  std::span<std::byte> memory;
  fuzzing::PlayedWorker worker;
  std::array<bool, fuzzing::peers> is_gone{};
  Directory directory;
  std::unique_ptr<Questions> questions = std::make_unique<Questions>(
      worker, [this](Question question, fabric::Bytes asked, fabric::Bytes payload, Caller caller) {
        serve(question, asked, payload, caller);
      });
  Names names{[this](Caller caller, Key key) { questions->answer(caller, NameAnswer{key}); },
              [this](NodeNumber number) { return !is_gone[number % fuzzing::peers]; }};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzzing::Input input(data, size);
  Played played;
  for (int steps = 0; !input.is_over() && steps < 200; steps++) played.step(input);
  const auto is_guard = [](std::byte each) { return each == untouched; };
  FUZZ_CHECK(std::all_of(played.memory.end() - guard_bytes, played.memory.end(), is_guard));
  return 0;
}
