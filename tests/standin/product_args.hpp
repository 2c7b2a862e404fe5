#pragma once

#include "config/launch_shape.hpp"
#include "shared/gemm_args.hpp"
#include "shared/row_groups.hpp"
#include "standin/compute.hpp"
#include "standin/objects.hpp"

#include <cstdint>
#include <variant>

namespace hotgemm::standin {

inline std::uint64_t moved(std::uint64_t address, long long elements, DType type) {
  return address + static_cast<std::uint64_t>(elements * size_bytes(type));
}

/// The arguments of one product of a launch.
struct ProductArgs {
  GemmArgs gemm;
  EpilogueArgs epilogue;
  ExtraArgs extras;

  /// Those of product number `product` of a batch.
  ProductArgs(const GemmTraits& traits, const KernelNode& node, unsigned product)
      : gemm(std::get<GemmArgs>(node.args)), epilogue(node.epilogue), extras(node.extras) {
    const BatchArgs& batch = node.batch;
    gemm.a = moved(gemm.a, batch.stride_a * product, traits.element);
    gemm.b = moved(gemm.b, batch.stride_b * product, traits.element_b);
    gemm.c = moved(gemm.c, batch.stride_c * product, traits.element_d);
    gemm.d = moved(gemm.d, batch.stride_d * product, traits.element_d);
    epilogue.residual = moved(epilogue.residual, batch.stride_residual * product, traits.element_d);
    epilogue.auxiliary = moved_auxiliary(traits, batch.stride_auxiliary * product);
    if (traits.epilogue.has_block_scales() && !traits.along_k) {
      if (!traits.divides_rows())
        epilogue.scale_a = moved(epilogue.scale_a, extras.stride_scale_a * product, DType::f32);
      epilogue.scale_b = moved(epilogue.scale_b, extras.stride_scale_b * product, DType::f32);
    }
    for (int i = 0; i < EpilogueFunction::kMostOperands; ++i) {
      if (traits.epilogue.function.operand(i) == FunctionOperand::matrix)
        extras.operands[i] = moved(extras.operands[i], extras.stride[i] * product, traits.element_d);
    }
  }

  /// Reads the size of a group, and makes them those of the group with that number. Distances of matrices that groups
  /// divide are zero.
  Outcome take_group(const GemmTraits& traits, const KernelNode& node, unsigned product, const AddressSpace& space) {
    const std::uint64_t at = (traits.masked ? node.groups.counts : node.groups.offsets) + product * sizeof(int);
    if (at % alignof(int) != 0) return Outcome::misaligned_address;
    if (!space.contains(at, (traits.masked ? 1 : 2) * sizeof(int))) return Outcome::illegal_address;
    const auto* numbers = reinterpret_cast<const int*>(at);
    const int number = static_cast<int>(product);
    if (traits.epilogue.bias != Bias::none)
      epilogue.bias = moved(epilogue.bias, node.groups.stride_bias * product, bias_type(traits.element_d));
    if (traits.along_k) {
      take_k(traits, k_group(number, numbers[0], numbers[1], gemm.k));
    } else if (traits.masked) {
      take_rows(traits, masked_group(number, numbers[0], gemm.m));
    } else {
      take_rows(traits, row_group(number, numbers[0], numbers[1], gemm.m));
    }
    return Outcome::good;
  }

 private:
  /// The address of the auxiliary matrix, moved by so many elements, which may be bits.
  unsigned long long moved_auxiliary(const GemmTraits& traits, long long elements) const {
    if (traits.epilogue.bits) return moved(epilogue.auxiliary, elements / 8, DType::s8);
    return moved(epilogue.auxiliary, elements, traits.element_d);
  }

  void take_k(const GemmTraits& traits, const KGroup& group) {
    gemm.k = group.k;
    gemm.a = moved(gemm.a, group.begin * gemm.lda, traits.element);
    gemm.b = moved(gemm.b, group.begin * gemm.ldb, traits.element_b);
    if (traits.epilogue.has_block_scales()) {
      const long long blocks = group.begin / kScaleBlock;
      epilogue.scale_a = moved(epilogue.scale_a, blocks * extras.ld_scale_a, DType::f32);
      epilogue.scale_b = moved(epilogue.scale_b, blocks, DType::f32);
    }
    if (group.k > 0) return;
    gemm.alpha = empty_alpha(traits.epilogue.scalars ? 1 : gemm.beta);
    epilogue.alpha = 0;
  }

  void take_rows(const GemmTraits& traits, const RowGroup& group) {
    gemm.m = group.rows;
    if (traits.divides_rows()) {
      gemm.a = moved(gemm.a, group.begin * gemm.lda, traits.element);
      gemm.c = moved(gemm.c, group.begin * gemm.ldc, traits.element_d);
      gemm.d = moved(gemm.d, group.begin * gemm.ldd, traits.element_d);
      epilogue.residual = moved(epilogue.residual, group.begin * epilogue.ld_residual, traits.element_d);
      epilogue.auxiliary = moved_auxiliary(traits, group.begin * epilogue.ld_auxiliary);
    }
    const Epilogue& e = traits.epilogue;
    const bool divides_scales = e.has_block_scales() && traits.divides_rows();
    if (e.scale_a == Scaling::vector || divides_scales)
      epilogue.scale_a = moved(epilogue.scale_a, group.begin, DType::f32);
    if (e.bias == Bias::per_row) epilogue.bias = moved(epilogue.bias, group.begin, bias_type(traits.element_d));
    for (int i = 0; i < EpilogueFunction::kMostOperands; ++i) {
      if (e.function.operand(i) == FunctionOperand::row)
        extras.operands[i] = moved(extras.operands[i], group.begin, DType::f32);
      if (e.function.operand(i) == FunctionOperand::matrix && traits.divides_rows())
        extras.operands[i] = moved(extras.operands[i], group.begin * extras.ld[i], traits.element_d);
    }
  }
};

}  // namespace hotgemm::standin
