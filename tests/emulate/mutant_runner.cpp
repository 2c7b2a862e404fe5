// Runs kernels of the templates that it is compiled with, and says what is wrong with them: findings, wrong numbers,
// bank conflicts. Exit status 1 if there is anything. Built once for the templates as they are, and once per mutant.

#include "emulate/gemm_run.hpp"

#include "mma.cuh"
#include "simt.cuh"

#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

namespace hotgemm::emulate {
namespace {

// clang-format off
constexpr GemmTraits kWide{.op_a = Op::n, .op_b = Op::n};
constexpr GemmTraits kTransposed{.op_a = Op::t, .op_b = Op::t, .reads_c = true, .vec_a = 4, .vec_b = 2, .vec_d = 2};
constexpr GemmTraits kNarrow{.element = DType::bf16, .op_a = Op::t, .op_b = Op::n, .reads_c = true, .vec_a = 1, .vec_b = 1, .vec_d = 1};
constexpr GemmTraits kKMajor{.accumulator = DType::f16, .op_a = Op::n, .op_b = Op::t, .vec_d = 4};
constexpr GemmTraits kF32{.element = DType::f32, .op_a = Op::t, .op_b = Op::t, .reads_c = true, .vec_a = 1, .vec_b = 1, .vec_d = 1};

constexpr MmaConfig kStaged{.block_m = 64, .block_n = 64, .block_k = 32, .warps_m = 2, .warps_n = 2, .stages = 3, .fragment_buffers = 2, .staged_store = true};
constexpr MmaConfig kDirect{.block_m = 32, .block_n = 64, .block_k = 64, .warps_m = 1, .warps_n = 2, .stages = 2, .fragment_buffers = 1, .staged_store = false};
constexpr MmaConfig kPadded{.block_m = 32, .block_n = 32, .block_k = 32, .warps_m = 2, .warps_n = 1, .stages = 4, .swizzle = false, .fragment_buffers = 1, .staged_store = true};
constexpr MmaConfig kDeep{.block_m = 48, .block_n = 32, .block_k = 48, .warps_m = 1, .warps_n = 2, .stages = 5, .fragment_buffers = 2, .staged_store = false};
constexpr SimtConfig kSquare{.block_m = 32, .block_n = 32, .block_k = 16, .thread_m = 2, .thread_n = 2};
constexpr SimtConfig kOdd{.block_m = 24, .block_n = 48, .block_k = 7, .thread_m = 3, .thread_n = 3};

const GemmKernel kKernels[] = {
    {kStaged, kWide, mma_gemm<kWide, kStaged>},
    {kDirect, kTransposed, mma_gemm<kTransposed, kDirect>},
    {kPadded, kNarrow, mma_gemm<kNarrow, kPadded>},
    {kDeep, kKMajor, mma_gemm<kKMajor, kDeep>},
    {kSquare, kWide, simt_gemm<kWide, kSquare>},
    {kOdd, kF32, simt_gemm<kF32, kOdd>},
};
// clang-format on

struct Size {
  std::int64_t m, n, k;
};
// Edges in every dimension, several tiles and k-tiles of each config, and a problem of whole tiles.
constexpr Size kSizes[] = {{70, 91, 185}, {33, 63, 40}, {192, 192, 192}};

/// The problem that the kernel's traits are made for.
GemmCase case_for(const GemmTraits& t, const Size& size) {
  const int bytes = size_bytes(t.element);
  return {.problem = {.m = size.m,
                      .n = size.n,
                      .k = size.k,
                      .op_a = t.op_a,
                      .op_b = t.op_b,
                      .dtype = t.element,
                      .accumulator = t.accumulator,
                      .align_a = t.vec_a * bytes,
                      .align_b = t.vec_b * bytes,
                      .align_d = t.vec_d * bytes,
                      .beta_is_zero = !t.reads_c},
          .beta = t.reads_c ? 1.0f : 0.0f};
}

/// What is wrong with one run; empty if nothing.
std::string complaint(const GemmKernel& kernel, const GemmCase& c, std::uint64_t seed) {
  const GemmMatrices matrices = make_matrices(c);
  const GemmRun run = run_gemm(kernel, c, matrices, seed);
  if (!run.report.findings.empty()) return to_string(run.report.findings.front());
  if (const std::string wrong = GemmReference(c, matrices).first_inexact(run.d); !wrong.empty()) {
    return "wrong result: " + wrong;
  }
  for (const Instruction i : {Instruction::ldmatrix_x4, Instruction::ldmatrix_x4_trans}) {
    if (const std::uint64_t n = run.report.counters[i].conflicts; n != 0) {
      return std::to_string(n) + " bank conflicts of " + std::string(to_string(i));
    }
  }
  return {};
}

int run_all() {
  for (const GemmKernel& kernel : kKernels) {
    for (const Size& size : kSizes) {
      const GemmCase c = case_for(kernel.traits, size);
      for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        const std::string text = complaint(kernel, c, seed);
        if (text.empty()) continue;
        std::printf("%s: %s\n", hotgemm::to_string(kernel.config).c_str(), text.c_str());
        return 1;
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace hotgemm::emulate

int main() {
  try {
    return hotgemm::emulate::run_all();
  } catch (const std::exception& error) {
    std::printf("exception: %s\n", error.what());
    return 2;
  }
}
