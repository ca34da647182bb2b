// The types that this program was compiled with. Generated tables announce themselves when the
// program loads (IW_register_types). They are read, checked and compiled at their first use,
// because they may refer to tables that load later.
//
// Thread safe. A registered type lives as long as the program. The first table of a name wins. A
// later table with another structure or layout is recorded as TYPE_CONFLICT and reported when it is
// used.
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

  // Announces tables, without following references. Refuses malformed entries and keeps the others.
  Result add(std::span<const IW_type_t> tables);

  // The type of a registered table, of a table that it refers to, or of a primitive's table.
  // Otherwise null, and `why` is UNKNOWN_TYPE, TYPE_CONFLICT or BAD_ARGUMENT.
  const Type* find(IW_type_t table, Result& why);

  // The table that the program registered for a type of this name, structure and layout, or a
  // primitive's table. Null if the program has no table with this layout written in it.
  IW_type_t table_of(const Type& type);

  // Makes a complete table known to find(). The table does not claim its names: other types may be
  // registered under them.
  void adopt(IW_type_t table);

  // The registered type of that name, if its hash is this one; null otherwise.
  const Type* find(std::string_view name, std::uint64_t hash);
  // The registered type of that name, or null.
  const Type* find(std::string_view name);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace iw::types
