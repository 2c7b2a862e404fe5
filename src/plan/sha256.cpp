#include "plan/sha256.hpp"

#include <hotgemm/error.hpp>

#include <openssl/evp.h>

namespace hotgemm {
namespace {

Sha256 digest_of(const void* data, std::size_t size) {
  Sha256 digest{};
  unsigned int length = 0;
  if (EVP_Digest(data, size, digest.data(), &length, EVP_sha256(), nullptr) != 1 || length != digest.size()) {
    throw Error(ErrorCode::internal,
                "SHA-256 of " + std::to_string(size) + " bytes: OpenSSL's EVP_Digest failed or gave a wrong length");
  }
  return digest;
}

}  // namespace

Sha256 sha256(std::span<const std::uint8_t> bytes) { return digest_of(bytes.data(), bytes.size()); }

Sha256 sha256(std::string_view text) { return digest_of(text.data(), text.size()); }

std::string to_hex(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

}  // namespace hotgemm
