#pragma once

#include "gpu/operand_set.hpp"

#include <hotgemm/types.hpp>

#include <cublasLt.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace hotgemm {

/// The way in which cublasLtMatmul computes a problem's epilogue. Its D is ours transposed, so its bias of a row is our
/// bias of a column.
struct LtEpilogue {
  cublasLtEpilogue_t kind = CUBLASLT_EPILOGUE_DEFAULT;
  bool residual_is_c = false;  ///< the residual is its C, and its beta is 1
};

/// nullopt if cuBLASLt has no such epilogue. It has a bias of a column, then ReLU or GELU with tanh, and with GELU the
/// auxiliary output; the derivative of this GELU without a bias; a residual without an activation; for FP8 one scale of
/// A, of B, and of an FP8 D, or, from version 12.9 on, scales of blocks. It adds C before the activation, we add the
/// residual after it.
std::optional<LtEpilogue> lt_epilogue(const Workload& problem);

/// The problem and its operands as cublasLtMatmul takes them: C is the residual if `residual_is_c`.
struct LtOperands {
  std::vector<OperandSet> sets;
  float beta = 0;
  bool reads_c = false;
};
LtOperands lt_operands(const Workload& problem, const LtEpilogue& epilogue, std::vector<OperandSet> sets, float beta);

/// Sets an attribute of a cublasLtMatmulDesc_t to the value at `value`. Throws Error.
using SetLtAttribute =
    std::function<void(cublasLtMatmulDescAttributes_t attribute, const void* value, std::size_t bytes)>;

/// Describes the epilogue of `problem`, with the operands of `set`, to cublasLtMatmul.
void describe_epilogue(const Workload& problem, const LtEpilogue& epilogue, const EpilogueSet& set,
                       const SetLtAttribute& set_attribute);

}  // namespace hotgemm
