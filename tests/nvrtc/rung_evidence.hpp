#pragma once

#include "nvrtc/machine_code.hpp"

#include "ladder/ladder.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

namespace hotgemm {

/// The machine code of a rung of the material has the technique that its names say. This reads the names, not the
/// config, so that a rung with another kernel's config fails.
class RungEvidence {
 public:
  RungEvidence(const Rung& rung, const std::vector<std::uint8_t>& image)
      : rung_(rung), whole_(MachineCode::of(image)), loop_(whole_.main_loop()) {}

  void expect() const {
    ASSERT_GT(loop_.products(), 0) << "no loop that multiplies";
    if (says({"wmma"}) || rung_.label.find("mma") != std::string_view::npos || says({"cute"})) {
      expect_tensor_cores();
    } else {
      expect_cuda_cores();
    }
    const bool copies_async = says({"async", "stages", "cute"});
    EXPECT_EQ(loop_.count(Opcode::ldgsts) > 0, copies_async) << "cp.async";
    EXPECT_EQ(whole_.count(Opcode::depbar) > 0, copies_async) << "cp.async.wait_group";
  }

 private:
  /// True if the kernel's name has one of the words between underscores.
  bool says(std::initializer_list<std::string_view> words) const {
    const std::string name = "_" + std::string(rung_.name) + "_";
    return std::ranges::any_of(
        words, [&](std::string_view word) { return name.find("_" + std::string(word) + "_") != std::string::npos; });
  }
  bool label_says(std::string_view word) const {
    return ("+" + std::string(rung_.label) + "+").find(word) != std::string::npos;
  }

  void expect_cuda_cores() const {
    EXPECT_EQ(whole_.count(Opcode::hmma) + whole_.count(Opcode::ldsm), 0) << "tensor cores";
    const Opcode product = rung_.element == DType::s8    ? Opcode::idp
                           : rung_.element == DType::f32 ? Opcode::ffma
                                                         : Opcode::hfma2;
    EXPECT_EQ(loop_.count(product), loop_.products());
    const int shared = loop_.count(Opcode::lds) + loop_.count(Opcode::sts);
    if (says({"naive"}) || rung_.name == "matrixMulOnGPU" || rung_.name == "hgemm_naive_f16") {
      EXPECT_EQ(shared, 0) << "shared memory";
      EXPECT_GT(loop_.count(Opcode::ldg), 0);
      return;
    }
    EXPECT_GT(shared, 0) << "shared memory";
    // Two buffers need one barrier for a k-tile, one buffer needs two.
    EXPECT_EQ(loop_.count(Opcode::bar), says({"dbuf"}) ? 1 : 2);
    if (says({"f16x4", "f16x8"})) expect_packed_f16();
  }

  /// Kernels of f16 whose thread tiles are 8×8 or 16×8.
  void expect_packed_f16() const {
    const bool transposes = says({"bcf", "k16", "k32", "dbuf"}) || label_says("k16") || label_says("k32");
    EXPECT_EQ(loop_.count(Opcode::sts, 2) > 0, transposes) << "stores of single elements, which transpose";
    const int bytes = says({"f16x8"}) ? 16 : 8;
    EXPECT_GT(loop_.count(Opcode::ldg, bytes) + loop_.count(Opcode::ldgsts), 0) << "accesses of " << bytes << " bytes";
    // The fragments of a split thread tile are read eight bytes at a time.
    const bool splits = says({"f16x4"}) && says({"bcf"});
    if (says({"pack"}) || splits) {
      EXPECT_EQ(loop_.count(Opcode::lds, 16) > 0, !splits) << "reads of 16 bytes";
    }
  }

  void expect_tensor_cores() const {
    EXPECT_EQ(loop_.count(Opcode::hmma), loop_.products());
    if (rung_.name == "hgemm_wmma_m16n16k16_naive") {
      const auto loops = whole_.loops();
      EXPECT_TRUE(std::ranges::any_of(loops, [](const MachineCode& loop) {
        const int shared = loop.count(Opcode::lds) + loop.count(Opcode::sts) + loop.count(Opcode::ldsm);
        return loop.count(Opcode::hmma) > 0 && loop.count(Opcode::ldg) > 0 && shared == 0;
      })) << "no loop from global memory to the tensor cores";
      return;
    }
    EXPECT_GT(loop_.count(Opcode::ldsm), 0) << "ldmatrix";
    const auto transposed = [](const MachineInstruction& i) { return i.opcode == Opcode::ldsm && i.transposes; };
    EXPECT_EQ(loop_.count_if(transposed) > 0, rung_.op_b == Op::n) << "ldmatrix.trans for a B that is stored by rows";
    if (rung_.name.find("_mma_m16n8k16_") != std::string_view::npos) expect_mma();
  }

  void expect_mma() const {
    const bool has_two_steps = says({"warp4x4x2"});
    const bool is_naive = says({"naive"});
    EXPECT_EQ(loop_.count(Opcode::hmma) % (is_naive ? 1 : has_two_steps ? 32 : 16), 0) << "of a warp and k-tile";
    // With two sets of fragments, half of a k-step at least lies between a load and its use.
    EXPECT_EQ(loop_.least_products_until_use() >= 8, has_two_steps) << "register double buffers";
    const auto of_two = [](const MachineInstruction& i) { return i.opcode == Opcode::ldsm && i.matrices == 2; };
    EXPECT_EQ(loop_.count_if(of_two) == 0, says({"x4"})) << "ldmatrix.x4 for B";
    EXPECT_EQ(whole_.count(Opcode::shfl) > 0, has_two_steps) << "the collective store";
    EXPECT_EQ(whole_.count(Opcode::stg, 16) > 0, has_two_steps) << "stores of 16 bytes";
  }

  const Rung& rung_;
  MachineCode whole_, loop_;
};

}  // namespace hotgemm
