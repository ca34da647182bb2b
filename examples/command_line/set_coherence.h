// The coherence model of a command line, given to a segment. Apart from coherence_choice.h, which
// needs no client library.
#pragma once

#include <interweave.h>

#include "command_line/coherence_choice.h"

namespace command_line {

inline IW_coherence_t library_model(CoherenceChoice::Model model) {
  switch (model) {
    case CoherenceChoice::Model::kFull:
      return IW_FULL;
    case CoherenceChoice::Model::kStrict:
      return IW_STRICT;
    case CoherenceChoice::Model::kDelta:
      return IW_DELTA;
    case CoherenceChoice::Model::kDiff:
      return IW_DIFF;
    case CoherenceChoice::Model::kTemporal:
      break;
  }
  return IW_TEMPORAL;
}

inline bool set_coherence(IW_handle_t segment, const CoherenceChoice& choice) {
  return IW_set_coherence(segment, library_model(choice.model), choice.x) == 0;
}

}  // namespace command_line
