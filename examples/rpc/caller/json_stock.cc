#include "caller/json_stock.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tree.h"

namespace stock {
namespace {

using nlohmann::json;

json as_json(const part_copy* one) {
  if (one == nullptr) return nullptr;
  return {{"number", one->number},        {"in_stock", one->in_stock},
          {"price", one->price},          {"name", one->name},
          {"lower", as_json(one->lower)}, {"higher", as_json(one->higher)}};
}

PartCopy from_json(const json& one, int depth) {
  if (one.is_null()) return nullptr;
  if (depth == kDeepest) throw std::runtime_error("the parts that came back are not a tree");
  PartCopy part = make_part_copy(one.at("number"), one.at("in_stock"), one.at("price"),
                                 one.at("name").get_ref<const std::string&>().c_str());
  part->lower = from_json(one.at("lower"), depth + 1).release();
  part->higher = from_json(one.at("higher"), depth + 1).release();
  return part;
}

}  // namespace

std::string order_as_json(const part_copy* root, const restock_order& order) {
  try {
    return json{{"below", order.below}, {"up_to", order.up_to}, {"parts", as_json(root)}}.dump();
  } catch (const json::exception& failure) {  // a name that is not UTF-8
    throw std::runtime_error(std::string("these parts cannot be written as JSON: ") +
                             failure.what());
  }
}

receipt receipt_from_json(const std::string& text, PartCopy& root) {
  try {
    const json got = json::parse(text);
    root = from_json(got.at("parts"), 0);
    return {got.at("visited"), got.at("ordered"), got.at("cost"), 0};
  } catch (const json::exception& failure) {
    throw std::runtime_error(std::string("the answer is not a stock of parts: ") + failure.what());
  }
}

}  // namespace stock
