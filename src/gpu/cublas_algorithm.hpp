#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hotgemm {

inline constexpr std::string_view kHexDigits = "0123456789abcdef";

/// The opaque bytes of an algorithm as hexadecimal digits.
inline std::string to_hex(const cublasLtMatmulAlgo_t& algorithm) {
  std::string digits;
  for (const std::byte byte : std::as_bytes(std::span(&algorithm, 1))) {
    digits += kHexDigits[std::to_integer<std::size_t>(byte >> 4)];
    digits += kHexDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return digits;
}

/// The inverse of to_hex; nullopt for other texts.
inline std::optional<cublasLtMatmulAlgo_t> from_hex(const std::string& digits) {
  cublasLtMatmulAlgo_t algorithm{};
  const auto bytes = std::as_writable_bytes(std::span(&algorithm, 1));
  if (digits.size() != 2 * bytes.size() || digits.find_first_not_of(kHexDigits) != std::string::npos) return {};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(kHexDigits.find(digits[2 * i]) * 16 + kHexDigits.find(digits[2 * i + 1]));
  }
  return algorithm;
}

}  // namespace hotgemm
