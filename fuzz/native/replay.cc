// A target without a fuzzer: gives it every file of the folders, in the order of their names, so
// that what was found once holds in every build.
//
//   replay_<target> FOLDER...
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "fuzz/native/target.h"

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_of(const char* folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

void give(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  FUZZ_CHECK(file.good());
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  // The last words, should the target end the program.
  std::fprintf(stderr, "%s\n", path.c_str());
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t given = 0;
  for (int i = 1; i < argc; ++i) {
    const std::vector<fs::path> files = files_of(argv[i]);
    for (const fs::path& file : files) give(file);
    given += files.size();
  }
  FUZZ_CHECK(given != 0);
  std::printf("%zu inputs\n", given);
  return 0;
}
