#pragma once

#include "records/tuning_record.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// The common form of the JSON lines that hotgemm keeps on disk: a checksum at the end, fields that are read strictly,
// and one text for each value. For the files that define such lines.

namespace hotgemm {

inline constexpr std::size_t kMaxRecordLineBytes = 4096;
inline constexpr std::size_t kMaxRecordStringBytes = 256;
/// The limit for the text of a problem, which is longer than 256 bytes if nearly every key of the grammar is in use.
inline constexpr std::size_t kMaxProblemTextBytes = 512;
/// A record with a time further in the future was written with a wrong clock.
inline constexpr std::int64_t kClockSlackSeconds = 24 * 3600;

/// The reason why a line is rejected. It is thrown while parsing; the file that parses the line turns it into text.
struct Reject {
  std::string reason;
};

/// `","schema":<schema>`, which follows a line's first value in every version.
std::string schema_text(int schema);
/// Reads the number that schema_text wrote at the start of `rest`. Throws Reject.
int leading_schema(std::string_view rest);

/// Adds the checksum and the closing brace to `body`, a JSON object without its closing brace.
std::string sealed(std::string body);

/// Throws Reject for a line of more than kMaxRecordLineBytes.
void check_length(std::string_view line);

/// Throws Reject for a line that does not end in the form of `sealed`. The checksum detects damage and edits; it does
/// not authenticate.
void check_seal(std::string_view line);

/// The shortest decimal number that reads back as `value`.
std::string json_number(double value);
/// `text` in quotes. Throws nlohmann::json::exception if it is not UTF-8.
std::string json_string(std::string_view text);

/// `text` in a form that a record may hold: invalid UTF-8 is replaced, and the text is cut between characters to at
/// most kMaxRecordStringBytes.
std::string storable(std::string_view text);

// Readers of fields. They throw Reject for a field that is missing, has another type or is out of range.
std::string string_field(const nlohmann::json& json, const char* name, std::size_t max_bytes = kMaxRecordStringBytes);
/// A string of 64 hexadecimal digits.
std::string digest_field(const nlohmann::json& json, const char* name);
/// An integer from 0 to `max`.
std::int64_t integer_field(const nlohmann::json& json, const char* name, std::int64_t max);
/// A number that is finite and not negative.
double number_field(const nlohmann::json& json, const char* name);
/// The fields of an environment, each after a comma.
std::string environment_text(const Environment& environment);
/// Inverse of environment_text.
Environment environment_fields(const nlohmann::json& json);
/// Parses `line`, which must be a JSON object. Throws Reject.
nlohmann::json parse_object(std::string_view line);

}  // namespace hotgemm
