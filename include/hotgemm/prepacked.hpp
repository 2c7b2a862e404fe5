#pragma once

#include <hotgemm/problem.hpp>

#include <cstddef>
#include <cstdint>

namespace hotgemm {

/// The device memory of a prepacked operand, and the leading dimension with which it is passed.
///
/// A prepacked operand is a copy of the matrix as stored, made by Context::pack, whose rows begin at multiples of 16
/// bytes, and of 128 bytes if they are that long. Kernels read it at full speed, whatever the leading dimension and the
/// address of the original are. It depends only on the rows and columns of the stored matrix. So B that is packed once
/// serves every m, and A every n. The form may change between versions of the library: do not keep it in files.
struct PrepackedSize {
  std::size_t bytes = 0;  ///< of device memory
  std::int64_t ld = 0;    ///< in elements

  friend bool operator==(const PrepackedSize&, const PrepackedSize&) = default;
};

/// The size of `operand` of `problem` in its prepacked form; `prepacked_a` and `prepacked_b` make no difference. Throws
/// Error{invalid_argument, not_supported} for a problem that no kernel computes, and for elements that are not f16 or
/// bf16.
PrepackedSize prepacked_size(const Problem& problem, Operand operand);

}  // namespace hotgemm
