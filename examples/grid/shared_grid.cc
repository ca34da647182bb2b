#include "grid/shared_grid.h"

namespace grid {
namespace {

// A process that is silent for life_ms counts as dead. If it is only slow, it finds out and makes a
// new tie.
Options options() {
  Options options;
  options.ping_ms = 100;
  options.life_ms = 1500;
  options.join_ms = 3000;
  return options;
}

}  // namespace

SharedGrid::SharedGrid(Factory& factory, int number, int process, const Grid& empty)
    : factory_(factory), name_("grid/" + std::to_string(number)), process_(process), seen_(empty) {}

void SharedGrid::write() {
  const auto object = std::make_shared<Grid>(seen_);
  object->begin_term(process_);
  writer_ = factory_.make_writer<Grid>(name_, object, options());
}

bool SharedGrid::read() {
  try {
    reader_ = factory_.make_reader<Grid>(name_, std::make_shared<Grid>(seen_), options());
    return true;
  } catch (const ContainerError&) {
    return false;
  }
}

bool SharedGrid::mend() {
  if (part() != Part::none) return false;
  look();
  reader_.reset();
  try {
    write();
    return true;
  } catch (const ContainerError&) {
    read();  // from who was faster, or lives after all; else the next call tries again
    return false;
  }
}

SharedGrid::Part SharedGrid::part() const {
  if (writer_ != nullptr) return Part::writer;
  const bool is_tied = reader_ != nullptr && reader_->tie() == Tie::joined;
  return is_tied ? Part::reader : Part::none;
}

const Grid& SharedGrid::look() {
  try {
    if (writer_ != nullptr) {
      seen_ = *writer_->read();
    } else if (reader_ != nullptr) {
      seen_ = *reader_->read();
    }
  } catch (const ContainerError&) {
    // The writer went while it was asked for the whole grid: what was seen before stays.
  }
  return seen_;
}

}  // namespace grid
