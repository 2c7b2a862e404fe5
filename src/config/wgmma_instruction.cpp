#include "config/wgmma_instruction.hpp"

#include <hotgemm/error.hpp>
#include <hotgemm/types.hpp>

#include <fmt/format.h>

namespace hotgemm {
namespace {

bool exists(const WgmmaInstruction& i) {
  if (i.n < 8 || i.n > 256 || i.n % 8 != 0) return false;
  switch (i.element) {
    case DType::f16: return i.accumulator == DType::f32 || i.accumulator == DType::f16;
    case DType::bf16: return i.accumulator == DType::f32;
    case DType::f32:
    case DType::e4m3:
    case DType::e5m2:
    case DType::s8:
    case DType::s32: return false;  // there are instructions, of another depth: their text is not rendered yet
  }
  return false;
}

}  // namespace

std::string wgmma_text(const WgmmaInstruction& i, const std::string& name) {
  if (!exists(i)) {
    throw Error(ErrorCode::internal,
                fmt::format("render wgmma m64n{}k16 {} += {} * {}: there is no such instruction", i.n,
                            to_string(i.accumulator), to_string(i.element), to_string(i.element)));
  }
  const bool is_f32 = i.accumulator == DType::f32;
  const int registers = i.n * size_bytes(i.accumulator) / 8;
  std::string list, constraints;
  for (int r = 0; r < registers; ++r) {
    list += fmt::format("{}%{}", r == 0 ? "" : ", ", r);
    constraints += fmt::format("{}\"+{}\"(d[{}])", r == 0 ? "" : ", ", is_f32 ? "f" : "r", r);
  }
  std::string text = "struct " + name + " {\n";
  text += fmt::format(
      "  static HOTGEMM_DEVICE void mma_async({} (&d)[{}], hotgemm::u64 a, hotgemm::u64 b, bool accumulate) {{\n",
      is_f32 ? "float" : "hotgemm::u32", registers);
  text += fmt::format("    HOTGEMM_PTX(\"{{ .reg .pred p; setp.ne.b32 p, %{}, 0; \"\n", registers + 2);
  text += fmt::format("                \"wgmma.mma_async.sync.aligned.m64n{}k16.{}.{}.{} \"\n", i.n,
                      to_string(i.accumulator), to_string(i.element), to_string(i.element));
  text += fmt::format("                \"{{{}}}, \"\n", list);
  text += fmt::format("                \"%{}, %{}, p, 1, 1, {}, {}; }}\"\n", registers, registers + 1,
                      i.a_is_k_major ? 0 : 1, i.b_is_k_major ? 0 : 1);
  text += fmt::format("                : {}\n", constraints);
  text += "                : \"l\"(a), \"l\"(b), \"r\"(static_cast<int>(accumulate)));\n  }\n};\n";
  return text;
}

}  // namespace hotgemm
