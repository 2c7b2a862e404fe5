#include "records/record_text.hpp"

#include "base/member_count.hpp"
#include "base/text.hpp"
#include "config/permitted.hpp"
#include "config/problem_text.hpp"
#include "config/repack.hpp"
#include "records/problem_fields.hpp"
#include "records/sealed_line.hpp"

#include <hotgemm/error.hpp>

#include <array>
#include <charconv>
#include <limits>

namespace hotgemm {

namespace {

using Json = nlohmann::json;

// A field that is missing in the text would be lost. These counts fail the build as a reminder.
static_assert(member_count<TuningRecord>() == 14 && member_count<Timing>() == 4 && member_count<Environment>() == 5 &&
                  member_count<CublasComparison>() == 4,
              "put the new field into encode and decode, and a measured number into rounded; let same_conditions in "
              "database.cpp and Best in database_tools.cpp weigh it, and `db show --json` show it; correct the number");

constexpr std::string_view kClassPrefix = "{\"class\":\"";

// ---- record to text

std::string objective_text(const TuningRecord& r) {
  std::string text;
  if (r.objective != Objective::speed) text += ",\"objective\":" + json_string(to_string(r.objective));
  if (r.joules > 0) text += ",\"joules\":" + json_number(r.joules);
  return text;
}

std::string cublas_text(const CublasComparison& c) {
  if (c.version.empty()) return {};
  return ",\"cublas\":" + json_string(c.version) + ",\"cublas_algorithm\":" + json_string(c.algorithm) +
         ",\"cublas_ratio\":" + json_number(c.ratio) + ",\"cublas_default_ratio\":" + json_number(c.default_ratio);
}

std::string encode(const StoredRecord& stored) {
  const TuningRecord& r = stored.record;
  std::string line(kClassPrefix);
  line += to_string(class_of(r.problem));
  line += schema_text(kRecordSchema);
  line += measured_sizes_text(r.problem);
  line += ",\"config\":" + json_string(to_string(r.config));
  line += ",\"launch\":" + json_string(to_string(r.launch));
  line += ",\"median_us\":" + json_number(r.timing.median_us);
  line += ",\"spread_us\":" + json_number(r.timing.spread_us);
  line += ",\"samples\":" + std::to_string(r.timing.samples);
  line += ",\"ratio\":" + json_number(r.timing.ratio);
  line += environment_text(r.environment);
  line += ",\"templates\":" + json_string(r.template_digest);
  if (!r.code_digest.empty()) line += ",\"code\":" + json_string(r.code_digest);
  if (r.measure != Measure::rounds) line += ",\"measure\":" + json_string(to_string(r.measure));
  if (r.is_provisional) line += ",\"provisional\":1";
  if (r.cause != ProvisionalCause::none) line += ",\"cause\":" + json_string(to_string(r.cause));
  if (r.power_limit_w > 0) line += ",\"power_limit_w\":" + std::to_string(r.power_limit_w);
  line += objective_text(r) + cublas_text(r.cublas);
  line += ",\"time\":" + std::to_string(stored.time);
  return sealed(std::move(line));
}

// ---- text to record

/// The config must be one that this version knows and that is legal where it was measured.
void config_fields(const Json& json, TuningRecord& record) {
  const std::string config = string_field(json, "config"), launch = string_field(json, "launch");
  const std::optional<KernelConfig> parsed_config = parse_config(config);
  if (!parsed_config) throw Reject{"config " + in_quotes(config) + " is unknown to this version"};
  record.config = *parsed_config;
  const std::optional<LaunchConfig> parsed_launch = parse_launch(launch);
  if (!parsed_launch) throw Reject{"launch " + in_quotes(launch) + " is unknown to this version"};
  if (!is_legal(*parsed_launch, *parsed_config)) {
    throw Reject{"config " + in_quotes(config) + " cannot be launched as " + in_quotes(launch)};
  }
  record.launch = *parsed_launch;
  try {
    if (with_repacks(record.launch, record.config, record.problem) != record.launch)
      throw Reject{"launch " + in_quotes(launch) + " does not copy the operands of this class that " + config +
                   " needs, or copies others"};
    const ArchLimits& limits = arch_limits(record.environment.arch);
    if (!is_legal(record.config, traits_of(record.problem, record.launch), limits)) {
      throw Reject{"config " + in_quotes(config) + " is not legal for this class on " + record.environment.arch};
    }
    if (is_permitted(record.config, record.launch, record.problem, {limits, record.environment.sm_count})) return;
  } catch (const Error& error) {
    throw Reject{error.what()};
  }
  throw Reject{"config " + in_quotes(config) + " launched as " + in_quotes(launch) +
               " does not keep the order of sums or the SM limit of this class"};
}

ProvisionalCause cause_of(const std::string& text) {
  for (const ProvisionalCause cause :
       {ProvisionalCause::cut_short, ProvisionalCause::no_blocks, ProvisionalCause::disturbed}) {
    if (text == to_string(cause)) return cause;
  }
  throw Reject{"cause " + in_quotes(text) + " is unknown"};
}

/// The fields that only some records have.
void measure_fields(const Json& json, TuningRecord& record) {
  if (json.contains("measure")) {
    const std::string measure = string_field(json, "measure");
    for (const Measure known : {Measure::behind, Measure::modelled, Measure::sustained}) {
      if (measure == to_string(known)) record.measure = known;
    }
    if (record.measure == Measure::rounds) throw Reject{"measure " + in_quotes(measure) + " is unknown"};
  }
  if (json.contains("provisional")) record.is_provisional = integer_field(json, "provisional", 1) == 1;
  if (json.contains("cause")) record.cause = cause_of(string_field(json, "cause"));
  if (record.cause != ProvisionalCause::none && !record.is_provisional) throw Reject{"a final record has a \"cause\""};
  if (json.contains("power_limit_w")) {
    record.power_limit_w = static_cast<int>(integer_field(json, "power_limit_w", std::numeric_limits<int>::max()));
  }
}

void objective_fields(const Json& json, TuningRecord& record) {
  if (json.contains("joules")) record.joules = number_field(json, "joules");
  if (!json.contains("objective")) return;
  const std::string objective = string_field(json, "objective");
  if (objective != to_string(Objective::energy)) throw Reject{"objective " + in_quotes(objective) + " is unknown"};
  record.objective = Objective::energy;
  if (record.measure != Measure::sustained || !(record.joules > 0)) {
    throw Reject{"a record of the objective energy needs \"joules\" by the sustained measure"};
  }
}

void cublas_fields(const Json& json, CublasComparison& cublas) {
  if (!json.contains("cublas")) return;
  cublas.version = string_field(json, "cublas");
  cublas.algorithm = string_field(json, "cublas_algorithm");
  cublas.ratio = number_field(json, "cublas_ratio");
  cublas.default_ratio = number_field(json, "cublas_default_ratio");
}

StoredRecord decode(std::string_view line) {
  const Json json = parse_object(line);
  constexpr std::int64_t kMaxInt = std::numeric_limits<int>::max();
  StoredRecord stored;
  TuningRecord& record = stored.record;
  record.problem = problem_fields(json);
  record.timing.median_us = number_field(json, "median_us");
  record.timing.spread_us = number_field(json, "spread_us");
  record.timing.samples = static_cast<int>(integer_field(json, "samples", kMaxInt));
  record.timing.ratio = number_field(json, "ratio");
  record.environment = environment_fields(json);
  record.template_digest = digest_field(json, "templates");
  if (json.contains("code")) record.code_digest = digest_field(json, "code");
  measure_fields(json, record);
  objective_fields(json, record);
  cublas_fields(json, record.cublas);
  stored.time = integer_field(json, "time", std::numeric_limits<std::int64_t>::max());
  config_fields(json, record);
  return stored;
}

int schema_of(std::string_view line) {
  const std::string_view problem_class = leading_class(line);
  if (problem_class.empty()) throw Reject{"does not begin with a problem class"};
  return leading_schema(line.substr(kClassPrefix.size() + problem_class.size()));
}

}  // namespace

std::pair<std::int64_t, std::int64_t> recency(std::int64_t time, std::int64_t now) {
  return {time > now + kClockSlackSeconds ? 0 : time, time};
}

std::string to_line(const StoredRecord& stored) {
  const auto fail = [&](const std::string& why) {
    return Error(ErrorCode::invalid_argument,
                 "the tuning record of " + to_string(stored.record.problem) + " cannot be stored: " + why);
  };
  std::string line;
  try {
    line = encode(stored);
  } catch (const Json::exception& error) {
    throw fail(error.what());  // a string that is not UTF-8
  }
  const ParsedLine parsed = parse_line(line);
  if (!parsed.stored) throw fail(parsed.reason);
  if (*parsed.stored != stored) throw fail("reading its text gives another record");
  return line;
}

TuningRecord rounded(TuningRecord record) {
  CublasComparison& cublas = record.cublas;
  for (double* const number : {&record.timing.median_us, &record.timing.spread_us, &record.timing.ratio, &record.joules,
                               &cublas.ratio, &cublas.default_ratio}) {
    std::array<char, 32> digits{};
    const auto end =
        std::to_chars(digits.data(), digits.data() + digits.size(), *number, std::chars_format::general, 6).ptr;
    std::from_chars(digits.data(), end, *number);
  }
  return record;
}

std::string_view leading_class(std::string_view line) {
  if (!line.starts_with(kClassPrefix)) return {};
  line.remove_prefix(kClassPrefix.size());
  const std::size_t end = line.find('"');
  return end == std::string_view::npos ? std::string_view() : line.substr(0, end);
}

ParsedLine parse_line(std::string_view line) {
  bool is_sealed = false;
  try {
    const int schema = schema_of(line);
    if (schema > kRecordSchema) {
      return {std::nullopt, LineFault::newer_schema, "schema " + std::to_string(schema) + " is newer than this version",
              is_sealed};
    }
    if (schema < kRecordSchema) throw Reject{"schema " + std::to_string(schema) + " is older than this version reads"};
    check_length(line);
    check_seal(line);
    is_sealed = true;
    StoredRecord stored = decode(line);
    // One comparison rejects every other spelling: repeated or unknown fields, another order, spaces, escapes.
    if (encode(stored) != line) throw Reject{"a field is unknown, repeated, out of order or spelled differently"};
    return {std::move(stored), LineFault::none, {}, is_sealed};
  } catch (const Reject& reject) {
    return {std::nullopt, LineFault::unusable, reject.reason, is_sealed};
  }
}

std::string_view to_string(ProvisionalCause cause) {
  switch (cause) {
    case ProvisionalCause::none: return "none";
    case ProvisionalCause::cut_short: return "cut short";
    case ProvisionalCause::no_blocks: return "no blocks";
    case ProvisionalCause::disturbed: return "disturbed";
  }
  return "?";
}

}  // namespace hotgemm
