// One of the grids as one process has it: as its writer, or as a reader of who is.
//
// When the writer is gone, its readers' processes all try to become the writer with what they have
// seen; the name server gives the name to one of them, and the others read from that one. So they
// agree again, on what the new writer had seen.
#pragma once

#include "grid/grid.h"

namespace grid {

class SharedGrid {
 public:
  // `process`: this one's number.
  SharedGrid(Factory& factory, int number, int process, const Grid& empty);

  // Throws ContainerError: there is a writer.
  void write();
  // Returns false if no writer can be read from.
  bool read();
  // Makes a new tie when the old one is broken. True: this process writes it from now on.
  bool mend();

  enum class Part { writer, reader, none };
  Part part() const;
  // For the writer.
  WriterContainer<Grid>& writer() { return *writer_; }
  // The newest that this process has: a reader evaluates what has come.
  const Grid& look();

 private:
  Factory& factory_;
  std::string name_;
  int process_;
  Grid seen_;
  std::unique_ptr<WriterContainer<Grid>> writer_;
  std::unique_ptr<ReaderContainer<Grid>> reader_;
};

}  // namespace grid
