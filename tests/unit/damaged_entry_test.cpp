// Random damage to an entry of the cache, with checksums of what it holds then: decode_entry returns an entry, or
// throws Error{io_error}.

#include "base/sha256.hpp"
#include "cache/cache_entry.hpp"
#include "sweep_sample.hpp"

#include <hotgemm/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>
#include <vector>

namespace hotgemm {
namespace {

using Bytes = std::vector<std::uint8_t>;

// The layout that CacheEntry documents.
constexpr std::size_t kHeaderLengthAt = 12, kPayloadDigestAt = 24, kDigestAt = 56, kHeaderAt = 88;

std::uint32_t header_length(const Bytes& bytes) {
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < 4; ++i) length |= static_cast<std::uint32_t>(bytes[kHeaderLengthAt + i]) << 8 * i;
  return length;
}

/// Both checksums, if the header ends within the bytes.
void seal(Bytes& bytes) {
  if (bytes.size() < kHeaderAt || header_length(bytes) > bytes.size() - kHeaderAt) return;
  const std::span<const std::uint8_t> all(bytes);
  const Sha256 payload = sha256(all.subspan(kHeaderAt + header_length(bytes)));
  std::ranges::copy(payload, bytes.begin() + kPayloadDigestAt);
  Bytes covered(bytes.begin(), bytes.begin() + kDigestAt);
  covered.insert(covered.end(), bytes.begin() + kHeaderAt, bytes.begin() + kHeaderAt + header_length(bytes));
  std::ranges::copy(sha256(covered), bytes.begin() + kDigestAt);
}

TEST(DamagedEntry, IsDecodedOrRefused) {
  const CacheEntry entry{.identity = {.digest = sha256(Bytes{1, 2}), .text = "wgmma 64 64 64"},
                         .cubin = {.image = Bytes(300, 7),
                                   .symbol = "hotgemm_wgmma",
                                   .arch = "sm_90a",
                                   .toolchain = "nvrtc-13.0",
                                   .registers = 168,
                                   .compile_ms = 512.5},
                         .created_ns = 1'700'000'000'000'000'000};
  const Bytes whole = encode_entry(entry);
  ASSERT_EQ(decode_entry(whole), entry);
  Bytes sealed_again = whole;
  seal(sealed_again);
  ASSERT_EQ(sealed_again, whole) << "the checksums of this test are those of the format";
  constexpr std::uint8_t kValues[] = {0, 1, 0x7f, 0x80, 0xff};
  std::mt19937 random(9);
  int decoded = 0;
  for (int i = 0; i < trials(20000, 10); ++i) {
    Bytes bytes = whole;
    if (random() % 8 == 0) bytes.resize(random() % whole.size());
    for (std::size_t edits = 1 + random() % 4; edits > 0 && !bytes.empty(); --edits) {
      const std::size_t header_end = kHeaderAt + header_length(whole);
      const std::size_t at = random() % std::min(bytes.size(), random() % 4 != 0 ? header_end : bytes.size());
      bytes[at] = random() % 2 == 0 ? static_cast<std::uint8_t>(random()) : kValues[random() % std::size(kValues)];
    }
    seal(bytes);
    try {
      const CacheEntry read = decode_entry(bytes);
      EXPECT_EQ(encode_entry(read), bytes) << i;
      ++decoded;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::io_error) << error.what();
    }
  }
  EXPECT_GT(decoded, 0);
}

}  // namespace
}  // namespace hotgemm
