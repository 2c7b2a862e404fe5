#include "c/options.hpp"

#include "base/text.hpp"
#include "c/status.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

namespace hotgemm::c {
namespace {

using Value = std::string_view;

[[noreturn]] void bad(Value text, const std::string& expected) {
  throw Error(ErrorCode::invalid_argument, in_quotes(text) + "; it is " + expected);
}

template <class Number>
void read(Value text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) bad(text, "a number");
}

void read(Value text, bool& flag) {
  if (text != "0" && text != "1") bad(text, "0 or 1");
  flag = text == "1";
}

void read(Value text, std::string& copy) { copy = text; }

template <class Enum>
void read_enum(Value text, Enum& value, std::initializer_list<Enum> all) {
  std::string names;
  for (const Enum one : all) {
    if (text == to_string(one)) {
      value = one;
      return;
    }
    names += (names.empty() ? "" : ", ") + std::string(to_string(one));
  }
  bad(text, "one of " + names);
}

void read(Value text, Policy& policy) {
  read_enum(text, policy, {Policy::cached_only, Policy::estimate, Policy::tune, Policy::background});
}
void read(Value text, Objective& objective) { read_enum(text, objective, {Objective::speed, Objective::energy}); }
void read(Value text, CacheMode& mode) {
  read_enum(text, mode, {CacheMode::read_write, CacheMode::read_only, CacheMode::off});
}

void read(Value text, std::vector<std::string>& list) {
  list.clear();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(':', begin), text.size());
    if (end > begin) list.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

template <class T>
void read(Value text, std::optional<T>& value) {
  read(text, value.emplace());
}

template <class Number>
void read_bytes(Value text, Number& bytes) {
  const std::uint64_t size = parse_size(text);
  if (size > static_cast<std::uint64_t>(std::numeric_limits<Number>::max())) bad(text, "too large");
  bytes = static_cast<Number>(size);
}

struct Option {
  std::string_view name;
  void (*set)(ContextOptions&, Value);
};

#define HOTGEMM_OPTION(field)                                           \
  {                                                                     \
#field, [](ContextOptions & o, Value text) { read(text, o.field); } \
  }
#define HOTGEMM_BYTES(field)                                                  \
  {                                                                           \
#field, [](ContextOptions & o, Value text) { read_bytes(text, o.field); } \
  }

constexpr Option kOptions[] = {
    HOTGEMM_OPTION(policy),
    HOTGEMM_OPTION(tuning.max_candidates),
    HOTGEMM_OPTION(tuning.budget_s),
    HOTGEMM_BYTES(tuning.scratch_bytes),
    HOTGEMM_OPTION(tuning.scratch_share),
    HOTGEMM_OPTION(tuning.jobs),
    HOTGEMM_OPTION(tuning.rounds),
    HOTGEMM_OPTION(tuning.seed),
    HOTGEMM_OPTION(background.gpu_share),
    HOTGEMM_OPTION(background.slice_s),
    HOTGEMM_OPTION(background.min_calls),
    HOTGEMM_BYTES(background.scratch_bytes),
    HOTGEMM_OPTION(background.jobs),
    HOTGEMM_OPTION(background.loads_kernels),
    HOTGEMM_OPTION(tuning_total_s),
    HOTGEMM_OPTION(objective),
    HOTGEMM_BYTES(workspace_bytes),
    HOTGEMM_OPTION(workspace_captures),
    HOTGEMM_OPTION(max_plans),
    HOTGEMM_OPTION(cache_directory),
    HOTGEMM_OPTION(cache.mode),
    HOTGEMM_OPTION(cache.read_only_layers),
    {"cache.max_bytes", [](ContextOptions& o, Value text) { read_bytes(text, o.cache.max_bytes.emplace()); }},
    {"cache.max_memory_bytes",
     [](ContextOptions& o, Value text) { read_bytes(text, o.cache.max_memory_bytes.emplace()); }},
    HOTGEMM_OPTION(cache.trust_shared),
    HOTGEMM_OPTION(cache.durable),
    HOTGEMM_OPTION(template_directory),
    HOTGEMM_OPTION(worker),
    HOTGEMM_OPTION(problem_log),
    HOTGEMM_OPTION(shipped_records),
};

#undef HOTGEMM_OPTION
#undef HOTGEMM_BYTES

}  // namespace

ContextOptions context_options(const hotgemm_option* options, std::size_t count) {
  ContextOptions result = ContextOptions::from_environment();
  if (count > 0) required(options, "options");
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view name = &required(options[i].name, "the name of an option");
    const std::string_view value = &required(options[i].value, "the value of an option");
    const Option* known = std::ranges::find(kOptions, name, &Option::name);
    if (known == std::end(kOptions)) {
      throw Error(ErrorCode::invalid_argument,
                  "there is no option " + in_quotes(name) + "; hotgemm_option_names lists them");
    }
    try {
      known->set(result, value);
    } catch (const Error& error) {
      throw Error(error.code(), "option " + std::string(name) + " is " + error.what());
    }
  }
  return result;
}

std::string option_names() {
  std::string names;
  for (const Option& option : kOptions) names += std::string(option.name) + "\n";
  return names;
}

}  // namespace hotgemm::c
