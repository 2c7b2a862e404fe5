#include "records/sealed_line.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace hotgemm {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kSchemaPrefix = "\",\"schema\":";
constexpr std::string_view kChecksumPrefix = ",\"crc\":\"";
constexpr std::size_t kChecksumDigits = 8;

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

const Json& field(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end()) throw Reject{"no field \"" + std::string(name) + "\""};
  return *found;
}

}  // namespace

std::string schema_text(int schema) { return std::string(kSchemaPrefix) + std::to_string(schema); }

int leading_schema(std::string_view rest) {
  int schema = 0;
  if (!rest.starts_with(kSchemaPrefix)) throw Reject{"no schema number after the first value"};
  rest.remove_prefix(kSchemaPrefix.size());
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), schema);
  const bool ends_well = error == std::errc() && end != rest.data() + rest.size() && (*end == ',' || *end == '}');
  if (!ends_well || schema < 1) throw Reject{"no schema number after the first value"};
  return schema;
}

std::string sealed(std::string body) {
  const std::uint32_t checksum = crc32(body);
  body.append(kChecksumPrefix).append(hex8(checksum)).append("\"}");
  return body;
}

void check_length(std::string_view line) {
  if (line.size() > kMaxRecordLineBytes) throw Reject{"longer than " + std::to_string(kMaxRecordLineBytes) + " bytes"};
}

void check_seal(std::string_view line) {
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

std::string json_number(double value) {
  std::array<char, 32> digits{};
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value + 0.0);  // -0 becomes 0
  return {digits.data(), result.ptr};
}

std::string json_string(std::string_view text) { return Json(text).dump(); }

std::string storable(std::string_view text) {
  const std::string dumped = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string result = Json::parse(dumped).get<std::string>();
  if (result.size() <= kMaxRecordStringBytes) return result;
  std::size_t end = kMaxRecordStringBytes;
  while (end > 0 && (static_cast<unsigned char>(result[end]) & 0xC0u) == 0x80u) --end;  // inside a UTF-8 character
  result.resize(end);
  return result;
}

std::string string_field(const Json& json, const char* name, std::size_t max_bytes) {
  const Json& value = field(json, name);
  if (!value.is_string()) throw Reject{"\"" + std::string(name) + "\" is not a string"};
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() > max_bytes) {
    throw Reject{"\"" + std::string(name) + "\" is longer than " + std::to_string(max_bytes) + " bytes"};
  }
  return text;
}

std::string digest_field(const Json& json, const char* name) {
  std::string digest = string_field(json, name);
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (digest.size() != 64 || !std::all_of(digest.begin(), digest.end(), is_hex)) {
    throw Reject{"\"" + std::string(name) + "\" is not 64 hexadecimal digits"};
  }
  return digest;
}

std::int64_t integer_field(const Json& json, const char* name, std::int64_t max) {
  const Json& value = field(json, name);
  // The parser keeps numbers above 2^63 as unsigned; a cast would wrap.
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

std::string environment_text(const Environment& environment) {
  return ",\"gpu\":" + json_string(environment.gpu) + ",\"arch\":" + json_string(environment.arch) +
         ",\"sm_count\":" + std::to_string(environment.sm_count) + ",\"driver\":" + json_string(environment.driver) +
         ",\"toolchain\":" + json_string(environment.toolchain);
}

Environment environment_fields(const Json& json) {
  Environment environment;
  environment.gpu = string_field(json, "gpu");
  environment.arch = string_field(json, "arch");
  environment.sm_count = static_cast<int>(integer_field(json, "sm_count", std::numeric_limits<int>::max()));
  environment.driver = string_field(json, "driver");
  environment.toolchain = string_field(json, "toolchain");
  return environment;
}

Json parse_object(std::string_view line) {
  Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) throw Reject{"not a JSON object"};
  return json;
}

}  // namespace hotgemm
