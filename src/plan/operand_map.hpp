#pragma once

#include "plan/kernel_config.hpp"
#include "plan/tensor_map_spec.hpp"

#include <cstdint>
#include <optional>

namespace hotgemm {

/// The tensor map of A or B, as far as config and traits fix it.
struct OperandMap {
  TensorMapSpec fixed;  ///< without address, sizes and the stride of rows
  bool k_major;

  /// Of the matrix at `base` with leading dimension `ld`; `outer` is m for A, n for B.
  TensorMapSpec of(const void* base, std::int64_t outer, std::int64_t k, std::int64_t ld) const;
};

struct OperandMaps {
  OperandMap a;
  OperandMap b;
};

/// nullopt for families that do not copy by tensor.
std::optional<OperandMaps> operand_maps(const KernelConfig& config, const GemmTraits& traits);

}  // namespace hotgemm
