#include "base/sha256.hpp"

#include <hotgemm/error.hpp>

// These are the low-level functions, deprecated since OpenSSL 3 but still present. The EVP functions first load
// providers and a configuration file, which takes longer than all hashing that a process does before its first result.
#define OPENSSL_API_COMPAT 10100
#include <openssl/sha.h>

namespace hotgemm {
namespace {

Sha256 digest_of(const void* data, std::size_t size) {
  Sha256 digest{};
  SHA256_CTX context;
  if (SHA256_Init(&context) != 1 || SHA256_Update(&context, data, size) != 1 ||
      SHA256_Final(digest.data(), &context) != 1) {
    throw Error(ErrorCode::internal, "SHA-256 of " + std::to_string(size) + " bytes: OpenSSL failed");
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
