#pragma once

#include "gpu/device_buffer.hpp"
#include "gpu/operand_pool.hpp"

#include <hotgemm/context.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hotgemm::command {

/// The operands of a problem in device memory: sets, as cuBLAS reads them, and prepacked copies of those operands that
/// our kernel reads prepacked. A set's prepacked operand has rows without gaps.
class BenchOperands {
 public:
  /// Throws as OperandPool does.
  BenchOperands(const Driver& driver, Context& context, const Workload& problem, std::int64_t l2_bytes,
                std::int64_t max_bytes);

  std::span<const OperandSet> sets() const { return pool_.sets(); }
  /// Packs the operands of set `index`. To be called after each change of them.
  void pack(std::size_t index, Stream stream);
  /// The operands of a call of our kernel with set `index`.
  Operands operands(std::size_t index, float alpha, float beta) const;
  /// The operands of a call for the product without its epilogue.
  Operands bare_operands(std::size_t index, float alpha, float beta) const;

 private:
  struct Copy {
    Operand operand;
    DeviceBuffer memory;
  };
  /// Makes memory for a copy of `operand` of the last set, whose address and leading dimension replace the given ones.
  void add_copy(const Driver& driver, Operand operand, const void*& address, std::int64_t& ld);

  Context& context_;
  Workload problem_;
  OperandPool pool_;
  std::vector<Operands> operands_;         // one for each set, without the epilogue
  std::vector<std::vector<Copy>> copies_;  // of each set
};

}  // namespace hotgemm::command
