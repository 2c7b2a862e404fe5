#include "base/sha256.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hotgemm {
namespace {

// The examples in FIPS 180-4.
TEST(Sha256, GivesTheStandardsExamples) {
  EXPECT_EQ(to_hex(sha256(std::string_view())), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(to_hex(sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, TakesBytesAsItTakesText) {
  const std::vector<std::uint8_t> bytes{'a', 'b', 'c'};
  EXPECT_EQ(sha256(bytes), sha256("abc"));
}

TEST(Sha256, HexKeepsLeadingZeros) {
  const std::vector<std::uint8_t> bytes{0x00, 0x0a, 0xf0, 0xff};
  EXPECT_EQ(to_hex(bytes), "000af0ff");
}

}  // namespace
}  // namespace hotgemm
