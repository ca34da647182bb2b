// The shared data set: parts, each in a segment in the memory of its data node, and a catalogue of
// them with the space's founder.
#pragma once

#include <array>
#include <vector>

#include "select_records/record.h"
#include "space/space.h"

namespace select_records {

inline constexpr std::size_t parts_max = 64, host_bytes_max = 63;

struct Part {
  ddss_key_t key;
  std::uint64_t records;  // 0: the part does not exist
  std::uint64_t port;     // where the same records are to be had over TCP
  std::array<char, host_bytes_max + 1> host;
};

// Some records of a part.
struct Block {
  std::size_t part;
  std::uint64_t first, count;
};

class DataSet {
 public:
  DataSet() : shared_(services::Segment<Parts>::named("select-records parts", DDSS_VERSION)) {}
  // In place of what this part was before. Throws services::Failure: a data node has it.
  void publish(std::size_t number, const Part& part) const;
  // Unless somebody else published that part since.
  void withdraw(std::size_t number, ddss_key_t key) const;
  std::vector<Part> parts() const;

 private:
  using Parts = std::array<Part, parts_max>;
  const services::Segment<Parts> shared_;
};

std::uint64_t records_of(const std::vector<Part>& parts);
// All records in blocks of about the same size, so that each of so many workers has some.
std::vector<Block> blocks_of(const std::vector<Part>& parts, std::size_t workers);

}  // namespace select_records
