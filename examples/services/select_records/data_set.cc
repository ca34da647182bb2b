#include "select_records/data_set.h"

#include <algorithm>

namespace select_records {

using services::Lock;

namespace {

// Whether the data node that published it has left or died. One that is only stopped has not.
bool is_gone(const Part& part) {
  ddss_description_t is;
  const int error = ddss_describe(part.key, &is);
  return error == DDSS_ENODE || error == DDSS_ENOKEY;
}

}  // namespace

void DataSet::publish(std::size_t number, const Part& part) const {
  const Lock lock(shared_.key());
  Parts all = shared_.get();
  Part& place = all.at(number);
  if (place.key != 0 && !is_gone(place)) {
    throw services::Failure("another data node has part " + std::to_string(number) +
                            "; give --part another number");
  }
  place = part;
  shared_.put(all);
}

void DataSet::withdraw(std::size_t number, ddss_key_t key) const {
  const Lock lock(shared_.key());
  Parts all = shared_.get();
  if (all.at(number).key != key) return;
  all.at(number) = Part{};
  shared_.put(all);
}

std::vector<Part> DataSet::parts() const {
  const Parts all = shared_.get();
  return {all.begin(), all.end()};
}

std::uint64_t records_of(const std::vector<Part>& parts) {
  std::uint64_t count = 0;
  for (const Part& part : parts) count += part.records;
  return count;
}

std::vector<Block> blocks_of(const std::vector<Part>& parts, std::size_t workers) {
  constexpr std::uint64_t blocks_a_worker = 4, records_min = 64, records_max = 8192;
  const std::uint64_t share = records_of(parts) / (blocks_a_worker * workers);
  const std::uint64_t size = std::clamp(share, records_min, records_max);
  std::vector<Block> blocks;
  for (std::size_t part = 0; part < parts.size(); part++) {
    for (std::uint64_t first = 0; first < parts[part].records; first += size) {
      blocks.push_back({part, first, std::min(size, parts[part].records - first)});
    }
  }
  return blocks;
}

}  // namespace select_records
