#pragma once

#include "gpu/device_buffer.hpp"
#include "gpu/operand_set.hpp"

#include <hotgemm/types.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hotgemm {

/// Operands of a problem in device memory that the pool owns. There are enough sets that no launch finds its operands
/// in L2: together they are at least twice as large as L2. Operands of an epilogue are among them. Leading dimensions
/// are the smallest that the alignment classes allow, and addresses or rows are no better aligned than the classes say.
///
/// Guard zones lie between matrices; longer ones lie at both ends of the memory. A kernel that writes slightly outside
/// its matrix then changes a guard zone (CheckKernels::digest) instead of other data.
class OperandPool {
 public:
  static constexpr std::int64_t kGuardBytes = 4 << 10;
  static constexpr std::int64_t kEndGuardBytes = 64 << 10;

  /// Fills the memory with a pattern that is not a common number, so that most stray writes change it. Throws
  /// Error{out_of_memory} if a single set needs more than `max_bytes`, or if the GPU does not have enough free memory.
  OperandPool(const Driver& driver, const Workload& problem, std::int64_t l2_bytes, std::int64_t max_bytes);

  /// Throws Error{out_of_memory} if one set of operands of `problem` needs more than `max_bytes`, or more than the
  /// share `free_share` of the `free_bytes` of a GPU.
  static void check_fits(const Workload& problem, std::int64_t max_bytes, std::int64_t free_bytes,
                         double free_share = 1);

  /// The sets whose groups are uniform, and full if masked.
  const std::vector<OperandSet>& sets() const { return sets_; }
  /// The sets on which candidates are timed. A problem with groups has all sets twice, first with uniform and then with
  /// skewed sizes: a pick must serve both, since only the GPU knows the sizes.
  const std::vector<OperandSet>& timed_sets() const { return timed_sets_.empty() ? sets_ : timed_sets_; }
  /// Start and length of the whole memory, guards included; both are multiples of 256.
  CUdeviceptr begin() const { return slab_.get(); }
  std::size_t bytes() const { return slab_.bytes(); }
  /// The operands of `set` in the form that a call takes. With scalars on the device, the call ignores `alpha`, and
  /// `beta` if the set has a C.
  static Operands operands(const OperandSet& set, float alpha, float beta);
  /// Sets the fields of `operands` that belong to the epilogue.
  static void add_epilogue(const EpilogueSet& set, Operands& operands);

 private:
  DeviceBuffer slab_;
  std::vector<OperandSet> sets_;
  std::vector<OperandSet> timed_sets_;  // of groups
};

}  // namespace hotgemm
