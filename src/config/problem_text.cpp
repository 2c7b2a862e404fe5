#include "config/problem_text.hpp"

#include "base/refuse.hpp"
#include "base/text.hpp"
#include "config/epilogue_text.hpp"
#include "config/max_size.hpp"
#include "config/problem_enums.hpp"
#include "config/spelling.hpp"
#include "config/work.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <optional>
#include <span>
#include <system_error>
#include <tuple>
#include <vector>

namespace hotgemm {
namespace {

// ---- types

struct Preset {
  std::string_view name;
  Types types;
};
constexpr std::array<Preset, 7> kPresets{
    {{"f16", kF16}, {"bf16", kBf16}, {"f32", kF32}, {"tf32", kTf32}, {"s8", kS8}, {"e4m3", kE4m3}, {"e5m2", kE5m2}}};

/// The types of "A*B>D": C has the type of D, sums of integers are s32, and all other sums are f32.
Types types_of(DType a, DType b, DType d) {
  return {.a = a, .b = b, .c = d, .d = d, .compute = is_integer(a) ? ComputeType::s32 : ComputeType::f32};
}

/// The preset with the same types of A, B and D as `types`; a preset with the same compute type is preferred.
const Preset* preset_of(const Types& types) {
  const Preset* found = nullptr;
  for (const Preset& preset : kPresets) {
    const Types& t = preset.types;
    if (t.a != types.a || t.b != types.b || t.d != types.d) continue;
    if (t.compute == types.compute) return &preset;
    if (found == nullptr) found = &preset;
  }
  return found;
}

std::string accumulation_text(const Types& types) {
  std::string text(to_string(types.compute));
  if (types.mode != ComputeMode::precise) text.append(",").append(to_string(types.mode));
  return text;
}

// ---- values of keys

/// "4" and "4,word": the number, and the word or an empty view.
std::pair<std::int64_t, std::string_view> number_and_word(std::string_view text, std::string_view key) {
  const std::vector<std::string_view> parts = split_at(text, ',');
  if (parts.size() > 2) refuse(std::string(key) + " is " + in_quotes(text) + ": more than a number and a word");
  return {parse_size(parts[0], key), parts.size() == 2 ? parts[1] : std::string_view()};
}

void parse_batch(std::string_view text, Problem& problem) {
  const auto [count, kind] = number_and_word(text, "batch");
  problem.batch = count;
  if (!kind.empty()) problem.batch_kind = parse_enum<BatchKind>(kind, "the kind of batch");
}

void parse_groups(std::string_view text, Problem& problem) {
  const auto [count, kind] = number_and_word(text, "groups");
  problem.groups = count;
  problem.group_kind = kind.empty() ? GroupKind::rows : parse_enum<GroupKind>(kind, "the kind of groups");
  if (problem.group_kind == GroupKind::none) refuse("groups is " + in_quotes(text) + ": expected rows, masked or k");
}

// ---- the grammar

/// The content of a text, before alignment classes are known.
struct Line {
  Problem problem;
  std::optional<Hints> alignment;
  std::optional<std::int64_t> lda, ldb, ldd;
  bool beta_is_zero = true;
  WorkspaceClass workspace = WorkspaceClass::full;
  std::int64_t count = 1;
  double us = 0;
};

using Value = std::string_view;

double parse_us(Value text) {
  double us = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), us);
  if (error != std::errc() || end != text.data() + text.size() || !(us > 0) || us > 1e15)
    refuse("us is " + in_quotes(text) + ": expected microseconds, as in 211.5");
  return us;
}

void parse_beta(Value text, Line& line) {
  if (text != "0" && text != "1") refuse("beta is " + in_quotes(text) + ": expected 0 or 1");
  line.beta_is_zero = text == "0";
}

void parse_prepacked(Value text, Line& line) {
  if (text != "a" && text != "b" && text != "ab") refuse("prepacked is " + in_quotes(text) + ": expected a, b or ab");
  line.problem.prepacked_a = text.find('a') != Value::npos;
  line.problem.prepacked_b = text.find('b') != Value::npos;
}

/// The kind of a key. A problem's text has only keys of problems. A workload's text may also have keys of hints, and a
/// list of problems may have all keys.
enum class KeyOf { problem, hints, list };

struct Key {
  std::string_view name;
  KeyOf of;
  void (*parse)(Value, Line&);
};

constexpr Key kKeys[] = {
    {"c", KeyOf::problem, [](Value v, Line& l) { l.problem.types.c = parse_dtype(v); }},
    {"acc", KeyOf::problem, [](Value v, Line& l) { parse_accumulation(v, l.problem.types); }},
    {"order", KeyOf::problem, [](Value v, Line& l) { l.problem.order = parse_enum<SumOrder>(v, "order"); }},
    {"sms", KeyOf::problem, [](Value v, Line& l) { l.problem.sm_limit = static_cast<int>(parse_size(v, "sms")); }},
    {"batch", KeyOf::problem, [](Value v, Line& l) { parse_batch(v, l.problem); }},
    {"groups", KeyOf::problem, [](Value v, Line& l) { parse_groups(v, l.problem); }},
    {"epilogue", KeyOf::problem, [](Value v, Line& l) { l.problem.epilogue = parse_epilogue(v); }},
    {"prepacked", KeyOf::problem, parse_prepacked},
    {"align", KeyOf::hints, [](Value v, Line& l) { parse_alignments(v, l.alignment.emplace()); }},
    {"lda", KeyOf::hints, [](Value v, Line& l) { l.lda = parse_size(v, "lda"); }},
    {"ldb", KeyOf::hints, [](Value v, Line& l) { l.ldb = parse_size(v, "ldb"); }},
    {"ldd", KeyOf::hints, [](Value v, Line& l) { l.ldd = parse_size(v, "ldd"); }},
    {"beta", KeyOf::hints, parse_beta},
    {"workspace", KeyOf::hints, [](Value v, Line& l) { l.workspace = parse_enum<WorkspaceClass>(v, "workspace"); }},
    {"count", KeyOf::list, [](Value v, Line& l) { l.count = parse_size(v, "count"); }},
    {"us", KeyOf::list, [](Value v, Line& l) { l.us = parse_us(v); }},
};

std::string key_names(KeyOf last) {
  std::string names;
  for (const Key& key : kKeys) {
    if (key.of <= last) names += (names.empty() ? "" : ", ") + std::string(key.name);
  }
  return names;
}

const Key& key_of(std::string_view word, std::string_view name, KeyOf last) {
  for (const Key& key : kKeys) {
    if (key.of <= last && key.name == name) return key;
  }
  refuse(in_quotes(word) + " is not key=value with a key of " + key_names(last));
}

void parse_keys(std::span<const std::string_view> words, KeyOf last, Line& line) {
  std::vector<std::string_view> seen;
  for (const std::string_view word : words) {
    const std::size_t end = word.find('=');
    const std::string_view name = word.substr(0, end);
    const Key& key = key_of(word, end == std::string_view::npos ? std::string_view() : name, last);
    if (std::ranges::find(seen, name) != seen.end()) refuse(in_quotes(word) + " is a second " + std::string(name));
    seen.push_back(name);
    key.parse(word.substr(end + 1), line);
  }
}

/// The alignment class of rows that are `ld` elements apart; `least` of these elements are in use.
int class_of_rows(std::string_view name, std::int64_t ld, std::int64_t least, DType type) {
  if (ld < least) {
    refuse(std::string(name) + " is " + std::to_string(ld) + ", less than the " + std::to_string(least) +
           " elements of a row");
  }
  return 1 << std::countr_zero(static_cast<std::uint64_t>(ld * size_bytes(type)) | 16);
}

void require_whole_elements(std::string_view name, int bytes, DType type) {
  if (bytes >= size_bytes(type)) return;
  refuse("align of " + std::string(name) + " is " + std::to_string(bytes) + ", less than one " +
         std::string(to_string(type)) + " element");
}

Hints hints_of(const Line& line) {
  const Problem& p = line.problem;
  Hints hints = line.alignment.value_or(packed_hints(p));
  if (line.alignment && (line.lda || line.ldb || line.ldd))
    refuse("align and a leading dimension cannot both be given");
  if ((line.lda && p.prepacked_a) || (line.ldb && p.prepacked_b)) {
    refuse("a prepacked operand has the leading dimension of its form: leave out " +
           std::string(p.prepacked_a && line.lda ? "lda" : "ldb"));
  }
  if (line.lda) hints.align_a = class_of_rows("lda", *line.lda, p.op_a == Op::n ? p.k : p.m, p.types.a);
  if (line.ldb) hints.align_b = class_of_rows("ldb", *line.ldb, p.op_b == Op::n ? p.n : p.k, p.types.b);
  if (line.ldd) {  // of C and D alike
    hints.align_d = std::min(class_of_rows("ldd", *line.ldd, columns_of_d(p), p.types.c),
                             class_of_rows("ldd", *line.ldd, columns_of_d(p), p.types.d));
  }
  require_whole_elements("A", hints.align_a, p.types.a);
  require_whole_elements("B", hints.align_b, p.types.b);
  require_whole_elements("D", hints.align_d, p.types.d);
  require_whole_elements("D, and so of C,", hints.align_d, p.types.c);
  hints.beta_is_zero = line.beta_is_zero;
  hints.workspace = line.workspace;
  return hints;
}

Line parse_line(std::string_view text, KeyOf last) {
  const std::vector<std::string_view> words = split_words(text);
  const std::size_t sizes = !words.empty() && words[0].find_first_of("xX") != std::string_view::npos ? 1 : 3;
  if (words.size() < sizes + 2) {
    refuse(in_quotes(text) + " is not a problem: expected m n k layout type, as in 4096 4096 512 nt f16");
  }
  Line line;
  Problem& p = line.problem;
  const Sizes mnk = sizes == 1 ? parse_sizes(words[0])
                               : Sizes{parse_size(words[0], "m"), parse_size(words[1], "n"), parse_size(words[2], "k")};
  p.m = mnk.m;
  p.n = mnk.n;
  p.k = mnk.k;
  std::tie(p.op_a, p.op_b) = parse_layout(words[sizes]);
  p.types = parse_types(words[sizes + 1]);
  parse_keys(std::span(words).subspan(sizes + 2), last, line);
  return line;
}

}  // namespace

std::int64_t parse_size(std::string_view word, std::string_view what) {
  const auto fail = [&](std::string_view why) {
    return Error(ErrorCode::invalid_argument, std::string(what) + " is " + in_quotes(word) + ": " + std::string(why));
  };
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool is_out_of_range = error == std::errc::result_out_of_range;
  if (!is_out_of_range && (error != std::errc() || end != word.data() + word.size()))
    throw fail("not a decimal number");
  if (!is_out_of_range && value < 0) throw fail("a size cannot be negative");
  if (is_out_of_range || value > kMaxSize) throw fail("the largest size is " + std::to_string(kMaxSize));
  return value;
}

Sizes parse_sizes(std::string_view text) {
  const std::size_t mark = text.find_first_of("xX");
  const std::vector<std::string_view> words = split_at(text, mark != std::string_view::npos ? text[mark] : ' ');
  if (words.size() != 3) refuse(in_quotes(text) + " is not three sizes MxNxK, as in 4096x4096x512");
  return {parse_size(words[0], "m"), parse_size(words[1], "n"), parse_size(words[2], "k")};
}

std::pair<Op, Op> parse_layout(std::string_view word) {
  const std::string layout = lower_case(word);
  if (layout == "nn") return {Op::n, Op::n};
  if (layout == "nt") return {Op::n, Op::t};
  if (layout == "tn") return {Op::t, Op::n};
  if (layout == "tt") return {Op::t, Op::t};
  refuse("layout is " + in_quotes(word) + ": expected nn, nt, tn or tt");
}

void parse_alignments(std::string_view text, Hints& hints) {
  std::array<int, 3> values{};
  const std::vector<std::string_view> words = split_at(text, ',');
  const auto fail = [&] { refuse("align is " + in_quotes(text) + ": expected 1, 2, 4, 8 or 16, or three of them"); };
  if (words.size() != 1 && words.size() != 3) fail();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string_view word = words[std::min(i, words.size() - 1)];
    for (const int bytes : {1, 2, 4, 8, 16}) {
      if (word == std::to_string(bytes)) values[i] = bytes;
    }
    if (values[i] == 0) fail();
  }
  hints.align_a = values[0];
  hints.align_b = values[1];
  hints.align_d = values[2];
}

void parse_accumulation(std::string_view text, Types& types) {
  const std::size_t comma = text.find(',');
  types.compute = parse_enum<ComputeType>(text.substr(0, comma), "acc");
  types.mode = ComputeMode::precise;
  if (comma != std::string_view::npos) types.mode = parse_enum<ComputeMode>(text.substr(comma + 1), "the mode of acc");
}

Types parse_types(std::string_view text) {
  const auto preset = std::ranges::find(kPresets, type_word(text), &Preset::name);
  if (preset != kPresets.end()) return preset->types;
  const std::size_t star = text.find('*'), arrow = text.find('>');
  if (star == std::string_view::npos || arrow == std::string_view::npos || arrow < star) {
    std::string names;
    for (const Preset& each : kPresets) names += std::string(each.name) + ", ";
    refuse("type is " + in_quotes(text) + ": expected " + names + "or A*B>D, as in bf16*bf16>f32");
  }
  return types_of(parse_dtype(text.substr(0, star)), parse_dtype(text.substr(star + 1, arrow - star - 1)),
                  parse_dtype(text.substr(arrow + 1)));
}

std::string problem_keys() { return key_names(KeyOf::hints); }

std::string to_string(const Types& types) {
  const Preset* const preset = preset_of(types);
  const Types implied = preset != nullptr ? preset->types : types_of(types.a, types.b, types.d);
  std::string text;
  if (preset != nullptr) {
    text = preset->name;
  } else {
    text.append(to_string(types.a)).append("*").append(to_string(types.b)).append(">").append(to_string(types.d));
  }
  if (types.c != implied.c) text.append(" c=").append(to_string(types.c));
  if (types.compute != implied.compute || types.mode != implied.mode) text.append(" acc=" + accumulation_text(types));
  return text;
}

std::string to_string(const Problem& p) {
  std::string text = std::to_string(p.m) + " " + std::to_string(p.n) + " " + std::to_string(p.k) + " ";
  text.append(to_string(p.op_a)).append(to_string(p.op_b)).append(" ").append(to_string(p.types));
  if (p.order != SumOrder::any) text.append(" order=").append(to_string(p.order));
  if (p.sm_limit != 0) text.append(" sms=" + std::to_string(p.sm_limit));
  const bool is_strided = p.batch_kind == BatchKind::strided;
  if (p.batch != 1 || !is_strided) text.append(" batch=" + std::to_string(p.batch));
  if (!is_strided) text.append(",").append(to_string(p.batch_kind));
  if (p.group_kind != GroupKind::none) text.append(" groups=" + std::to_string(p.groups));
  if (p.group_kind > GroupKind::rows) text.append(",").append(to_string(p.group_kind));
  if (p.epilogue != Epilogue{}) text.append(" epilogue=" + epilogue_text(p.epilogue));
  if (p.prepacked_a || p.prepacked_b) text.append(" prepacked=");
  if (p.prepacked_a) text.append("a");
  if (p.prepacked_b) text.append("b");
  return text;
}

std::string to_string(const Workload& w) {
  const Hints& h = w.hints;
  std::string text = to_string(static_cast<const Problem&>(w));
  text.append(" align=" + std::to_string(h.align_a));
  if (h.align_b != h.align_a || h.align_d != h.align_a)
    text.append("," + std::to_string(h.align_b) + "," + std::to_string(h.align_d));
  if (!h.beta_is_zero) text.append(" beta=1");
  if (h.workspace != WorkspaceClass::full) text.append(" workspace=").append(to_string(h.workspace));
  return text;
}

Problem parse_problem(std::string_view text) { return parse_line(text, KeyOf::problem).problem; }

Workload parse_workload(std::string_view text) {
  const Line line = parse_line(text, KeyOf::hints);
  return {line.problem, hints_of(line)};
}

Shape parse_shape(std::string_view text) {
  const Line line = parse_line(text, KeyOf::list);
  return {.workload = {line.problem, hints_of(line)}, .count = line.count, .us = line.us};
}

}  // namespace hotgemm
