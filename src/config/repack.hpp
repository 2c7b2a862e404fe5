#pragma once

#include "config/kernel_config.hpp"
#include "config/launch_config.hpp"
#include "shared/repack_args.hpp"

#include <hotgemm/types.hpp>

#include <cstddef>
#include <cstdint>

namespace hotgemm {

// A family that copies by tensor map reads rows at multiples of 16 bytes only, except by configs whose threads load
// other rows. Tensor cores of Hopper read elements of other than 16 bits only if k is contiguous; lanes can load one of
// the operands in another form. A launch can repack an operand that is stored otherwise: a kernel in front copies it
// into aligned rows of workspace (templates/repack.cuh), and the kernel of the config reads the copy. The copy is the
// transpose if the kernel needs it, or if rows of 16-bit elements along m or n are shorter than a line of L2. So config
// and problem class determine which operands are repacked, and how.

constexpr bool repacks(const LaunchConfig& launch) {
  return launch.repack_a != Repack::none || launch.repack_b != Repack::none;
}

/// `launch` with the operands repacked that `config` cannot read as they are.
LaunchConfig with_repacks(LaunchConfig launch, const KernelConfig& config, const Workload& problem);

/// `problem` as the kernel of `launch` sees it: repacked operands have aligned rows, and transposed ones are k-major.
Workload repacked(const Workload& problem, const LaunchConfig& launch);
/// `problem` as kernels of `config` see it.
Workload repacked(const Workload& problem, const KernelConfig& config);

/// The traits of the kernel of `launch`.
GemmTraits traits_of(const Workload& problem, const LaunchConfig& launch);

/// The rows and columns of an operand as it is stored.
struct StoredShape {
  std::int64_t rows;
  std::int64_t cols;
};
constexpr StoredShape stored_a(std::int64_t m, std::int64_t k, bool is_k_major) {
  return is_k_major ? StoredShape{m, k} : StoredShape{k, m};
}
constexpr StoredShape stored_b(std::int64_t n, std::int64_t k, bool is_k_major) {
  return is_k_major ? StoredShape{n, k} : StoredShape{k, n};
}

/// The shape of an operand's copy.
struct OperandCopy {
  StoredShape shape;  ///< of the copy of one matrix
  int element_bytes = 0;
  bool is_transposed = false;  ///< the operand is stored as the transpose of the copy
  std::int64_t products = 1;   ///< number of matrices, whose copies follow one another

  constexpr std::int64_t row_bytes() const { return shape.cols * element_bytes; }
  constexpr std::int64_t ld() const { return repacked_pitch(row_bytes()) / element_bytes; }  ///< in elements
  constexpr std::int64_t stride() const { return shape.rows * ld(); }  ///< elements from one matrix to the next
};

/// The workspace of a copy, in whole WorkspaceSize::kAlignment.
std::size_t repacked_bytes(const OperandCopy& copy);
/// The workspace of all copies of a launch. They lie at its beginning: A, then B.
std::size_t repacked_bytes(const LaunchConfig& launch, const Problem& problem);

}  // namespace hotgemm
