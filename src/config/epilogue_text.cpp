#include "config/epilogue_text.hpp"

#include "base/refuse.hpp"
#include "base/text.hpp"
#include "config/function_source.hpp"
#include "config/gate_names.hpp"
#include "config/problem_enums.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace hotgemm {
namespace {

/// "name", or "name" + separator + an enumerator of Enum.
template <class Enum>
std::optional<Enum> suffix(std::string_view word, std::string_view name, char separator, Enum plain) {
  if (!word.starts_with(name)) return std::nullopt;
  const std::string_view rest = word.substr(name.size());
  if (rest.empty()) return plain;
  if (rest.front() != separator) return std::nullopt;
  return parse_enum<Enum>(rest.substr(1), name);
}

struct EpilogueFlag {
  std::string_view name;
  bool Epilogue::*member;
};
constexpr std::string_view kFunctionWord = "function:";
constexpr std::string_view kWrittenBits = "aux:bits", kReadBits = "drelu:bits";
constexpr std::array<EpilogueFlag, 5> kEpilogueFlags{{{"aux", &Epilogue::aux},
                                                      {"residual", &Epilogue::residual},
                                                      {"amax", &Epilogue::amax},
                                                      {"scale_d", &Epilogue::scale_d},
                                                      {"scalars", &Epilogue::scalars}}};

[[noreturn]] void refuse_epilogue_word(std::string_view word) {
  std::string names = "bias, scale_a, scale_b, gated, bias_gradient, aux:bits, drelu:bits, function:DIGEST";
  for (const EpilogueFlag& flag : kEpilogueFlags) names.append(", ").append(flag.name);
  for (int i = 1; is_enumerator(static_cast<Activation>(i)); ++i) {
    names.append(", ").append(to_string(static_cast<Activation>(i)));
  }
  refuse("a word of the epilogue is " + in_quotes(word) + ": expected " + names);
}

void parse_epilogue_word(std::string_view word, Epilogue& epilogue) {
  const auto flag = std::ranges::find(kEpilogueFlags, word, &EpilogueFlag::name);
  if (flag != kEpilogueFlags.end()) {
    epilogue.*flag->member = true;
  } else if (word == kWrittenBits) {
    epilogue.aux = epilogue.bits = true;
  } else if (word == kReadBits) {
    epilogue.activation = Activation::drelu;
    epilogue.bits = true;
  } else if (const auto gradient = suffix(word, "bias_gradient", ':', Bias::per_column)) {
    epilogue.bias_gradient = *gradient;
  } else if (const auto scale_a = suffix(word, "scale_a", ':', Scaling::tensor)) {
    epilogue.scale_a = *scale_a;
  } else if (const auto scale_b = suffix(word, "scale_b", ':', Scaling::tensor)) {
    epilogue.scale_b = *scale_b;
  } else if (const auto bias = suffix(word, "bias", ':', Bias::per_column)) {
    epilogue.bias = *bias;
  } else if (const auto gate = suffix(word, "gated", ':', Gate::halves)) {
    epilogue.gate = *gate;
  } else if (word.starts_with(kFunctionWord)) {
    epilogue.function = parse_function(word.substr(kFunctionWord.size()));
  } else {
    for (int i = 1; is_enumerator(static_cast<Activation>(i)); ++i) {
      epilogue.activation = static_cast<Activation>(i);
      if (to_string(epilogue.activation) == word) return;
    }
    refuse_epilogue_word(word);
  }
}

template <class Enum>
void add_word(std::string& text, std::string_view name, Enum value, Enum plain) {
  if (value == Enum::none) return;
  text.append("+").append(name);
  if (value != plain) text.append(":").append(to_string(value));
}

}  // namespace

std::string epilogue_text(const Epilogue& e) {
  std::string text;
  const auto add_flag = [&](std::size_t i) {
    if (e.*kEpilogueFlags[i].member) text.append("+").append(kEpilogueFlags[i].name);
  };
  add_word(text, "scale_a", e.scale_a, Scaling::tensor);
  add_word(text, "scale_b", e.scale_b, Scaling::tensor);
  add_word(text, "bias", e.bias, Bias::per_column);
  text.append(e.writes_bits() ? "+aux:bits" : e.aux ? "+aux" : "");
  if (e.activation != Activation::none) text.append("+").append(to_string(e.activation));
  if (e.reads_bits() && !e.aux) text.append(":bits");
  if (e.has_function()) text.append("+").append(kFunctionWord).append(to_string(e.function));
  add_word(text, "gated", e.gate, Gate::halves);
  for (std::size_t i = 1; i < kEpilogueFlags.size(); ++i) add_flag(i);
  add_word(text, "bias_gradient", e.bias_gradient, Bias::per_column);
  return text.empty() ? text : text.substr(1);
}

Epilogue parse_epilogue(std::string_view text) {
  Epilogue epilogue;
  std::string plain;
  for (const std::string_view word : split_at(text, '+')) plain += "+" + without_gate_name(word);
  const std::vector<std::string_view> words = split_at(std::string_view(plain).substr(1), '+');
  for (const std::string_view word : words) parse_epilogue_word(word, epilogue);
  if (split_at(epilogue_text(epilogue), '+').size() != words.size() || epilogue == Epilogue{}) {
    refuse("epilogue is " + in_quotes(text) + ": a word stands twice, contradicts another, or says none");
  }
  return epilogue;
}

}  // namespace hotgemm
