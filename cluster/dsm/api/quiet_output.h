// Standard output before the first barrier. All ranks run the same program until then, so the
// others' output is dropped and rank 0's appears once.
#pragma once

namespace iw::dsm {

class QuietOutput {
 public:
  QuietOutput() = default;
  QuietOutput(const QuietOutput&) = delete;
  QuietOutput& operator=(const QuietOutput&) = delete;
  ~QuietOutput() { end(); }

  // Drops what the process printed and still has in its buffer, too.
  void begin();
  void end();

 private:
  int kept_ = -1;  // a copy of the descriptor of standard output
};

}  // namespace iw::dsm
