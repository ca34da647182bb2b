// The query client's command line.
#pragma once

#include <optional>
#include <string>

#include "command_line/coherence_choice.h"
#include "miner/extension.h"
#include "query/item_names.h"

namespace mining {

struct QueryOptions {
  std::string url = "127.0.0.1:7747/mining";
  command_line::CoherenceChoice coherence{command_line::CoherenceChoice::Model::kFull, 0};
  ItemNames names;
  std::size_t most = 10;  // answers
  bool follow = false;
  Sequence sequence;
};

// `exit_status` is set if the program has to end here.
struct QueryCommand {
  QueryOptions options;
  std::optional<int> exit_status;
};

QueryCommand parse_query_command(int argc, char** argv);

}  // namespace mining
