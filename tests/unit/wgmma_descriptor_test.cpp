// Tests that an operand lies where its descriptor says: wgmma reads where copies by tensor map write.

#include "shared/wgmma_descriptor.hpp"
#include "shared/gemm_types.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

/// The fields of a descriptor, in bytes.
struct Fields {
  int address, leading, stride, swizzle_bytes;
};
Fields fields_of(unsigned long long descriptor) {
  const auto field = [&](int bit) { return static_cast<int>((descriptor >> bit & 0x3fff) << 4); };
  constexpr int kSwizzles[] = {16, 128, 64, 32};
  return {field(0), field(16), field(32), kSwizzles[descriptor >> 62]};
}

/// XORs address bits 4 to 6 with bits 7 to 9, as many of them as the swizzle has.
int swizzled(int address, int swizzle_bytes) {
  const int bits = swizzle_bytes == 128 ? 7 : swizzle_bytes == 64 ? 3 : swizzle_bytes == 32 ? 1 : 0;
  return address ^ ((address / 128 & bits) * 16);
}

/// The address at which wgmma reads element (outer, k), for k below 16, by the canonical layouts of the PTX ISA.
int read_address(unsigned long long descriptor, bool k_major, int outer, int k) {
  const Fields f = fields_of(descriptor);
  const int span = f.swizzle_bytes;
  if (k_major) return swizzled(f.address + outer / 8 * f.stride + outer % 8 * span + k * 2, span);
  const int along = outer * 2;
  return swizzled(f.address + along / span * f.leading + along % span + k / 8 * f.stride + k % 8 * span, span);
}

/// The address at which copies by tensor map write element (outer, k): slab after slab, in rows of `swizzle_bytes`.
int written_address(const WgmmaTile& tile, int address, int outer, int k) {
  const int row = tile.k_major ? outer : k, col = tile.k_major ? k : outer;
  const int slab = col * 2 / tile.swizzle_bytes;
  return swizzled(
      address + slab * tile.rows() * tile.swizzle_bytes + row * tile.swizzle_bytes + col * 2 % tile.swizzle_bytes,
      tile.swizzle_bytes);
}

std::vector<WgmmaTile> tiles() {
  std::vector<WgmmaTile> all;
  for (const int swizzle_bytes : {128, 64, 32}) {
    for (const bool k_major : {true, false}) {
      for (const int block_k : {16, 32, 64, 128}) {
        for (const int outer : {8, 16, 64, 128, 192, 208, 256}) {
          const WgmmaTile tile{outer, block_k, k_major, swizzle_bytes, size_bytes(DType::f16)};
          if (tile.is_sound()) all.push_back(tile);
        }
      }
    }
  }
  return all;
}

std::string name(const WgmmaTile& t) {
  return std::to_string(t.outer) + "×" + std::to_string(t.block_k) + (t.k_major ? " k-major" : " MN-major") +
         " swizzle " + std::to_string(t.swizzle_bytes);
}

TEST(WgmmaDescriptor, HasItsFieldsWhereThePtxIsaPutsThem) {
  EXPECT_EQ(wgmma_descriptor(0x12340, 0x2000, 0x400, 128), 0x4000'0040'0200'1234ull);
  EXPECT_EQ(wgmma_descriptor(0x30, 16, 32, 64), 0x8000'0002'0001'0003ull);
  EXPECT_EQ(wgmma_descriptor(0x30, 16, 32, 32), 0xc000'0002'0001'0003ull);
  EXPECT_EQ(wgmma_descriptor(0x7fff0, 16, 32, 128) & 0xffff, 0x3fffull) << "addresses end at 2^18";
}

TEST(WgmmaDescriptor, ReadsWhatCopiesHaveWritten) {
  EXPECT_GE(tiles().size(), 80u);
  for (const WgmmaTile& tile : tiles()) {
    SCOPED_TRACE(name(tile));
    for (const int base : {0, 1024, 0x2fc00}) {
      for (int step = 0; step < tile.k_steps(); ++step) {
        for (int first = 0; first < tile.outer; first += 64) {
          const auto descriptor =
              tile.descriptor(static_cast<unsigned>(base)) + descriptor_step(tile.offset_bytes(first, step));
          for (int outer = first; outer < tile.outer; ++outer) {
            for (int k = 0; k < tile.step_elements(); ++k) {
              ASSERT_EQ(read_address(descriptor, tile.k_major, outer - first, k),
                        written_address(tile, base, outer, step * tile.step_elements() + k))
                  << "outer " << outer << " from " << first << ", k " << step * tile.step_elements() + k;
            }
          }
        }
      }
    }
  }
}

TEST(WgmmaDescriptor, TilesAreFullAndDisjoint) {
  for (const WgmmaTile& tile : tiles()) {
    std::set<int> addresses;
    for (int outer = 0; outer < tile.outer; ++outer) {
      for (int k = 0; k < tile.block_k; ++k) addresses.insert(written_address(tile, 0, outer, k));
    }
    EXPECT_EQ(static_cast<int>(addresses.size()) * 2, tile.bytes()) << name(tile);
    EXPECT_EQ(tile.bytes(), tile.outer * tile.block_k * 2) << name(tile);
    EXPECT_EQ(*addresses.rbegin() + 2, tile.bytes()) << name(tile);
  }
}

TEST(WgmmaDescriptor, SwizzledOffsetIsWhereCopiesPutABoxsBytes) {
  for (const int swizzle_bytes : {16, 32, 64, 128}) {
    for (int offset = 0; offset < 8192; ++offset) {
      ASSERT_EQ(swizzled_offset(offset, swizzle_bytes), swizzled(offset, swizzle_bytes));
    }
  }
}

TEST(WgmmaDescriptor, StmatrixPhasesHitEightBankGroups) {
  for (const int row_bytes : {128, 64, 32}) {
    for (int chunk = 0; chunk < row_bytes / 16; ++chunk) {
      std::set<int> groups;
      for (int row = 0; row < 8; ++row) groups.insert(swizzled_offset(row * row_bytes + chunk * 16, row_bytes) % 128);
      EXPECT_EQ(groups.size(), 8u) << row_bytes;
    }
  }
}

}  // namespace
}  // namespace hotgemm
