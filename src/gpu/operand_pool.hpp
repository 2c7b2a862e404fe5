#pragma once

#include "gpu/device_buffer.hpp"
#include "gpu/operand_set.hpp"

#include <hotgemm/types.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hotgemm {

/// Operands of a problem in device memory of its own, in as many sets as it takes for no launch to find its operands in
/// L2: together at least twice L2's size. Leading dimensions are the smallest that the alignment classes allow.
///
/// Guard zones lie between matrices and, longer ones, at both ends of the memory: a kernel that writes a little beside
/// its matrix changes one of them (CheckKernels::digest) and not something else's data.
class OperandPool {
 public:
  static constexpr std::int64_t kGuardBytes = 4 << 10;
  static constexpr std::int64_t kEndGuardBytes = 64 << 10;

  /// Memory filled with a pattern that is no usual number, so that few stray writes leave it as it is. Throws
  /// Error{out_of_memory} if a single set takes more than `max_bytes`, or if the GPU has no such memory left.
  OperandPool(const Driver& driver, const Workload& problem, std::int64_t l2_bytes, std::int64_t max_bytes);

  const std::vector<OperandSet>& sets() const { return sets_; }
  /// All of the memory, guards included: where it begins, a multiple of 256, and how long it is, another one.
  CUdeviceptr begin() const { return slab_.get(); }
  std::size_t bytes() const { return slab_.bytes(); }
  /// A set's operands as a call takes them.
  static Operands operands(const OperandSet& set, float alpha, float beta);

 private:
  DeviceBuffer slab_;
  std::vector<OperandSet> sets_;
};

}  // namespace hotgemm
