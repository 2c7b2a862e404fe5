#include "config/tunableop.hpp"

#include "base/log.hpp"
#include "base/text.hpp"
#include "config/supported.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <system_error>

// The format is that of aten/src/ATen/cuda/tunable in PyTorch: README.md there shows a file, Signature() in
// TunableGemm.h and in GemmCommon.h make the first two fields. A line is
//
//   <operator>_<type>_<ops>,<ops>_<m>_<n>_<k>[_B_<batch>]_ld_<lda>_<ldb>_<ldc>[_…][,<solution>[,<milliseconds>]]
//
// as in "GemmTunableOp_BFloat16_TN,tn_4096_1024_512_ld_512_512_4096,Gemm_Hipblaslt_220,0.0123". Early versions have no
// leading dimensions. A file of problems that were not tuned (PYTORCH_TUNABLEOP_RECORD_UNTUNED) has no solutions. No
// line tells the distances of a batch. Lines that begin with "Validator," name versions.

namespace hotgemm {
namespace {

constexpr std::string_view kValidator = "Validator,";
constexpr std::string_view kOperator = "TunableOp_";

[[noreturn]] void not_a_line(std::string_view what, std::string_view word) {
  throw Error(ErrorCode::invalid_argument, std::string(what) + " is " + in_quotes(word) +
                                               ": expected a line of TunableOp, as in "
                                               "GemmTunableOp_Half_TN,tn_64_32_16_ld_16_16_64,Default,0.01");
}

struct TypeWord {
  std::string_view theirs, ours;
};
constexpr std::array kTypeWords{TypeWord{"Half", "f16"}, TypeWord{"BFloat16", "bf16"}, TypeWord{"float", "f32"},
                                TypeWord{"tf32", "tf32"}};

/// "Half" of "GemmTunableOp_Half_TN" in our words; empty for a type, or several, that no shape file names.
std::string_view type_of(std::string_view operation) {
  std::string_view words = operation.substr(operation.find(kOperator) + kOperator.size());
  const std::size_t end = words.rfind('_');
  if (end == std::string_view::npos) not_a_line("the operator", operation);
  words = words.substr(0, end);
  const auto* const found = std::ranges::find(kTypeWords, words, &TypeWord::theirs);
  return found == kTypeWords.end() ? std::string_view() : found->ours;
}

/// A column-major product.
struct BlasProduct {
  char op_a = 'n', op_b = 'n';
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  std::optional<std::array<std::int64_t, 3>> ld;  ///< of A, B and C
};

BlasProduct product_of(std::string_view text) {
  const std::vector<std::string_view> words = split_at(text, '_');
  const auto op_of = [&](char c) {
    if (c == 'n' || c == 'N') return 'n';
    if (c == 't' || c == 'T') return 't';
    not_a_line("the parameters", text);
  };
  if (words.size() < 4 || words[0].size() != 2) not_a_line("the parameters", text);
  BlasProduct p{.op_a = op_of(words[0][0]), .op_b = op_of(words[0][1]), .ld = {}};
  p.m = parse_size(words[1], "m");
  p.n = parse_size(words[2], "n");
  p.k = parse_size(words[3], "k");
  std::span rest = std::span(words).subspan(4);
  if (rest.size() >= 2 && rest[0] == "B") {
    p.batch = parse_size(rest[1], "the batch");
    rest = rest.subspan(2);
  }
  if (rest.size() >= 4 && rest[0] == "ld") {
    p.ld = {parse_size(rest[1], "lda"), parse_size(rest[2], "ldb"), parse_size(rest[3], "ldc")};
  }
  return p;
}

/// The row-major problem: B of BLAS is our A. The ops keep their letters, because a column-major matrix is its
/// row-major transpose.
Shape shape_of(const BlasProduct& p, std::string_view type) {
  std::string text = std::to_string(p.n) + " " + std::to_string(p.m) + " " + std::to_string(p.k) + " " + p.op_b +
                     p.op_a + " " + std::string(type);
  if (p.batch != 1) text += " batch=" + std::to_string(p.batch);
  if (p.ld) {
    const auto [lda, ldb, ldc] = *p.ld;
    const auto add = [&](std::string_view key, std::int64_t ld, std::int64_t row) {
      if (ld >= row) text.append(" ").append(key).append("=").append(std::to_string(ld));
    };  // a matrix of one row may have any other number
    add("lda", ldb, p.op_b == 'n' ? p.k : p.n);
    add("ldb", lda, p.op_a == 'n' ? p.m : p.k);
    add("ldd", ldc, p.m);
  }
  return parse_shape(text);
}

double us_of(std::string_view milliseconds) {
  double ms = 0;
  const auto [end, error] = std::from_chars(milliseconds.data(), milliseconds.data() + milliseconds.size(), ms);
  const bool is_number = error == std::errc() && end == milliseconds.data() + milliseconds.size();
  if (!is_number || !std::isfinite(ms) || ms < 0) not_a_line("the time", milliseconds);
  return 1e3 * ms;
}

/// nullopt for a line that no kernel computes.
std::optional<Shape> parse_result(std::string_view line) {
  const std::vector<std::string_view> fields = split_at(line, ',');
  if (fields.size() < 2 || fields.size() > 4 || fields[0].find(kOperator) == std::string_view::npos) {
    not_a_line("the line", line);
  }
  const BlasProduct product = product_of(fields[1]);
  const std::string_view type = type_of(fields[0]);
  if (type.empty() || fields[0].starts_with("Scaled")) return std::nullopt;
  Shape shape = shape_of(product, type);
  if (fields.size() == 4 && !fields[3].empty()) shape.us = us_of(fields[3]);
  if (!is_supported(shape.workload)) return std::nullopt;
  return shape;
}

}  // namespace

bool is_tunableop(std::string_view text) {
  const std::string_view first = text.substr(0, text.find('\n'));
  return first.starts_with(kValidator) || (first.find(kOperator) != std::string_view::npos &&
                                           first.find(',') != std::string_view::npos && !first.starts_with('#'));
}

std::vector<Shape> parse_tunableop(std::string_view text, std::string_view file_name) {
  std::vector<Shape> shapes;
  int left_out = 0;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with(kValidator)) continue;
    try {
      if (std::optional<Shape> shape = parse_result(line)) {
        shapes.push_back(*std::move(shape));
      } else {
        ++left_out;
      }
    } catch (const Error& error) {
      throw Error(error.code(), std::string(file_name) + ":" + std::to_string(number) + ": " + error.what());
    }
  }
  if (left_out > 0) {
    log(LogLevel::warn, std::string(file_name) + ": " + std::to_string(left_out) +
                            " lines are left out: problems with their types or scales are not read");
  }
  return shapes;
}

}  // namespace hotgemm
