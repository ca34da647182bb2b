// System calls with memory of a heap.
//
// The kernel raises no signal when it may not load or store a page, but fails with EFAULT. The
// functions of the C library for input and output (read, recv, fread, ...) are therefore defined
// here once more. They open the pages of a heap that a call is to load or store, call the C
// library's function, and do both again after EFAULT, because another thread may have closed a page
// meanwhile. If that does not help, they open the pages for stores: where copies are limited, such
// copies stay. Calls without memory of a heap cost a few nanoseconds more.
//
// A thread cannot block the signals of faults: they are taken out of what it blocks.
//
// One case stays open: the kernel drops a datagram if another thread closes a page between the
// opening and the call.
//
// The symbols are weak: a program that defines one of them has its own. Calls from shared libraries
// arrive here, too, but those within the C library do not: other calls of stdio with long texts
// (fputs, getline), and calls of rarer functions (readlink, ioctl, ...) need open pages.
#pragma once

namespace iw::dsm {

// Does nothing: a program that maps a heap has these functions because of the reference.
void interpose_system_calls();

}  // namespace iw::dsm
