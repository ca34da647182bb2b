// What rpcgen's dispatcher calls. It frees what it is given and what it gets, by XDR's rules:
// malloc.
#include "service.h"

#include <cstring>
#include <exception>
#include <string>
#include <utility>

#include "callee/shared_stocks.h"
#include "tree.h"

namespace {

// The process's: rpcgen's functions take no context. Sun RPC calls them on one thread.
stock::SharedStocks& stocks() {
  static stock::SharedStocks all;
  return all;
}

template <typename Call>
bool_t answer_with(answer* out, const Call& call) {
  *out = {};
  try {
    out->answer_u.done_receipt = call();
    out->done = TRUE;
  } catch (const std::exception& failure) {
    out->answer_u.why = strndup(failure.what(), WHY_MAX);
    out->done = FALSE;
  }
  return TRUE;
}

}  // namespace

bool_t restock_1_svc(shared_stock* asked, answer* out, svc_req*) {
  return answer_with(out, [&] { return stocks().restock(asked->root, asked->order); });
}

bool_t introduce_1_svc(new_part* asked, answer* out, svc_req*) {
  return answer_with(out, [&] { return stocks().introduce(*asked); });
}

// By copy: what was decoded is changed and encoded again. The result takes the parts over.
bool_t restock_copy_1_svc(copied_stock* asked, copied_answer* out, svc_req*) {
  out->done_receipt = stock::restock(asked->root, asked->order, stock::Unchecked());
  out->root = std::exchange(asked->root, nullptr);
  return TRUE;
}

int stock_program_1_freeresult(SVCXPRT*, xdrproc_t free_result, caddr_t result) {
  xdr_free(free_result, result);
  return TRUE;
}
