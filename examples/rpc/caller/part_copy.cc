#include "caller/part_copy.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace stock {

void FreePartCopy::operator()(part_copy* root) const {
  xdr_free(reinterpret_cast<xdrproc_t>(xdr_part_copy), root);
  std::free(root);
}

PartCopy make_part_copy(int number, int in_stock, double price, const char* name) {
  auto* const one = static_cast<part_copy*>(std::calloc(1, sizeof(part_copy)));
  if (one == nullptr) throw std::bad_alloc();
  *one = {number, in_stock, price, ::strdup(name), nullptr, nullptr};
  return PartCopy(one);
}

}  // namespace stock
