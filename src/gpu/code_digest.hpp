#pragma once

#include "base/sha256.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace hotgemm {

/// SHA-256 of the machine code and the constants of `image`, a cubin. Names are left out, so that two kernels which
/// differ in nothing else are equal. How a kernel is launched is not part of its code: threads, shared memory and the
/// tile of a block have to be compared beside it. Thread-safe.
///
/// Empty if the image is no 64-bit little-endian ELF file, has no code, or refers to bytes that it does not have.
std::optional<Sha256> code_digest(std::span<const std::uint8_t> image);

}  // namespace hotgemm
