#include "config/spelling.hpp"

#include <algorithm>
#include <iterator>

namespace hotgemm {
namespace {

struct OtherName {
  std::string_view other;
  std::string_view ours;
};

// As PyTorch, JAX, NumPy and cuBLAS call them.
constexpr OtherName kOtherNames[] = {
    {"fp16", "f16"},        {"float16", "f16"},        {"half", "f16"},      {"bfloat16", "bf16"},
    {"fp32", "f32"},        {"float32", "f32"},        {"float", "f32"},     {"int8", "s8"},
    {"i8", "s8"},           {"int32", "s32"},          {"i32", "s32"},       {"fp8_e4m3", "e4m3"},
    {"fp8_e4m3fn", "e4m3"}, {"float8_e4m3fn", "e4m3"}, {"fp8_e5m2", "e5m2"}, {"float8_e5m2", "e5m2"},
};

}  // namespace

std::string lower_case(std::string_view word) {
  std::string small(word);
  for (char& c : small) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return small;
}

std::string type_word(std::string_view word) {
  std::string small = lower_case(word);
  const auto* const found = std::ranges::find(kOtherNames, small, &OtherName::other);
  return found == std::end(kOtherNames) ? small : std::string(found->ours);
}

}  // namespace hotgemm
