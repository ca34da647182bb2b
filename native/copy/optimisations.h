// The optimisations of ICDCS'03 3.3 that a client can be run without, for measurements:
// IW_OPTIMISATIONS, a list of words from left to right, in which `all` and `none` set every one,
// NAME switches one on and -NAME off. All are on to begin with. Results are the same either way.
#pragma once

#include <string_view>

#include "types/result.h"

namespace iw::copy {

struct Optimisations {
  bool no_diff = true;     // what is stored to again and again is not watched, or not compared
  bool splicing = true;    // runs with a short gap between them are sent as one
  bool plans = true;       // what is alike in a type is one step of its translation plan
  bool prediction = true;  // a block is looked for behind the last one before it is searched for
};

// BAD_ARGUMENT: a word that is not known; the text lists those that are.
types::Result parse_optimisations(std::string_view text, Optimisations& out);

// What the environment says, read once.
const types::Result& check_optimisations();
const Optimisations& optimisations();

}  // namespace iw::copy
