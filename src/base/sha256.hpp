#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hotgemm {

using Sha256 = std::array<std::uint8_t, 32>;

/// SHA-256 of `bytes`. Thread-safe. Throws Error{internal} when OpenSSL refuses the algorithm.
Sha256 sha256(std::span<const std::uint8_t> bytes);
Sha256 sha256(std::string_view text);

/// Two lower-case digits per byte.
std::string to_hex(std::span<const std::uint8_t> bytes);

}  // namespace hotgemm
