// For tests: another process that reads lattices, so that what it sees has travelled.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

namespace mining {

// A lattice as one walk finds it, by the texts of its sequences.
struct SeenLattice {
  std::map<std::string, std::uint32_t> frequent;
  std::uint32_t sequences = 0, minimum = 0, customers = 0, transactions = 0, step = 0;
  std::string wrong;  // what contradicts itself; empty: nothing
};

class LatticeReader {
 public:
  // Forks, so before the library is used.
  LatticeReader();
  ~LatticeReader();
  LatticeReader(const LatticeReader&) = delete;
  LatticeReader& operator=(const LatticeReader&) = delete;

  // The newest version. The copy is kept from one call to the next with the same URL.
  SeenLattice look(const std::string& url);

 private:
  std::FILE* asked_;
  std::FILE* answers_;
  pid_t child_;
};

}  // namespace mining
