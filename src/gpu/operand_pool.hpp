#pragma once

#include "gpu/device_buffer.hpp"
#include "gpu/operand_set.hpp"

#include <hotgemm/types.hpp>

#include <cstdint>
#include <vector>

namespace hotgemm {

/// Operands of a problem in device memory of its own, in as many sets as it takes for no launch to find its operands in
/// L2: together at least twice L2's size. Leading dimensions are the smallest that the alignment classes allow.
class OperandPool {
 public:
  /// Uninitialised memory. Throws Error{out_of_memory} if a single set takes more than `max_bytes`, or if the GPU has
  /// no such memory left.
  OperandPool(const Driver& driver, const Problem& problem, std::int64_t l2_bytes, std::int64_t max_bytes);

  const std::vector<OperandSet>& sets() const { return sets_; }
  /// A set's operands as a call takes them.
  static Operands operands(const OperandSet& set, float alpha, float beta);

 private:
  DeviceBuffer slab_;
  std::vector<OperandSet> sets_;
};

}  // namespace hotgemm
