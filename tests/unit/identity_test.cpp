#include "config/identity.hpp"

#include "base/sha256.hpp"

#include <hotgemm/error.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace hotgemm {
namespace {

TEST(Identity, KeepsItsBytes) {
  // A change here makes all entries in all users' caches useless, so it must be intended.
  const Identity identity = IdentityBuilder{}.field("arch", "sm_90a").field("unit", "a\nb").build();
  EXPECT_EQ(identity.text, "hotgemm-identity 1\narch:6=sm_90a\nunit:3=a\nb\n");
  EXPECT_EQ(identity.digest, sha256(identity.text));
  EXPECT_EQ(identity.hex(), to_hex(identity.digest));
  EXPECT_EQ(identity.hex().size(), 64U);
}

TEST(Identity, IsTheSameEachTime) {
  const auto build = [] { return IdentityBuilder{}.field("a", "1").field("b", "").build(); };
  EXPECT_EQ(build(), build());
}

TEST(Identity, TellsApartWhatConcatenationConfuses) {
  std::set<std::string> digests;
  std::set<std::string> texts;
  const auto add = [&](const Identity& identity) {
    digests.insert(identity.hex());
    texts.insert(identity.text);
  };
  add(IdentityBuilder{}.build());
  add(IdentityBuilder{}.field("a", "").build());
  add(IdentityBuilder{}.field("a", "bc").build());
  add(IdentityBuilder{}.field("ab", "c").build());
  add(IdentityBuilder{}.field("a", "b").field("a", "c").build());
  add(IdentityBuilder{}.field("a", "c").field("a", "b").build());
  // A value that looks like a following field.
  add(IdentityBuilder{}.field("a", "b\na:1=c").build());
  add(IdentityBuilder{}.field("a", std::string("b\0", 2)).build());
  EXPECT_EQ(digests.size(), 8U);
  EXPECT_EQ(texts.size(), 8U);
}

TEST(Identity, RefusesALabelThatCouldImitateStructure) {
  for (const char* label : {"", "a:1", "a=b", "a\n", "A", "a b"}) {
    EXPECT_THROW(IdentityBuilder{}.field(label, "x"), Error) << label;
  }
}

}  // namespace
}  // namespace hotgemm
