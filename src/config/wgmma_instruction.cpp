#include "config/wgmma_instruction.hpp"

#include "shared/wgmma_descriptor.hpp"

#include <hotgemm/error.hpp>
#include <hotgemm/types.hpp>

#include <fmt/format.h>

namespace hotgemm {
namespace {

constexpr int kRegistersOfA = 4;

bool exists(const WgmmaInstruction& i) {
  if (i.n < 8 || i.n > 256 || i.n % 8 != 0) return false;
  const bool is_k_major = (i.a_in_registers || i.a_is_k_major) && i.b_is_k_major,
             has_one_type = i.element == i.element_b;
  if (i.a_in_registers && size_bytes(i.element) == 2) return false;  // there is one, which no kernel needs
  switch (i.element) {
    case DType::f16: return has_one_type && (i.accumulator == DType::f32 || i.accumulator == DType::f16);
    case DType::bf16: return has_one_type && i.accumulator == DType::f32;
    case DType::e4m3:
    case DType::e5m2: return is_fp8(i.element_b) && i.accumulator == DType::f32 && is_k_major;
    case DType::s8: {
      const bool has_width = i.n % 16 == 0 || i.n == 8 || i.n == 24;
      return has_one_type && i.accumulator == DType::s32 && is_k_major && has_width;
    }
    case DType::tf32: return has_one_type && i.accumulator == DType::f32 && is_k_major;
    case DType::f32:
    case DType::s32: return false;
  }
  return false;
}

/// The operands after the descriptors: the predicate, the signs of A and B, and whether each is transposed.
std::string last_operands(const WgmmaInstruction& i) {
  if (i.element == DType::s8) return "p";
  if (is_fp8(i.element) || i.element == DType::tf32) return "p, 1, 1";
  return fmt::format("p, 1, 1, {}, {}", i.a_is_k_major ? 0 : 1, i.b_is_k_major ? 0 : 1);
}

}  // namespace

std::string wgmma_text(const WgmmaInstruction& i, const std::string& name) {
  if (!exists(i)) {
    throw Error(ErrorCode::internal,
                fmt::format("render wgmma m64n{} {} += {} * {}: there is no such instruction", i.n,
                            to_string(i.accumulator), to_string(i.element), to_string(i.element_b)));
  }
  const bool is_f32 = i.accumulator == DType::f32;
  const int registers = i.n * size_bytes(i.accumulator) / 8;
  std::string list, constraints;
  for (int r = 0; r < registers; ++r) {
    list += fmt::format("{}%{}", r == 0 ? "" : ", ", r);
    constraints += fmt::format("{}\"+{}\"(d[{}])", r == 0 ? "" : ", ", is_f32 ? "f" : "r", r);
  }
  std::string text = "struct " + name + " {\n";
  const int of_a = i.a_in_registers ? kRegistersOfA : 1;
  text += fmt::format("  static HOTGEMM_DEVICE void mma_async({} (&d)[{}], {}, hotgemm::u64 b, bool accumulate) {{\n",
                      is_f32 ? "float" : "hotgemm::u32", registers,
                      i.a_in_registers ? fmt::format("const hotgemm::u32 (&a)[{}]", of_a) : "hotgemm::u64 a");
  text += fmt::format("    HOTGEMM_PTX(\"{{ .reg .pred p; setp.ne.b32 p, %{}, 0; \"\n", registers + of_a + 1);
  text += fmt::format("                \"wgmma.mma_async.sync.aligned.m64n{}k{}.{}.{}.{} \"\n", i.n,
                      kWgmmaKBytes / size_bytes(i.element), to_string(i.accumulator), to_string(i.element),
                      to_string(i.element_b));
  text += fmt::format("                \"{{{}}}, \"\n", list);
  std::string a = fmt::format("%{}", registers), inputs = "\"l\"(a)";
  if (i.a_in_registers) {
    a = fmt::format("{{%{}, %{}, %{}, %{}}}", registers, registers + 1, registers + 2, registers + 3);
    inputs = "\"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3])";
  }
  text += fmt::format("                \"{}, %{}, {}; }}\"\n", a, registers + of_a, last_operands(i));
  text += fmt::format("                : {}\n", constraints);
  text += fmt::format("                : {}, \"l\"(b), \"r\"(static_cast<int>(accumulate)));\n  }}\n}};\n", inputs);
  return text;
}

}  // namespace hotgemm
