// Bytes from others, which the transport library reads without being told how many there are
// [UCX-10]. Here the lengths in them are checked, and room is added behind the bytes, so that the
// library never reads beyond. The formats are those of UCX 1.13.
#pragma once

#include <vector>

#include "fabric/fabric.h"

namespace iw::fabric {

// A key of host memory: a map of memory domains (8 bytes), the kind of memory (1), and for each
// domain a length (1) and so many bytes.
bool is_packed_key(Bytes key);
std::vector<std::byte> framed_key(Bytes key);
// A worker's address: pieces with lengths of a byte, of which the last are marked by set bits. So
// whatever it says, it ends in a frame of set bits.
std::vector<std::byte> framed_address(Bytes address);

}  // namespace iw::fabric
