#pragma once

#include "base/sha256.hpp"
#include "config/kernel_source.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace hotgemm {

/// SHA-256 of the machine code and the constants of `image`, a cubin. Names are left out, so that two kernels which
/// differ only in names have equal digests; so is the table of addresses of variables, in constant bank 4. The launch
/// is not part of the code: compare threads, shared memory and block tile separately. Thread-safe.
///
/// Empty if the image is not a 64-bit little-endian ELF file, has no code, or refers to bytes outside the image.
std::optional<Sha256> code_digest(std::span<const std::uint8_t> image);

/// SHA-256 of the symbol of `cubin` and of its code_digest, or of its whole image if there is none; 64 hex digits.
std::string kernel_digest(const Cubin& cubin);

}  // namespace hotgemm
