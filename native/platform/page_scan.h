// Linux' ways to ask which pages were written, without signals:
//  - WriteWatch: userfaultfd in WP_ASYNC mode (Linux 6.7) marks a range; the kernel then notes the
//    first store to each page by itself;
//  - PageScanner: PAGEMAP_SCAN lists (and marks anew) the written pages, or, on views without a
//    watch, the pages that have a private copy.
// On other systems every call returns ENOSYS. Both objects describe the process that opened them:
// after fork the child must not use them.
#pragma once

#include <cstddef>
#include <vector>

#include "platform/byte_range.h"
#include "platform/file_descriptor.h"
#include "platform/status.h"

namespace iw::platform {

class WriteWatch {
 public:
  static Status open(WriteWatch& out);

  // From now on stores to the range are noted (everything counts as unwritten). The watch ends
  // when the range is unmapped.
  Status start(std::byte* begin, std::size_t size_bytes) const;

  // These pages may be stored to without further notice, and count as written.
  Status let_write(std::byte* begin, std::size_t size_bytes) const;

 private:
  FileDescriptor fd_;
};

class PageScanner {
 public:
  static Status open(PageScanner& out);

  // Appends the pages of [begin, begin+size) written since they were last marked, as offsets from
  // `base`, sorted and coalesced, and marks them again in the same step.
  Status take_written(const std::byte* base, const std::byte* begin, std::size_t size_bytes,
                      std::vector<ByteRange>& out) const;

  // The same pages, which are not marked again.
  Status list_written(const std::byte* base, const std::byte* begin, std::size_t size_bytes,
                      std::vector<ByteRange>& out) const;

  // Appends the pages of a private view that have their own copy. Not for watched ranges.
  Status list_private(const std::byte* base, const std::byte* begin, std::size_t size_bytes,
                      std::vector<ByteRange>& out) const;

  // How list_private does it before Linux 6.7 (public so that tests compare both).
  Status list_private_by_page_map(const std::byte* base, const std::byte* begin,
                                  std::size_t size_bytes, std::vector<ByteRange>& out) const;

 private:
  FileDescriptor fd_;
};

}  // namespace iw::platform
