// The types that this program was compiled with. Generated tables announce themselves when the
// program loads (IW_register_types); they are read, checked and compiled at their first use, since
// they may refer to tables that load later.
//
// Thread safe. A registered type lives as long as the program. The first table of a name wins; a
// later one of another structure or layout is recorded as TYPE_CONFLICT, which its use reports.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "interweave/type_table.h"
#include "types/result.h"
#include "types/type.h"

namespace iw::types {

class Registry {
 public:
  // The program's; tests make their own.
  static Registry& program();

  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // Follows no reference; an entry that is no table at all is refused, the others are kept.
  Result add(std::span<const IW_type_t> tables);

  // The type of a registered table, of one that it refers to, or of a primitive's; null and `why`
  // (UNKNOWN_TYPE, TYPE_CONFLICT, BAD_ARGUMENT) otherwise.
  const Type* find(IW_type_t table, Result& why);

  // The table by which the program registered a type of this name, structure and layout; one of a
  // primitive; null if there is none that has the layout written in it.
  IW_type_t table_of(const Type& type);

  // A complete table that find() shall know, without a claim on the names in it: other types may be
  // registered under them.
  void adopt(IW_type_t table);

  // The registered type of that name, if its hash is this one; null otherwise.
  const Type* find(std::string_view name, std::uint64_t hash);
  // The registered type of that name; null if there is none.
  const Type* find(std::string_view name);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace iw::types
