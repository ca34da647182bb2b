#include "sharing/lattice_reader.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <stdexcept>

#include "sharing/lattice_segment.h"

namespace mining {
namespace {

// The walk trusts no name but the types': each block must agree with those around it.
class Walk {
 public:
  Walk(const lattice_t& lattice, std::FILE* out) : lattice_(lattice), out_(out) {}

  void below(const pattern_t& sequence, std::uint32_t having) {
    for (const pattern_t* at = sequence.extended_by; at != nullptr; at = at->next) {
      const std::uint32_t support =
          at->row < lattice_.rows ? lattice_.support_base[at->row] + lattice_.support_gain[at->row]
                                  : UINT32_MAX;
      if (at->extends != &sequence) wrong("leads back to another one", *at);
      if (support > having) wrong("has a support that cannot be", *at);
      if (!is_one_longer(*at, sequence)) wrong("does not extend what it says", *at);
      if (support >= lattice_.minimum) std::fprintf(out_, "frequent %u %s\n", support, at->text);
      below(*at, support);
    }
  }

 private:
  static bool is_one_longer(const pattern_t& longer, const pattern_t& sequence) {
    const std::string between = sequence.extends == nullptr ? "" : longer.item < 0 ? "+" : " ";
    const int item = longer.item < 0 ? -1 - longer.item : longer.item;
    return longer.text == sequence.text + between + std::to_string(item);
  }

  void wrong(const char* what, const pattern_t& one) const {
    std::fprintf(out_, "wrong '%s' %s\n", one.text, what);
  }

  const lattice_t& lattice_;
  std::FILE* out_;
};

void print(const iw::Segment& segment, std::FILE* out) {
  const auto lock = iw::ReadLock::try_for(segment, 30, IW_FRESH);
  const lattice_t* const lattice = lock ? find_lattice(segment) : nullptr;
  if (lattice == nullptr) {
    std::fprintf(out, "wrong the segment has no lattice\nend\n");
    return;
  }
  std::fprintf(out, "counts %u %u %u %u %u\n", lattice->sequences, lattice->minimum,
               lattice->customers, lattice->transactions, lattice->step);
  Walk(*lattice, out).below(*lattice->root, lattice->customers);
  std::fprintf(out, "end\n");
}

[[noreturn]] void serve(std::FILE* in, std::FILE* out) {
  std::array<char, 4096> line{};
  std::string url;
  std::optional<iw::Segment> segment;
  while (std::fgets(line.data(), line.size(), in) != nullptr) {
    if (line.data() != url) {
      url = line.data();
      segment.emplace(url.substr(0, url.find('\n')));
    }
    print(*segment, out);
    std::fflush(out);
  }
  segment.reset();
  std::_Exit(0);
}

}  // namespace

LatticeReader::LatticeReader() {
  std::array<int, 2> questions{}, answers{};
  if (pipe(questions.data()) != 0 || pipe(answers.data()) != 0 || (child_ = fork()) < 0) {
    throw std::runtime_error("no process for a reader");
  }
  if (child_ == 0) {
    close(questions[1]);
    close(answers[0]);
    serve(fdopen(questions[0], "r"), fdopen(answers[1], "w"));
  }
  close(questions[0]);
  close(answers[1]);
  asked_ = fdopen(questions[1], "w");
  answers_ = fdopen(answers[0], "r");
}

LatticeReader::~LatticeReader() {
  std::fclose(asked_);
  std::fclose(answers_);
  waitpid(child_, nullptr, 0);
}

SeenLattice LatticeReader::look(const std::string& url) {
  std::fprintf(asked_, "%s\n", url.c_str());
  std::fflush(asked_);
  SeenLattice seen;
  std::array<char, 4096> bytes{};
  while (std::fgets(bytes.data(), bytes.size(), answers_) != nullptr) {
    const std::string line(bytes.data());
    unsigned support = 0;
    int text = 0;
    if (line == "end\n") return seen;
    if (std::sscanf(line.c_str(), "frequent %u %n", &support, &text) == 1) {
      const bool is_new =
          seen.frequent.emplace(line.substr(text, line.size() - 1 - text), support).second;
      if (!is_new) seen.wrong += "twice: " + line;
    } else if (std::sscanf(line.c_str(), "counts %u %u %u %u %u", &seen.sequences, &seen.minimum,
                           &seen.customers, &seen.transactions, &seen.step) != 5) {
      seen.wrong += line;
    }
  }
  seen.wrong = "the reader has ended";
  return seen;
}

}  // namespace mining
