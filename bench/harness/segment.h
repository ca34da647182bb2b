// A program's side of a measured segment: failures end the benchmark with the library's words.
#pragma once

#include <interweave.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace bench {

[[noreturn]] void fail(const char* what);

// Makes the segment with that durability if it does not exist.
IW_handle_t open_segment(const std::string& url, int durability = IW_MEMORY);

// For IW_on_change where only the event descriptor is wanted.
void note_change(IW_handle_t, std::uint64_t, void*);

// Of a process.
std::size_t resident_bytes(pid_t pid);

}  // namespace bench
