// What a viewer may ask of the simulator, and which key asks for what.
#pragma once

namespace astroflow {

// The want_ fields of flow_header.
struct Wants {
  bool pause = false;
  bool restart = false;
  int problem = 0;
  double cfl = 0;
};

// Whether the key steers (p + - = 1 2 3 4) and a request has to be written for it.
bool is_steering_key(char key);

// Changes what is wanted, starting from what is wanted now: nobody else's request is undone.
void apply_key(char key, Wants& wants);

}  // namespace astroflow
