#include "viewer/status_line.h"

#include <array>
#include <cstdio>

namespace astroflow {
namespace {

constexpr double kWindow_s = 1.0;

template <typename... Args>
std::string formatted(const char* format, Args... args) {
  std::array<char, 160> buffer;
  const int n = std::snprintf(buffer.data(), buffer.size(), format, args...);
  return n > 0 ? std::string(buffer.data()) : std::string();
}

std::string readable_age(double age_s) {
  return age_s < 1 ? formatted("%.0f ms", age_s * 1000) : formatted("%.1f s", age_s);
}

}  // namespace

void RateMeter::note(double now_s, double value) {
  samples_.push_back({now_s, value});
  while (samples_.size() > 2 && samples_[1].time_s < now_s - kWindow_s) samples_.pop_front();
}

double RateMeter::per_second() const {
  if (samples_.size() < 2) return 0;
  const double elapsed = samples_.back().time_s - samples_.front().time_s;
  return elapsed > 0 ? (samples_.back().value - samples_.front().value) / elapsed : 0;
}

std::string readable_bytes(double bytes) {
  constexpr std::array<const char*, 5> kUnits{"B", "kB", "MB", "GB", "TB"};
  size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < kUnits.size()) {
    bytes /= 1000;
    ++unit;
  }
  const bool whole = unit == 0 || bytes >= 99.5;
  return formatted(whole ? "%.0f %s" : "%.1f %s", bytes, kUnits[unit]);
}

std::string status_line(const ViewStatus& s) {
  std::string line;
  if (!s.message.empty()) line += std::string(s.message) + " | ";
  line += std::string(s.problem) + formatted(" v%llu", static_cast<unsigned long long>(s.version));
  line += formatted(" frame %llu", static_cast<unsigned long long>(s.frame));
  if (s.last_frame != 0) line += formatted("/%llu", static_cast<unsigned long long>(s.last_frame));
  line += formatted(" t %.4f/%g", s.time, s.end_time);
  if (s.finished) {
    line += " finished";
  } else if (s.paused) {
    line += " paused";
  } else {
    line += formatted(" %.1f fps", s.frames_per_s);
  }
  line += ' ' + readable_bytes(s.bytes_per_s) + "/s " +
          readable_bytes(static_cast<double>(s.bytes_received));
  line += ' ' + readable_age(s.staleness_s) + " old";
  line += formatted(" CFL %.2f", s.cfl);
  if (s.breakdowns != 0) line += formatted(" (gas broke %u times)", s.breakdowns);
  return line;
}

std::string key_line() { return "p pause  + - CFL  1 sod 2 lax 3 lw3 4 kh  s save  q quit"; }

}  // namespace astroflow
