#pragma once

// The matrices that the tensor maps of a kernel's parameter describe.

#include "standin/encoded_map.hpp"
#include "standin/ledger.hpp"
#include "standin/stack.hpp"

#include "shared/tensor_map.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace hotgemm::standin::api {

/// Notes a violation of `function` if not `good`.
inline void expect(Ledger& ledger, bool good, const Function& function, const std::string& text) {
  if (!good) ledger.violations.push_back(function.name + ": " + text);
}

/// The matrix that a tensor map describes.
struct MapContents {
  unsigned long long address = 0;
  long long ld = 0;
  unsigned long long bytes = 0;  ///< of all rows; 0 if there are gaps between them
};
inline MapContents read_map(Ledger& ledger, const Function& function, const char* name, const TensorMap& map,
                            DType element, const ExpectedBox& box, int rows, int cols, const Stack& stack) {
  const auto found = standin::read_map(map.bytes);
  expect(ledger, found.has_value(), function, std::string("the tensor map of ") + name + " was not encoded");
  if (!found) return {};
  expect(ledger,
         found->rank == stack.rank && found->type == static_cast<CUtensorMapDataType>(element_type(element).tensor_map),
         function, std::string("the tensor map of ") + name + " has another type or rank");
  expect(ledger, found->sizes[0] == static_cast<unsigned>(cols) && stack.has_dimensions(*found, rows, element),
         function, std::string("the tensor map of ") + name + " has other sizes, or is of other products");
  expect(ledger, found->box[0] == box.x && found->box[1] == box.y && found->swizzle == box.swizzle, function,
         std::string("the tensor map of ") + name + " has another box or swizzle");
  if (stack.is_anywhere) return {0, static_cast<long long>(found->strides[0]) / size_bytes(element), 0};
  const auto row_bytes = static_cast<unsigned long long>(cols) * static_cast<unsigned long long>(size_bytes(element));
  const bool has_gaps = rows > 1 && found->strides[0] != row_bytes;
  return {found->address, static_cast<long long>(found->strides[0]) / size_bytes(element),
          has_gaps ? 0 : row_bytes * static_cast<unsigned long long>(rows)};
}

/// Reads the maps of A or B: the map of whole boxes, and the map of boxes for the remaining rows.
inline MapContents read_maps(Ledger& ledger, const Function& function, const char* name, const TensorMap& whole,
                             const TensorMap& rest, DType element, ExpectedBox box, int rows, int cols,
                             const Stack& stack) {
  const std::uint32_t left = box.leaves_rest ? static_cast<std::uint32_t>(rows) % box.y : 0;
  const bool has_whole = !box.leaves_rest || static_cast<std::uint32_t>(rows) >= box.y;
  std::optional<MapContents> contents;
  if (has_whole) contents = read_map(ledger, function, name, whole, element, box, rows, cols, stack);
  if (left == 0) return *contents;
  box.y = left;
  const MapContents of_rest = read_map(ledger, function, name, rest, element, box, rows, cols, stack);
  expect(ledger, !contents || (contents->address == of_rest.address && contents->ld == of_rest.ld), function,
         std::string("the two maps of ") + name + " are of different matrices");
  return of_rest;
}

}  // namespace hotgemm::standin::api
