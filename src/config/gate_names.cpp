#include "config/gate_names.hpp"

#include <algorithm>
#include <utility>

namespace hotgemm {
namespace {

constexpr std::pair<std::string_view, std::string_view> kNames[] = {
    {"swiglu", "silu+gated"}, {"geglu", "gelu+gated"}, {"geglu_erf", "gelu_erf+gated"}, {"glu", "sigmoid+gated"}};

}  // namespace

std::string without_gate_name(std::string_view word) {
  const std::size_t end = std::min(word.find(':'), word.size());
  for (const auto& [name, plain] : kNames) {
    if (word.substr(0, end) == name) return std::string(plain).append(word.substr(end));
  }
  return std::string(word);
}

}  // namespace hotgemm
