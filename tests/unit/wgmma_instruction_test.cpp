#include "config/wgmma_instruction.hpp"

#include <hotgemm/error.hpp>

#include <gtest/gtest.h>

namespace hotgemm {
namespace {

TEST(WgmmaInstruction, NamesEachRegisterOnce) {
  EXPECT_EQ(wgmma_text({.n = 8, .b_is_k_major = false}, "Instruction"), R"(struct Instruction {
  static HOTGEMM_DEVICE void mma_async(float (&d)[4], hotgemm::u64 a, hotgemm::u64 b, bool accumulate) {
    HOTGEMM_PTX("{ .reg .pred p; setp.ne.b32 p, %6, 0; "
                "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
                "{%0, %1, %2, %3}, "
                "%4, %5, p, 1, 1, 0, 1; }"
                : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
  }
};
)");
}

TEST(WgmmaInstruction, HoldsF16AccumulatorsInPairs) {
  const std::string text = wgmma_text({.n = 256, .accumulator = DType::f16, .a_is_k_major = false}, "X");
  EXPECT_NE(text.find("hotgemm::u32 (&d)[64]"), text.npos);
  EXPECT_NE(text.find("m64n256k16.f16.f16.f16"), text.npos);
  EXPECT_NE(text.find("%64, %65, p, 1, 1, 1, 0; }"), text.npos);
  EXPECT_NE(text.find("\"+r\"(d[63])"), text.npos);
  EXPECT_EQ(text.find("%67"), text.npos);
}

TEST(WgmmaInstruction, TakesThirtyTwoElementsOfEightBits) {
  const std::string fp8 = wgmma_text({.n = 104, .element = DType::e4m3, .element_b = DType::e5m2}, "X");
  EXPECT_NE(fp8.find("float (&d)[52]"), fp8.npos);
  EXPECT_NE(fp8.find("m64n104k32.f32.e4m3.e5m2"), fp8.npos);
  EXPECT_NE(fp8.find("%52, %53, p, 1, 1; }"), fp8.npos);
  const std::string s8 = wgmma_text({.n = 48, .element = DType::s8, .accumulator = DType::s32}, "X");
  EXPECT_NE(s8.find("hotgemm::u32 (&d)[24]"), s8.npos);
  EXPECT_NE(s8.find("m64n48k32.s32.s8.s8"), s8.npos);
  EXPECT_NE(s8.find("%24, %25, p; }"), s8.npos);
  EXPECT_NE(s8.find("\"+r\"(d[23])"), s8.npos);
}

TEST(WgmmaInstruction, TakesRowsFromRegisters) {
  const WgmmaInstruction s8{.n = 16, .element = DType::s8, .accumulator = DType::s32, .a_in_registers = true};
  EXPECT_EQ(wgmma_text(s8, "Instruction"), R"(struct Instruction {
  static HOTGEMM_DEVICE void mma_async(hotgemm::u32 (&d)[8], const hotgemm::u32 (&a)[4], hotgemm::u64 b, bool accumulate) {
    HOTGEMM_PTX("{ .reg .pred p; setp.ne.b32 p, %13, 0; "
                "wgmma.mma_async.sync.aligned.m64n16k32.s32.s8.s8 "
                "{%0, %1, %2, %3, %4, %5, %6, %7}, "
                "{%8, %9, %10, %11}, %12, p; }"
                : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7])
                : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(accumulate)));
  }
};
)");
}

TEST(WgmmaInstruction, RefusesWhatThereIsNot) {
  for (const WgmmaInstruction& bad :
       {WgmmaInstruction{.n = 0}, WgmmaInstruction{.n = 12}, WgmmaInstruction{.n = 264},
        WgmmaInstruction{.element = DType::f32}, WgmmaInstruction{.accumulator = DType::bf16},
        WgmmaInstruction{.element = DType::bf16, .accumulator = DType::f16},
        WgmmaInstruction{.element = DType::f16, .element_b = DType::bf16},
        WgmmaInstruction{.element = DType::e4m3, .element_b = DType::s8},
        WgmmaInstruction{.element = DType::e4m3, .accumulator = DType::f16},
        WgmmaInstruction{.element = DType::e4m3, .b_is_k_major = false}, WgmmaInstruction{.element = DType::s8},
        WgmmaInstruction{.a_in_registers = true},
        WgmmaInstruction{.n = 40, .element = DType::s8, .accumulator = DType::s32},
        WgmmaInstruction{.n = 16, .element = DType::s8, .accumulator = DType::s32, .a_is_k_major = false}}) {
    EXPECT_THROW(wgmma_text(bad, "Instruction"), Error);
  }
}

}  // namespace
}  // namespace hotgemm
