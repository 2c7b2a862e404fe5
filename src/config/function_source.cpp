#include "config/function_source.hpp"

#include "base/sha256.hpp"
#include "base/text.hpp"

#include <hotgemm/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

namespace hotgemm {
namespace {

constexpr std::size_t kMostBytes = 65536;
constexpr std::string_view kOwnNames[] = {"value", "row", "column", "batch"};

std::optional<FunctionOperand> kind_of(std::string_view word) {
  if (word == "scalar") return FunctionOperand::scalar;
  if (word == "row") return FunctionOperand::row;
  if (word == "column") return FunctionOperand::column;
  if (word == "matrix") return FunctionOperand::matrix;
  return std::nullopt;
}

bool is_identifier(std::string_view word) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !word.empty() && is_letter(word[0]) &&
         std::ranges::all_of(word, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

/// `name` as it may stand in a #line.
std::string as_file_name(std::string_view name) {
  std::string text(name.empty() ? "epilogue" : name);
  for (char& c : text) {
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ') c = '_';
  }
  return text;
}

}  // namespace

FunctionSource::FunctionSource(std::string_view text, std::string_view name) : name_(as_file_name(name)) {
  if (text.size() > kMostBytes) fail(1, fmt::format("the source has more than {} bytes", kMostBytes));
  if (const std::size_t zero = text.find('\0'); zero != text.npos) {
    fail(1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(zero), '\n')),
         "there is a zero byte");
  }
  int line = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view whole = rest.substr(0, end);
    const std::vector<std::string_view> words = split_words(whole);
    ++line;
    const bool is_comment = !words.empty() && words[0].starts_with("//");
    if (whole.find("/*") != whole.npos) fail(line, "a function has comments of lines, //, only");
    if (!is_comment && (whole.find('#') != whole.npos || whole.find("%:") != whole.npos)) {
      fail(line, "a function has no preprocessor lines, and '#' may stand in lines of comment only");
    }
    const auto kind = words.size() == 2 && expression_line_ == 0 ? kind_of(words[0]) : std::nullopt;
    if (kind) {
      add_operand(*kind, words[1], line);
    } else if (!words.empty() && !is_comment && expression_line_ == 0) {
      expression_line_ = line;
      expression_ = rest;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (expression_line_ == 0) fail(std::max(line, 1), "there is no expression, as in: 30 * tanh(value / 30)");
  if (!expression_.ends_with('\n')) expression_ += '\n';
  const Sha256 sha = sha256(text);
  digest_ = to_hex(sha);
  for (int i = 0; i < 3; ++i) {
    function_.digest[i] = static_cast<unsigned short>(sha[static_cast<std::size_t>(2 * i)] << 8 |
                                                      sha[static_cast<std::size_t>(2 * i + 1)]);
  }
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    function_.operands =
        static_cast<unsigned short>(function_.operands | static_cast<unsigned>(operands_[i].kind) << (4 * i));
  }
}

void FunctionSource::add_operand(FunctionOperand kind, std::string_view name, int line) {
  if (!is_identifier(name)) fail(line, in_quotes(name) + " is not a name for an operand");
  const bool is_taken = std::ranges::find(kOwnNames, name) != std::end(kOwnNames) ||
                        std::ranges::find(operands_, name, &Operand::name) != operands_.end();
  if (is_taken) fail(line, in_quotes(name) + " is taken: an operand has a name of its own");
  if (operands_.size() == EpilogueFunction::kMostOperands) {
    fail(line, fmt::format("a function has at most {} operands", EpilogueFunction::kMostOperands));
  }
  operands_.push_back({kind, std::string(name), line});
}

void FunctionSource::fail(int line, const std::string& why) const {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}({}): {}", name_, line, why));
}

std::string FunctionSource::header_digest() const { return to_hex(sha256(header_of(as_file_name({})))); }

std::string FunctionSource::header_of(const std::string& file) const {
  // The user's text stands outside of namespace hotgemm, so that it cannot use names of the templates by accident.
  const std::string name = "function_" + to_string(function_);
  std::string operands, arguments;
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    operands +=
        fmt::format(",\n#line {} \"{}\"\n[[maybe_unused]] float {}", operands_[i].line, file, operands_[i].name);
    arguments += fmt::format(", operands[{}]", i);
  }
  return fmt::format(
      "#pragma once\n"
      "namespace hotgemm_user {{\n"
      "HOTGEMM_DEVICE float {}([[maybe_unused]] float value, [[maybe_unused]] int row,\n"
      "    [[maybe_unused]] int column, [[maybe_unused]] int batch{}) {{\n"
      "  return static_cast<float>(\n"
      "#line {} \"{}\"\n"
      "{}"
      "  );\n"
      "}}\n"
      "}}  // namespace hotgemm_user\n"
      "template <>\n"
      "struct hotgemm::FunctionOf<hotgemm::EpilogueFunction{{{{{}, {}, {}}}, {}}}> {{\n"
      "  static HOTGEMM_DEVICE float at(float value, int row, int column, int batch,\n"
      "                                 [[maybe_unused]] const float (&operands)[{}]) {{\n"
      "    return hotgemm_user::{}(value, row, column, batch{});\n"
      "  }}\n"
      "}};\n",
      name, operands, expression_line_, file, expression_, function_.digest[0], function_.digest[1],
      function_.digest[2], function_.operands, EpilogueFunction::kMostOperands, name, arguments);
}

std::string to_string(const EpilogueFunction& function) { return fmt::format("{:016x}", function.number()); }

EpilogueFunction parse_function(std::string_view digits) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  const EpilogueFunction function = EpilogueFunction::of(number);
  if (error != std::errc() || end != digits.data() + digits.size() || to_string(function) != digits ||
      function == EpilogueFunction{} || !is_well_formed(function)) {
    throw Error(ErrorCode::invalid_argument,
                "the function of an epilogue is " + in_quotes(digits) +
                    ": expected the 16 hex digits that `hotgemm show --epilogue FILE` prints");
  }
  return function;
}

bool is_well_formed(const EpilogueFunction& function) noexcept {
  bool has_ended = false;
  for (int i = 0; i < EpilogueFunction::kMostOperands; ++i) {
    const FunctionOperand kind = function.operand(i);
    if (kind > FunctionOperand::matrix || (has_ended && kind != FunctionOperand::none)) return false;
    has_ended = kind == FunctionOperand::none;
  }
  return function.operands == 0 || function.number() >> 16 != 0;
}

}  // namespace hotgemm
