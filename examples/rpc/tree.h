// Work on a stock of parts, the same code for the parts in a segment (part) and for the copies that
// rpcgen's routines make of them (part_copy).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "service.h"

namespace stock {

// Deeper than any tree of parts is that is one: bounds recursion over what others have made.
inline constexpr int kDeepest = 10'000;

// Called for each part of a walk; may throw. This one is for parts of the process's own.
struct Unchecked {
  void operator()(const auto*) const {}
};

// Orders what is short, in place.
template <typename Part, typename Check>
receipt restock(Part* root, const restock_order& order, Check&& check) {
  receipt done{};
  std::vector<Part*> left{root};
  while (!left.empty()) {
    Part* const one = left.back();
    left.pop_back();
    if (one == nullptr) continue;
    check(one);
    ++done.visited;
    if (one->in_stock < order.below) {
      done.cost += (order.up_to - one->in_stock) * one->price;
      one->in_stock = order.up_to;
      ++done.ordered;
    }
    left.push_back(one->lower);
    left.push_back(one->higher);
  }
  return done;
}

// The pointer that leads to the part, or that would: it is null then.
template <typename Part, typename Check = Unchecked>
Part** place_of(Part** root, int number, Check&& check = {}) {
  Part** place = root;
  while (*place != nullptr) {
    check(*place);
    if ((*place)->number == number) break;
    place = number < (*place)->number ? &(*place)->lower : &(*place)->higher;
  }
  return place;
}

inline constexpr int kNumberStep = 10;
inline constexpr std::size_t kSoldStep = 100;

inline double price_of(int number) { return 0.25 * (1 + number % 400); }

// Of the parts numbered as make_tree does, the first that is sold in a round.
inline int first_sold(std::size_t parts, std::size_t round) {
  return static_cast<int>(1 + round % std::min(parts, kSoldStep)) * kNumberStep;
}

// Something is sold: one part in a hundred, but at least one, has one piece left. Other ones each
// round. Gives how many.
template <typename Part>
std::size_t sell(Part* root, std::size_t parts, std::size_t round) {
  const int end = static_cast<int>(parts + 1) * kNumberStep;
  std::size_t sold = 0;
  for (int number = first_sold(parts, round); number < end; number += kSoldStep * kNumberStep) {
    Part* const one = *place_of(&root, number);
    if (one == nullptr) continue;
    one->in_stock = 1;
    ++sold;
  }
  return sold;
}

// A balanced tree of parts number 10 x begin ... 10 x (end - 1), of parts that `make` gives.
template <typename Make>
auto make_tree(std::size_t begin, std::size_t end, const Make& make) -> decltype(make(0)) {
  if (begin == end) return nullptr;
  const std::size_t middle = begin + (end - begin) / 2;
  auto* const one = make(static_cast<int>(middle) * kNumberStep);
  one->lower = make_tree(begin, middle, make);
  one->higher = make_tree(middle + 1, end, make);
  return one;
}

}  // namespace stock
