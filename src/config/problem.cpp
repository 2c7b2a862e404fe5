#include "base/text.hpp"
#include "config/max_size.hpp"
#include "config/problem_text.hpp"

#include <hotgemm/error.hpp>
#include <hotgemm/types.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <tuple>

namespace hotgemm {

namespace {

/// "a16" with tag 'a' is 16; throws for an alignment that is none of 2, 4, 8, 16.
int parse_alignment(std::string_view word, DType dtype) {
  const std::string_view digits = word.substr(1);
  for (const int bytes : {2, 4, 8, 16}) {
    if (digits != std::to_string(bytes)) continue;
    if (bytes >= size_bytes(dtype)) return bytes;
    throw Error(ErrorCode::invalid_argument,
                "alignment " + in_quotes(word) + " is less than one " + std::string(to_string(dtype)) + " element");
  }
  throw Error(ErrorCode::invalid_argument, "alignment is " + in_quotes(word) +
                                               ": expected 2, 4, 8 or 16 bytes, as in " +
                                               std::string(word.substr(0, 1)) + "16");
}

/// What may follow the types: alignments and beta, each at most once, in the order of to_string.
void parse_attributes(std::span<const std::string_view> words, Problem& problem) {
  constexpr std::string_view kTags = "abd";
  const std::array<int*, 3> alignments{&problem.align_a, &problem.align_b, &problem.align_d};
  std::size_t next = 0;
  for (const std::string_view word : words) {
    const bool is_beta = word == "beta0" || word == "beta1";
    const std::size_t place = is_beta ? kTags.size() : kTags.find(word.front());
    if (place == std::string_view::npos || place < next || (!is_beta && word.starts_with("beta"))) {
      throw Error(ErrorCode::invalid_argument, in_quotes(word) +
                                                   " is not expected here: after the types come a, b and d " +
                                                   "alignments and beta0 or beta1, as in a16 b16 d16 beta0");
    }
    if (is_beta) {
      problem.beta_is_zero = word == "beta0";
    } else {
      *alignments[place] = parse_alignment(word, problem.dtype);
    }
    next = place + 1;
  }
}

}  // namespace

std::string_view to_string(DType dtype) {
  switch (dtype) {
    case DType::f16: return "f16";
    case DType::bf16: return "bf16";
    case DType::f32: return "f32";
  }
  return "unknown";
}

std::string_view to_string(Op op) { return op == Op::n ? "n" : "t"; }

DType parse_dtype(std::string_view text) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
    if (text == to_string(dtype)) return dtype;
  }
  throw Error(ErrorCode::invalid_argument, "element type is " + in_quotes(text) + ": expected f16, bf16 or f32");
}

Op parse_op(std::string_view text) {
  if (text == "n") return Op::n;
  if (text == "t") return Op::t;
  throw Error(ErrorCode::invalid_argument, "operation is " + in_quotes(text) + ": expected n or t");
}

std::string to_string(const Problem& p) {
  std::string text = std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k) + " ";
  text.append(to_string(p.op_a)).append(to_string(p.op_b)).append(" ");
  text.append(to_string(p.dtype)).append(" ").append(to_string(p.accumulator));
  text += " a" + std::to_string(p.align_a) + " b" + std::to_string(p.align_b) + " d" + std::to_string(p.align_d);
  return text + (p.beta_is_zero ? " beta0" : " beta1");
}

Problem parse_problem(std::string_view text) {
  const std::vector<std::string_view> words = split_words(text);
  if (words.size() < 4) {
    throw Error(ErrorCode::invalid_argument, in_quotes(text) +
                                                 " is not a problem: expected sizes, layout, element and " +
                                                 "accumulator type, as in 4096x4096x512 nt f16 f32");
  }
  Problem problem;
  const Sizes sizes = parse_sizes(words[0]);
  problem.m = sizes.m;
  problem.n = sizes.n;
  problem.k = sizes.k;
  std::tie(problem.op_a, problem.op_b) = parse_layout(words[1]);
  problem.dtype = parse_dtype(words[2]);
  problem.accumulator = parse_dtype(words[3]);
  const bool half_sum = problem.accumulator == DType::f16 && problem.dtype == DType::f16;
  if (problem.accumulator != DType::f32 && !half_sum) {
    throw Error(ErrorCode::invalid_argument, "accumulator is " + in_quotes(words[3]) + " for elements of type " +
                                                 std::string(words[2]) + ": expected f32, or f16 where those are f16");
  }
  parse_attributes(std::span(words).subspan(4), problem);
  return problem;
}

std::int64_t class_m(std::int64_t m) {
  for (const std::int64_t bucket : {1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128}) {
    if (m <= bucket) return bucket;
  }
  if (m >= kMaxSize) return kMaxSize;
  // Between a power of two and the next lie four buckets; m - 1, so that a power of two is the last of its four.
  const auto step = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(m - 1)) / 4);
  return std::min((m + step - 1) / step * step, kMaxSize);  // the last bucket ends where sizes do
}

}  // namespace hotgemm
