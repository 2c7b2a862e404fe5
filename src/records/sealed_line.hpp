#pragma once

#include "records/tuning_record.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// What the lines of JSON that hotgemm keeps on disk have in common: a checksum at the end, fields that are read
// strictly, and one text for each value. For the files that define such lines.

namespace hotgemm {

inline constexpr std::size_t kMaxRecordLineBytes = 4096;
inline constexpr std::size_t kMaxRecordStringBytes = 256;

/// What is wrong with a line; leaves the file that parses it as text.
struct Reject {
  std::string reason;
};

/// `","schema":<schema>`, which follows a line's first value in every version.
std::string schema_text(int schema);
/// The number that schema_text wrote at the beginning of `rest`. Throws Reject.
int leading_schema(std::string_view rest);

/// `body`, a JSON object without its closing brace, with its checksum and the brace.
std::string sealed(std::string body);

/// Throws Reject for a line that does not end as `sealed` ends it. The checksum finds damage and edits; it does not
/// authenticate.
void check_seal(std::string_view line);

/// The shortest decimal number that reads back as `value`.
std::string json_number(double value);
/// `text` in quotes. Throws nlohmann::json::exception where it is not UTF-8.
std::string json_string(std::string_view text);

/// `text` as a record may hold it: bytes that are no UTF-8 replaced, cut at a character to kMaxRecordStringBytes.
std::string storable(std::string_view text);

// Fields. They throw Reject for one that is missing, of another type or out of range.
std::string string_field(const nlohmann::json& json, const char* name);
/// 64 hexadecimal digits.
std::string digest_field(const nlohmann::json& json, const char* name);
/// From 0 to `max`.
std::int64_t integer_field(const nlohmann::json& json, const char* name, std::int64_t max);
/// Finite and not negative.
double number_field(const nlohmann::json& json, const char* name);
/// The fields of an environment, each after a comma.
std::string environment_text(const Environment& environment);
/// Inverse of environment_text.
Environment environment_fields(const nlohmann::json& json);
/// The object that `line` is. Throws Reject.
nlohmann::json parse_object(std::string_view line);

}  // namespace hotgemm
