#include "plan/record_text.hpp"

#include "plan/traits.hpp"
#include "plan/words.hpp"

#include <hotgemm/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace hotgemm {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kClassPrefix = "{\"class\":\"";
constexpr std::string_view kSchemaPrefix = "\",\"schema\":";
constexpr std::string_view kChecksumPrefix = ",\"crc\":\"";
constexpr std::size_t kChecksumDigits = 8;

/// What is wrong with a line; leaves this file as ParsedLine::reason.
struct Reject {
  std::string reason;
};

/// CRC-32 as in IEEE 802.3 (reflected polynomial 0xEDB88320).
std::uint32_t crc32(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320u : 0u);
      table[i] = value;
    }
    return table;
  }();
  std::uint32_t crc = 0xFFFFFFFFu;
  for (const char c : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFFu];
  return ~crc;
}

std::string hex8(std::uint32_t value) {
  std::string text(kChecksumDigits, '0');
  for (std::size_t i = 0; i < kChecksumDigits; ++i) text[i] = "0123456789abcdef"[(value >> (28 - 4 * i)) & 15u];
  return text;
}

// ---- record to text

std::string number(double value) {
  std::array<char, 32> digits{};
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value + 0.0);  // -0 becomes 0
  return {digits.data(), result.ptr};
}

std::string json_string(std::string_view text) { return Json(text).dump(); }

std::string encode(const StoredRecord& stored) {
  const TuningRecord& r = stored.record;
  std::string line(kClassPrefix);
  line += to_string(class_of(r.problem));
  line.append(kSchemaPrefix).append(std::to_string(kRecordSchema));
  line += ",\"m\":" + std::to_string(r.problem.m);
  line += ",\"config\":" + json_string(to_string(r.config));
  line += ",\"launch\":" + json_string(to_string(r.launch));
  line += ",\"median_us\":" + number(r.timing.median_us);
  line += ",\"spread_us\":" + number(r.timing.spread_us);
  line += ",\"samples\":" + std::to_string(r.timing.samples);
  line += ",\"ratio\":" + number(r.timing.ratio);
  line += ",\"gpu\":" + json_string(r.environment.gpu);
  line += ",\"arch\":" + json_string(r.environment.arch);
  line += ",\"sm_count\":" + std::to_string(r.environment.sm_count);
  line += ",\"driver\":" + json_string(r.environment.driver);
  line += ",\"toolchain\":" + json_string(r.environment.toolchain);
  line += ",\"templates\":" + json_string(r.template_digest);
  line += ",\"time\":" + std::to_string(stored.time);
  const std::uint32_t checksum = crc32(line);
  line.append(kChecksumPrefix).append(hex8(checksum)).append("\"}");
  return line;
}

// ---- text to record

const Json& field(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end()) throw Reject{"no field \"" + std::string(name) + "\""};
  return *found;
}

std::string string_field(const Json& json, const char* name) {
  const Json& value = field(json, name);
  if (!value.is_string()) throw Reject{"\"" + std::string(name) + "\" is not a string"};
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() > kMaxRecordStringBytes) throw Reject{"\"" + std::string(name) + "\" is longer than 256 bytes"};
  return text;
}

std::int64_t integer_field(const Json& json, const char* name, std::int64_t max) {
  const Json& value = field(json, name);
  // The parser keeps what is above 2^63 as unsigned, which would wrap.
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() || value.get<std::uint64_t>() <= static_cast<std::uint64_t>(max));
  if (!fits || value.get<std::int64_t>() < 0 || value.get<std::int64_t>() > max) {
    throw Reject{"\"" + std::string(name) + "\" is not an integer from 0 to " + std::to_string(max)};
  }
  return value.get<std::int64_t>();
}

double number_field(const Json& json, const char* name) {
  const Json& value = field(json, name);
  if (!value.is_number()) throw Reject{"\"" + std::string(name) + "\" is not a number"};
  const double result = value.get<double>();
  if (!std::isfinite(result) || result < 0) throw Reject{"\"" + std::string(name) + "\" is negative or not finite"};
  return result;
}

Problem problem_field(const Json& json) {
  Problem problem;
  try {
    problem = parse_problem(string_field(json, "class"));
  } catch (const Error& error) {
    throw Reject{"\"class\": " + std::string(error.what())};
  }
  const std::int64_t bucket = problem.m;
  problem.m = integer_field(json, "m", kMaxSize);
  if (class_of(problem).m != bucket) {
    throw Reject{"m = " + std::to_string(problem.m) + " is not in the class of " + std::to_string(bucket)};
  }
  return problem;
}

/// A config is chosen among those that this version has and that are legal where it was measured, or not at all.
void config_fields(const Json& json, TuningRecord& record) {
  const std::string config = string_field(json, "config"), launch = string_field(json, "launch");
  const std::optional<KernelConfig> parsed_config = parse_config(config);
  if (!parsed_config) throw Reject{"config " + in_quotes(config) + " is none of this version"};
  record.config = *parsed_config;
  const std::optional<LaunchConfig> parsed_launch = parse_launch(launch);
  if (!parsed_launch) throw Reject{"launch " + in_quotes(launch) + " is none of this version"};
  record.launch = *parsed_launch;
  try {
    const ArchLimits& limits = arch_limits(record.environment.arch);
    if (is_legal(record.config, traits_of(record.problem), limits)) return;
  } catch (const Error& error) {
    throw Reject{error.what()};
  }
  throw Reject{"config " + in_quotes(config) + " is not legal for this class on " + record.environment.arch};
}

std::string digest_field(const Json& json) {
  std::string digest = string_field(json, "templates");
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (digest.size() != 64 || !std::all_of(digest.begin(), digest.end(), is_hex)) {
    throw Reject{"\"templates\" is not 64 hexadecimal digits"};
  }
  return digest;
}

StoredRecord decode(std::string_view line) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) throw Reject{"not a JSON object"};
  constexpr std::int64_t kMaxInt = std::numeric_limits<int>::max();
  StoredRecord stored;
  TuningRecord& record = stored.record;
  record.problem = problem_field(json);
  record.timing.median_us = number_field(json, "median_us");
  record.timing.spread_us = number_field(json, "spread_us");
  record.timing.samples = static_cast<int>(integer_field(json, "samples", kMaxInt));
  record.timing.ratio = number_field(json, "ratio");
  record.environment.gpu = string_field(json, "gpu");
  record.environment.arch = string_field(json, "arch");
  record.environment.sm_count = static_cast<int>(integer_field(json, "sm_count", kMaxInt));
  record.environment.driver = string_field(json, "driver");
  record.environment.toolchain = string_field(json, "toolchain");
  record.template_digest = digest_field(json);
  stored.time = integer_field(json, "time", std::numeric_limits<std::int64_t>::max());
  config_fields(json, record);
  return stored;
}

void check_frame(std::string_view line) {
  const std::size_t tail = kChecksumPrefix.size() + kChecksumDigits + 2;
  if (line.size() < tail || line.substr(line.size() - tail, kChecksumPrefix.size()) != kChecksumPrefix ||
      !line.ends_with("\"}")) {
    throw Reject{"does not end with a checksum: cut off, or not a record"};
  }
  const std::string expected = hex8(crc32(line.substr(0, line.size() - tail)));
  const std::string_view found = line.substr(line.size() - 2 - kChecksumDigits, kChecksumDigits);
  if (found != expected) {
    throw Reject{"checksum " + in_quotes(found) + " should be " + in_quotes(expected) + ": damaged or edited"};
  }
}

/// The schema number, which follows the class in every version.
int leading_schema(std::string_view line) {
  const std::string_view problem_class = leading_class(line);
  if (problem_class.empty()) throw Reject{"does not begin with a problem class"};
  line.remove_prefix(kClassPrefix.size() + problem_class.size());
  int schema = 0;
  if (!line.starts_with(kSchemaPrefix)) throw Reject{"no schema number after the class"};
  line.remove_prefix(kSchemaPrefix.size());
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), schema);
  const bool ends_well = error == std::errc() && end != line.data() + line.size() && (*end == ',' || *end == '}');
  if (!ends_well || schema < 1) throw Reject{"no schema number after the class"};
  return schema;
}

}  // namespace

Problem class_of(const Problem& problem) {
  Problem result = problem;
  result.m = std::min(class_m(problem.m), kMaxSize);
  return result;
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
  if (*parsed.stored != stored) throw fail("its text means another record");
  return line;
}

std::string_view leading_class(std::string_view line) {
  if (!line.starts_with(kClassPrefix)) return {};
  line.remove_prefix(kClassPrefix.size());
  const std::size_t end = line.find('"');
  return end == std::string_view::npos ? std::string_view() : line.substr(0, end);
}

ParsedLine parse_line(std::string_view line) {
  try {
    const int schema = leading_schema(line);
    if (schema > kRecordSchema) {
      return {std::nullopt, LineFault::newer_schema,
              "schema " + std::to_string(schema) + " is newer than this version"};
    }
    if (line.size() > kMaxRecordLineBytes) throw Reject{"longer than 4096 bytes"};
    check_frame(line);
    StoredRecord stored = decode(line);
    // One comparison rejects every other spelling: repeated or unknown fields, their order, spacing, escapes.
    if (encode(stored) != line) throw Reject{"a field is unknown, repeated, out of order or spelled differently"};
    return {std::move(stored), LineFault::none, {}};
  } catch (const Reject& reject) {
    return {std::nullopt, LineFault::unusable, reject.reason};
  }
}

}  // namespace hotgemm
