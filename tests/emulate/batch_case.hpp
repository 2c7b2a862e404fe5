#pragma once

#include "emulate/gemm_case.hpp"
#include "shared/check_data.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace hotgemm::emulate {

/// The products of a batch as single cases, and the matrices of all of them behind each other.
struct Batch {
  GemmCase whole;
  std::vector<GemmCase> cases;
  std::vector<GemmMatrices> products;
  GemmMatrices matrices;
};

/// The matrices behind each other, with an unused row between them.
template <class Member>
HostMatrix stacked(const std::vector<GemmMatrices>& products, Member&& member, DType type) {
  HostMatrix all = std::invoke(member, products.front());
  all.stride = (all.rows + 1) * all.ld;
  all.rows = static_cast<std::int64_t>(products.size()) * (all.rows + 1) - 1;
  all.bytes.clear();
  for (const GemmMatrices& product : products) {
    if (&product != &products.front())
      all.bytes.insert(all.bytes.end(), static_cast<std::size_t>(all.pitch_bytes()), unwritten_byte(type));
    const HostMatrix& one = std::invoke(member, product);
    all.bytes.insert(all.bytes.end(), one.bytes.begin(), one.bytes.end());
  }
  return all;
}

/// The matrix of product number `index` of such a batch.
inline HostMatrix product_of(const HostMatrix& all, const HostMatrix& first, std::size_t index) {
  HostMatrix one = first;
  const auto begin = static_cast<std::int64_t>(index) * all.stride * all.element_bytes;
  std::copy_n(all.bytes.begin() + begin, static_cast<std::int64_t>(one.bytes.size()), one.bytes.begin());
  return one;
}

inline Batch make_batch(GemmCase c, std::size_t count, bool shares_a, bool shares_b) {
  Batch batch;
  c.problem.batch = 1;
  for (std::size_t i = 0; i < count; ++i) {
    batch.cases.push_back(c);
    batch.cases.back().data_seed = c.data_seed + 100 * i;
    batch.cases.back().product = static_cast<std::int64_t>(i);
    batch.products.push_back(make_matrices(batch.cases.back()));
    const GemmMatrices& first = batch.products.front();
    GemmMatrices& product = batch.products.back();
    if (shares_a) product.a = first.a;
    if (shares_b) product.b = first.b;
    // Vectors and scalars belong to all products.
    const bool has_blocks = c.problem.epilogue.has_block_scales();  // those belong to the matrices
    if (!has_blocks || shares_a) product.scale_a = first.scale_a;
    if (!has_blocks || shares_b) product.scale_b = first.scale_b;
    product.scale_d = first.scale_d;
    product.bias = first.bias;
    product.bias_gradient = first.bias_gradient;
    product.scalars = first.scalars;
    for (int o = 0; o < EpilogueFunction::kMostOperands; ++o) {
      if (c.problem.epilogue.function.operand(o) != FunctionOperand::matrix)
        product.function_operands[o] = first.function_operands[o];
    }
  }
  const Types& types = c.problem.types;
  const auto all = [&](auto&& member, DType type) { return stacked(batch.products, member, type); };
  batch.matrices = batch.products.front();
  GemmMatrices& m = batch.matrices;
  if (!shares_a) m.a = all(&GemmMatrices::a, types.a);
  if (!shares_b) m.b = all(&GemmMatrices::b, types.b);
  if (c.problem.epilogue.has_block_scales()) {
    if (!shares_a) m.scale_a = all(&GemmMatrices::scale_a, DType::f32);
    if (!shares_b) m.scale_b = all(&GemmMatrices::scale_b, DType::f32);
  }
  m.c = all(&GemmMatrices::c, types.c);
  m.d = all(&GemmMatrices::d, types.d);
  if (c.problem.epilogue.residual) m.residual = all(&GemmMatrices::residual, types.d);
  if (c.problem.epilogue.has_auxiliary()) {
    m.auxiliary = all(&GemmMatrices::auxiliary, c.problem.epilogue.bits ? DType::s8 : types.d);
  }
  for (int o = 0; o < EpilogueFunction::kMostOperands; ++o) {
    if (c.problem.epilogue.function.operand(o) == FunctionOperand::matrix)
      m.function_operands[o] = all([o](const GemmMatrices& one) { return one.function_operands[o]; }, types.d);
  }
  batch.whole = c;
  batch.whole.problem.batch = static_cast<std::int64_t>(count);
  return batch;
}

}  // namespace hotgemm::emulate
