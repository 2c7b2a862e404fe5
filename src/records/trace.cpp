#include "records/trace.hpp"

#include "records/sealed_line.hpp"

#include <hotgemm/error.hpp>

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace hotgemm {

namespace {

constexpr int kTraceSchema = 1;
constexpr std::size_t kMaxPendingBytes = std::size_t{1} << 20;

/// Pairs "a":"b", with a comma before each.
std::string texts(std::initializer_list<std::pair<const char*, std::string_view>> fields) {
  std::string text;
  for (const auto& [name, value] : fields) {
    text.append(",\"").append(name).append("\":").append(json_string(value));
  }
  return text;
}

std::string body_of(const TraceHeader& header) {
  std::string body = "{\"trace\":" + json_string(header.version) + ",\"schema\":" + std::to_string(kTraceSchema) +
                     environment_text(header.environment) + ",\"templates\":{";
  for (const auto& [name, digest] : header.templates) {
    if (body.back() != '{') body += ',';
    body += json_string(name) + ":" + json_string(digest);
  }
  return body + "}";
}

std::string body_of(const TraceSample& sample) {
  if (!std::isfinite(sample.us) || sample.us < 0) throw Reject{"its time is negative or not finite"};
  return "{\"sample\":" + json_string(sample.problem) + texts({{"config", sample.config}, {"launch", sample.launch}}) +
         ",\"race\":" + std::to_string(sample.race) + ",\"round\":" + std::to_string(sample.round) +
         ",\"us\":" + json_number(sample.us);
}

std::string body_of(const TraceRejection& rejection) {
  return "{\"rejected\":" + json_string(rejection.problem) +
         texts({{"config", rejection.config},
                {"launch", rejection.launch},
                {"stage", rejection.stage},
                {"reason", storable(rejection.reason)}});
}

std::string body_of(const TraceTwin& twin) {
  return "{\"twin\":" + json_string(twin.problem) + texts({{"config", twin.config}, {"same_as", twin.same_as}});
}

TraceHeader header_of(const nlohmann::json& json) {
  if (integer_field(json, "schema", std::numeric_limits<int>::max()) != kTraceSchema) throw Reject{"another schema"};
  TraceHeader header{string_field(json, "trace"), environment_fields(json), {}};
  const auto templates = json.find("templates");
  if (templates == json.end() || !templates->is_object()) throw Reject{"no templates"};
  for (const auto& item : templates->items())
    header.templates[item.key()] = digest_field(*templates, item.key().c_str());
  return header;
}

TraceSample sample_of(const nlohmann::json& json) {
  constexpr std::int64_t kMax = std::numeric_limits<int>::max();
  return {string_field(json, "sample", kMaxProblemTextBytes),
          string_field(json, "config"),
          string_field(json, "launch"),
          static_cast<int>(integer_field(json, "race", kMax)),
          static_cast<int>(integer_field(json, "round", kMax)),
          number_field(json, "us")};
}

TraceRejection rejection_of(const nlohmann::json& json) {
  return {string_field(json, "rejected", kMaxProblemTextBytes), string_field(json, "config"),
          string_field(json, "launch"), string_field(json, "stage"), string_field(json, "reason")};
}

TraceTwin twin_of(const nlohmann::json& json) {
  return {string_field(json, "twin", kMaxProblemTextBytes), string_field(json, "config"),
          string_field(json, "same_as")};
}

TraceLine decode_line(std::string_view line) {
  check_seal(line);
  const nlohmann::json json = parse_object(line);
  if (json.contains("sample")) return sample_of(json);
  if (json.contains("rejected")) return rejection_of(json);
  if (json.contains("twin")) return twin_of(json);
  return header_of(json);
}

std::string encode(const TraceLine& line) {
  return std::visit([](const auto& value) { return sealed(body_of(value)); }, line);
}

}  // namespace

std::string to_line(const TraceLine& line) {
  try {
    return encode(line);
  } catch (const Reject& reject) {
    throw Error(ErrorCode::invalid_argument, "cannot write a line of a trace: " + reject.reason);
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorCode::invalid_argument, std::string("cannot write a line of a trace: ") + error.what());
  }
}

Trace parse_trace(std::string_view text) {
  Trace trace;
  for_each_line(text, [&](std::string_view line, std::size_t, bool is_torn) {
    try {
      trace.lines.push_back(decode_line(line));
    } catch (const Reject&) {
      if (!is_torn) ++trace.ignored;
    }
  });
  return trace;
}

TraceWriter::TraceWriter(AppendFile file, Report report) : file_(std::move(file)), report_(std::move(report)) {}

TraceWriter::~TraceWriter() { flush(); }

void TraceWriter::add(const TraceLine& line) {
  pending_.append(to_line(line)).append("\n");
  if (pending_.size() >= kMaxPendingBytes) flush();
}

void TraceWriter::flush() {
  const std::string text = std::exchange(pending_, {});
  if (text.empty() || !is_good_) return;
  try {
    file_.append(text);
  } catch (const Error& error) {
    is_good_ = false;
    if (report_) report_(std::string(error.what()) + "; the trace ends here");
  }
}

}  // namespace hotgemm
