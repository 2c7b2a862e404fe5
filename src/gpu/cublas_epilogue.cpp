#include "gpu/cublas_epilogue.hpp"

#include "base/member_count.hpp"
#include "config/work.hpp"

#include <cstdint>
#include <utility>

namespace hotgemm {
namespace {

static_assert(member_count<Epilogue>() == 13,
              "without the new field cuBLAS does less than we do: let lt_epilogue look at it; correct the number");

/// A row of the table of cuBLASLt's epilogues.
struct LtKind {
  bool bias;
  Activation activation;
  bool aux;  ///< written, or read
  cublasLtEpilogue_t kind;
  bool bits = false;           ///< the auxiliary matrix has bits
  bool bias_gradient = false;  ///< for each column of D
};
constexpr LtKind kLtKinds[] = {
    {false, Activation::none, false, CUBLASLT_EPILOGUE_DEFAULT},
    {true, Activation::none, false, CUBLASLT_EPILOGUE_BIAS},
    {false, Activation::relu, false, CUBLASLT_EPILOGUE_RELU},
    {true, Activation::relu, false, CUBLASLT_EPILOGUE_RELU_BIAS},
    {false, Activation::gelu, false, CUBLASLT_EPILOGUE_GELU},
    {true, Activation::gelu, false, CUBLASLT_EPILOGUE_GELU_BIAS},
    {false, Activation::gelu, true, CUBLASLT_EPILOGUE_GELU_AUX},
    {true, Activation::gelu, true, CUBLASLT_EPILOGUE_GELU_AUX_BIAS},
    {false, Activation::dgelu, true, CUBLASLT_EPILOGUE_DGELU},
    {false, Activation::relu, true, CUBLASLT_EPILOGUE_RELU_AUX, true},
    {true, Activation::relu, true, CUBLASLT_EPILOGUE_RELU_AUX_BIAS, true},
    {false, Activation::drelu, true, CUBLASLT_EPILOGUE_DRELU, true},
    {false, Activation::drelu, true, CUBLASLT_EPILOGUE_DRELU_BGRAD, true, true},
    {false, Activation::dgelu, true, CUBLASLT_EPILOGUE_DGELU_BGRAD, false, true},
};

/// True if cuBLASLt has the scales, with numbers of the types of `p`. Its scales of blocks lie as ours do, if the rows
/// of those of A have no gaps; D then has 16 or 32 bits.
bool has_scales(const Problem& p) {
  if (p.epilogue.has_block_scales()) return p.m % 4 == 0 && is_one_product(p) && !is_fp8(p.types.d);
  const auto has = [&](Scaling scaling) {
    return scaling == Scaling::none || (scaling == Scaling::tensor && is_fp8(p.types.a));
  };
  return has(p.epilogue.scale_a) && has(p.epilogue.scale_b) && (!p.epilogue.scale_d || is_fp8(p.types.d));
}

/// True if cuBLASLt has the bias, or if there is none. With FP8 operands and a D of f32 its bias is bf16, and ours f32.
bool has_bias(const Problem& p) {
  if (p.epilogue.bias == Bias::none) return true;
  return p.epilogue.bias == Bias::per_column && !(is_fp8(p.types.a) && p.types.d == DType::f32);
}

/// True if the residual may be cuBLASLt's C: nothing stands between both in the chain, and C is free.
bool may_be_c(const Workload& p) {
  const Epilogue& e = p.epilogue;
  return e.activation == Activation::none && !e.has_auxiliary() && p.hints.beta_is_zero && !is_fp8(p.types.d);
}

/// True if the auxiliary matrix of `p` may be cuBLASLt's, whose rows lie at multiples of 16 bytes.
bool may_have_aux(const Workload& p) {
  return size_bytes(p.types.d) == 2 && !is_fp8(p.types.a) && p.hints.align_d >= 16;
}

}  // namespace

std::optional<LtEpilogue> lt_epilogue(const Workload& p) {
  const Epilogue& e = p.epilogue;
  if (e == Epilogue{}) return LtEpilogue{};
  if (is_integer(p.types.a) || e.is_gated() || e.scalars || e.has_function() || e.has_clamp() || e.amax ||
      e.bias_gradient == Bias::per_row) {
    return std::nullopt;
  }
  if (!has_scales(p) || !has_bias(p)) return std::nullopt;
  if (e.residual && !may_be_c(p)) return std::nullopt;
  if (e.has_auxiliary() && !may_have_aux(p)) return std::nullopt;
  for (const LtKind& row : kLtKinds) {
    if (row.bias == (e.bias != Bias::none) && row.activation == e.activation && row.aux == e.has_auxiliary() &&
        row.bits == e.bits && row.bias_gradient == (e.bias_gradient != Bias::none)) {
      return LtEpilogue{.kind = row.kind, .residual_is_c = e.residual};
    }
  }
  return std::nullopt;
}

LtOperands lt_operands(const Workload& problem, const LtEpilogue& epilogue, std::vector<OperandSet> sets, float beta) {
  if (!epilogue.residual_is_c) {
    const bool reads_c = !problem.hints.beta_is_zero;
    return {.sets = std::move(sets), .beta = reads_c ? beta : 0, .reads_c = reads_c};
  }
  for (OperandSet& set : sets) {
    set.c = set.epilogue.residual;
    set.ldc = set.epilogue.ld_residual;
    set.stride_c = set.epilogue.stride_residual;
  }
  return {.sets = std::move(sets), .beta = 1, .reads_c = true};
}

void describe_epilogue(const Workload& problem, const LtEpilogue& epilogue, const EpilogueSet& set,
                       const SetLtAttribute& set_attribute) {
  if (problem.epilogue == Epilogue{}) return;
  const auto set_to = [&](cublasLtMatmulDescAttributes_t attribute, auto value) {
    set_attribute(attribute, &value, sizeof value);
  };
  const auto set_address = [&](cublasLtMatmulDescAttributes_t attribute, CUdeviceptr address) {
    if (address != 0) set_to(attribute, reinterpret_cast<void*>(address));
  };
  set_to(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue.kind);
  if (set.bias != 0) {
    set_to(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE,
           static_cast<std::int32_t>(element_type(bias_type(problem.types.d)).cuda));
    set_address(CUBLASLT_MATMUL_DESC_BIAS_POINTER, set.bias);
  }
  // Its gradient is of D's type, and takes the place of the bias.
  set_address(CUBLASLT_MATMUL_DESC_BIAS_POINTER, set.bias_gradient);
  if (set.auxiliary != 0) {
    set_address(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, set.auxiliary);
    set_to(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, set.ld_auxiliary);
    if (problem.batch != 1) set_to(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, set.stride_auxiliary);
  }
  set_address(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, set.scale_b);  // its first operand is our B
  set_address(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, set.scale_a);
  set_address(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, set.scale_d);
  if (!problem.epilogue.has_block_scales()) return;
  set_to(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, static_cast<std::int32_t>(CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F));
  set_to(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, static_cast<std::int32_t>(CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F));
}

}  // namespace hotgemm
