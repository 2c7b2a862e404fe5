#pragma once

#include "nvrtc/compile_fixture.hpp"

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

// The machine code of a kernel for sm_90a, as far as tests look at it: nvdisasm, which prints all of it, is not on
// every machine. An instruction has 16 bytes; its opcode is in the lowest nine bits, and the forms of its operands
// above.

namespace hotgemm {

enum class Opcode : unsigned {
  hfma2 = 0x031,
  ffma = 0x023,
  idp = 0x026,
  hmma = 0x03c,
  ldsm = 0x03b,
  ldg = 0x181,
  ldl = 0x183,
  lds = 0x184,
  stg = 0x186,
  sts = 0x188,
  ldgsts = 0x1ae,
  shfl = 0x189,
  bar = 0x11d,
  depbar = 0x11a,
  bra = 0x147,
};

struct MachineInstruction {
  Opcode opcode;
  std::int64_t at;          ///< bytes from the start of the kernel
  int bytes = 0;            ///< of a load or store of one thread
  int matrices = 0;         ///< of ldsm
  bool transposes = false;  ///< of ldsm
  int result = 0;           ///< the first register of the result
  int sources[2] = {0, 0};  ///< the first registers of the first two operands
  std::int64_t target = 0;  ///< of bra
};

inline MachineInstruction decode(std::uint64_t low, std::uint64_t high, std::int64_t at) {
  constexpr int kWidths[] = {1, 1, 2, 2, 4, 8, 16, 16};
  MachineInstruction i{.opcode = static_cast<Opcode>(low & 0x1ff), .at = at};
  i.bytes = kWidths[high >> 9 & 7];
  i.matrices = 1 << (high >> 8 & 3);
  i.transposes = (high >> 14 & 1) != 0;
  i.result = static_cast<int>(low >> 16 & 0xff);
  i.sources[0] = static_cast<int>(low >> 24 & 0xff);
  i.sources[1] = static_cast<int>(low >> 32 & 0xff);
  // The distance of a branch in words: eight bits at 16, the others from 34 on, with the sign at 81.
  const std::uint64_t upper = low >> 34 | (high & 0x3ffff) << 30;
  const std::int64_t words = static_cast<std::int64_t>(upper << 16) >> 8 | static_cast<std::int64_t>(low >> 16 & 0xff);
  i.target = at + 16 + words * 4;
  return i;
}

/// Part of a kernel's instructions.
class MachineCode {
 public:
  explicit MachineCode(std::vector<MachineInstruction> instructions) : instructions_(std::move(instructions)) {}

  /// The code of the only kernel of `image`, without instructions that never execute.
  static MachineCode of(const std::vector<std::uint8_t>& image) {
    constexpr std::uint64_t kNever = 0xf;  // the predicate !PT
    const auto header = read_at<Elf64_Ehdr>(image, 0);
    const auto section = [&](std::size_t i) {
      return read_at<Elf64_Shdr>(image, header.e_shoff + i * sizeof(Elf64_Shdr));
    };
    const Elf64_Shdr names = section(header.e_shstrndx);
    std::vector<MachineInstruction> found;
    for (std::size_t s = 0; s < header.e_shnum; ++s) {
      const Elf64_Shdr text = section(s);
      const auto* name = reinterpret_cast<const char*>(image.data() + names.sh_offset + text.sh_name);
      if (!std::string_view(name).starts_with(".text.")) continue;
      for (std::uint64_t at = 0; at + 16 <= text.sh_size; at += 16) {
        const auto low = read_at<std::uint64_t>(image, text.sh_offset + at);
        if ((low >> 12 & 0xf) == kNever) continue;
        found.push_back(
            decode(low, read_at<std::uint64_t>(image, text.sh_offset + at + 8), static_cast<std::int64_t>(at)));
      }
    }
    return MachineCode(std::move(found));
  }

  const std::vector<MachineInstruction>& instructions() const { return instructions_; }

  template <class Predicate>
  int count_if(const Predicate& is_it) const {
    return static_cast<int>(std::ranges::count_if(instructions_, is_it));
  }
  int count(Opcode opcode) const {
    return count_if([&](const MachineInstruction& i) { return i.opcode == opcode; });
  }
  /// Loads or stores of `bytes` bytes.
  int count(Opcode opcode, int bytes) const {
    return count_if([&](const MachineInstruction& i) { return i.opcode == opcode && i.bytes == bytes; });
  }
  /// Instructions that multiply.
  int products() const { return count(Opcode::hfma2) + count(Opcode::ffma) + count(Opcode::idp) + count(Opcode::hmma); }

  /// The loops: from the target of each branch back to the branch.
  std::vector<MachineCode> loops() const {
    std::vector<MachineCode> found;
    for (const MachineInstruction& branch : instructions_) {
      if (branch.opcode != Opcode::bra || branch.target >= branch.at) continue;
      std::vector<MachineInstruction> body;
      std::ranges::copy_if(instructions_, std::back_inserter(body),
                           [&](const MachineInstruction& i) { return i.at >= branch.target && i.at <= branch.at; });
      found.emplace_back(std::move(body));
    }
    return found;
  }
  /// The loop with the most products; of several, the longest: it also copies.
  MachineCode main_loop() const {
    MachineCode most({});
    for (const MachineCode& loop : loops()) {
      const auto rank = [](const MachineCode& code) { return std::pair(code.products(), code.instructions_.size()); };
      if (rank(loop) > rank(most)) most = loop;
    }
    return most;
  }

  /// The fewest hmma of a loop between an ldsm and the first hmma that reads what it loaded.
  int least_products_until_use() const {
    int least = count(Opcode::hmma);
    for (std::size_t load = 0; load < instructions_.size(); ++load) {
      if (instructions_[load].opcode != Opcode::ldsm) continue;
      int products = 0;
      for (std::size_t step = 1; step < instructions_.size(); ++step) {
        const MachineInstruction& next = instructions_[(load + step) % instructions_.size()];
        if (next.opcode != Opcode::hmma) continue;
        if (reads(next, instructions_[load])) break;
        ++products;
      }
      least = std::min(least, products);
    }
    return least;
  }

 private:
  /// True if `product`, with four registers of A and two of B, reads a register that `load` wrote.
  static bool reads(const MachineInstruction& product, const MachineInstruction& load) {
    const auto overlaps = [&](int first, int registers) {
      return first < load.result + load.matrices && load.result < first + registers;
    };
    return overlaps(product.sources[0], 4) || overlaps(product.sources[1], 2);
  }

  std::vector<MachineInstruction> instructions_;
};

}  // namespace hotgemm
