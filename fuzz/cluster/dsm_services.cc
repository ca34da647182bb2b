// The services of a rank of the shared memory (counters, semaphores, conditions, collectives) under
// any messages of other ranks: answers go to ranks that are there, a result has the bytes that this
// rank asked for, and a question that is answered stays answered.
#include <cstring>
#include <vector>

#include "dsm/services/services.h"
#include "fuzz/cluster/played_worker.h"
#include "fuzz/native/target.h"

using namespace iw;
using namespace iw::dsm;

namespace {

constexpr Rank ranks = 3;

class Played final : ServiceMail {
 public:
  explicit Played(Rank me) : me_(me), services_(me, ranks, *this) {}

  // False: the other rank broke the protocol, and the job is over.
  bool step(fuzzing::Input& input) {
    const unsigned event = input.byte();
    if (event >= 192) {
      act(event);
      return true;
    }
    ServiceHead head;
    head.call = static_cast<ServiceCall>(event % 10);
    head.shape = static_cast<ServiceShape>(input.byte() % 7);
    head.source = input.byte() % (ranks + 1);
    head.number = input.byte();
    head.ticket = input.byte();
    head.value = input.byte();
    const auto from = static_cast<Rank>((me_ + 1 + event / 10 % (ranks - 1)) % ranks);
    const bool is_sound = services_.heard(from, head, input.bytes(input.byte()));
    if (services_.differing_rank()) {
      FUZZ_CHECK(*services_.differing_rank() < ranks);
      return false;
    }
    end_round();
    return is_sound;
  }

 private:
  void act(unsigned event) {
    const std::uint64_t number = event % 8;
    switch (event / 8 % 6) {
      case 0:
        return ask(services_.add(number, 1));
      case 1:
        return ask(services_.take(number));
      case 2:
        return ask(services_.await(number));
      case 3:
        return services_.post(number);
      case 4:
        return services_.signal(number, event % 2 == 0);
      default:
        return give(number);
    }
  }

  void ask(Ticket ticket) {
    if (services_.is_answered(ticket)) services_.close(ticket);
  }

  void give(std::uint64_t number) {
    if (is_giving_) return;
    is_giving_ = true;
    round_ = number % 2 == 0 ? Round{ServiceShape::sum_double, 0, 8 * number}
                             : Round{ServiceShape::broadcast, 1, number};
    const bool is_given = round_.shape != ServiceShape::broadcast || me_ == round_.source;
    services_.give(round_, std::vector<std::byte>(is_given ? round_.bytes : 0));
    end_round();
  }

  void end_round() {
    if (!is_giving_ || !services_.round_result()) return;
    FUZZ_CHECK(services_.round_result()->size() == round_.bytes);
    is_giving_ = false;
  }

  void send(Rank to, const ServiceHead&, std::span<const std::byte> payload) override {
    FUZZ_CHECK(to < ranks && to != me_);
    FUZZ_CHECK(payload.size() <= std::size_t{service_round_bytes_max});
  }

  const Rank me_;
  Services services_;
  Round round_;
  bool is_giving_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzzing::Input input(data, size);
  Played played(static_cast<Rank>(input.byte() % ranks));
  for (int steps = 0; !input.is_over() && steps < 200; steps++) {
    if (!played.step(input)) break;
  }
  return 0;
}
