// The line below the picture, and the rates that it shows.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace astroflow {

// How fast a growing number grew over the last second.
class RateMeter {
 public:
  void note(double now_s, double value);
  double per_second() const;

 private:
  struct Sample {
    double time_s, value;
  };
  std::deque<Sample> samples_;
};

struct ViewStatus {
  std::string_view problem;
  uint64_t version = 0;
  uint64_t frame = 0;
  uint64_t last_frame = 0;  // 0: none
  double time = 0;
  double end_time = 0;
  double cfl = 0;
  double frames_per_s = 0;
  double bytes_per_s = 0;
  uint64_t bytes_received = 0;
  double staleness_s = 0;
  bool paused = false;
  bool finished = false;
  unsigned breakdowns = 0;
  std::string_view message;  // shown first if not empty
};

std::string status_line(const ViewStatus& status);
std::string key_line();

// "512 B", "1.5 MB": three digits or so, powers of 1000.
std::string readable_bytes(double bytes);

}  // namespace astroflow
