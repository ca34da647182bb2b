// One process of the demo: writes its grid, reads the others', and does what it is told, line by
// line, on its standard input; its end is the process's end. What it says, line by line:
//
//   it is told                    it says
//                                 writes GRID TERM WRITER UPDATES    at each beginning as a writer
//                                 ready                              its own grid is there
//   meet                          met                                it has a copy of each grid
//   storm UPDATES RATE SEED       done                               it made so many; 0: no end
//   stop                          writes ... of each it writes, stopped
//   show                          frame PART CELLS PART CELLS ...
//   settle ROUND STAMP STAMP ...  frame ..., settled ROUND DIGEST    its grids are in these states
#pragma once

#include <chrono>
#include <optional>
#include <random>

#include "grid/shared_grid.h"

namespace grid {

struct MemberOptions {
  int number = 0;
  int processes = 1;
  int rows = 4;
  int columns = 8;
};

class Member {
 public:
  explicit Member(const MemberOptions& options);
  // Until its input ends.
  void run();

 private:
  struct Storm {
    std::uint64_t updates = 0;  // 0: no end
    double rate = 0;            // updates a second; 0: as fast as it goes
    std::chrono::steady_clock::time_point begin;
    std::uint64_t made = 0;
    bool is_over() const { return updates != 0 && made >= updates; }
    // How many are to be made now.
    std::uint64_t due() const;
  };
  struct Target {
    int round = 0;
    std::vector<Stamp> stamps;
  };

  bool take_orders();  // false: there are no more
  void obey(const std::string& order);
  int patience_ms() const;
  void mend_a_tie();
  void go_on_storming();
  void update(WriterContainer<Grid>& grid);
  void settle();
  void say_what_is_written(SharedGrid& grid, std::size_t number);
  std::string frame();
  Place random_place();

  MemberOptions options_;
  Factory factory_;
  std::vector<SharedGrid> grids_;
  std::mt19937_64 random_;
  std::string input_;
  bool has_met_ = false;
  std::size_t next_tie_ = 0;  // that mend_a_tie() looks at first
  std::optional<Storm> storm_;
  std::optional<Target> target_;
};

}  // namespace grid
