#pragma once

#include "records/problem_fields.hpp"
#include "records/tuning_record.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// A tuning record as one line of JSON:
//
//   {"class":"4096 4096 4096 nt f16 align=16","schema":2,"m":4000,"config":"mma_…","launch":"r8m",
//    "median_us":211.5,"spread_us":0.8,"samples":21,"ratio":1.04,"gpu":"NVIDIA H200","arch":"sm_90a","sm_count":132,
//    "driver":"580.159","toolchain":"nvrtc-13.0-…","templates":"<64 hex digits>","time":1767225600,"crc":"89abcdef"}
//
// The digest of the pick's machine code follows, if it is known: "code":"<64 hex digits>".
//
// A pick by blocks has "measure":"sustained" and, if it is known, "power_limit_w" after "templates"; a provisional pick
// has "provisional":1 there. Then follow, where they are known, "objective":"energy", the "joules" of a launch, and
// what cuBLAS did: "cublas" (its version), "cublas_algorithm", "cublas_ratio", "cublas_default_ratio".
//
// A problem with a batch or groups also has its "batch" and "groups" after "m", where they differ from the class's.
//
// The problem class comes first, so that a reader finds the lines it needs without parsing the others. Each record has
// exactly one text: a line that differs from the output of `to_line`, even in spaces or in the order of fields, is not
// a record. The checksum detects damage and edits; it does not authenticate.

namespace hotgemm {

inline constexpr int kRecordSchema = 2;

/// A record with the time at which a database stored it.
struct StoredRecord {
  TuningRecord record;
  std::int64_t time = 0;  ///< when it was added, in seconds since 1970
  friend bool operator==(const StoredRecord&, const StoredRecord&) = default;
};

/// Orders the times of records; `now` is the reader's. A time further in the future than clocks may differ counts as 0:
/// else its record would be the latest for ever.
std::pair<std::int64_t, std::int64_t> recency(std::int64_t time, std::int64_t now);

/// The line for `stored`, without a newline. Throws Error{invalid_argument}, with the reason, for a record that
/// parse_line would reject.
std::string to_line(const StoredRecord& stored);

/// `record` with six digits of each measured number: two measurements agree on fewer, and lines are to be short.
TuningRecord rounded(TuningRecord record);

enum class LineFault {
  none,
  newer_schema,  ///< written by a later version of hotgemm; this version does not judge or rewrite it
  unusable,      ///< damaged, edited, or with a config or an architecture that this version does not know
};

struct ParsedLine {
  std::optional<StoredRecord> stored;  ///< set if fault is none; its config is legal for its problem and architecture
  LineFault fault = LineFault::none;
  std::string reason;      ///< what is wrong, for people to read; empty if fault is none
  bool is_sealed = false;  ///< of this schema, with the right checksum; another version may be able to use it
};

/// Inverse of to_line. Never throws, whatever the line contains.
ParsedLine parse_line(std::string_view line);

/// The class text at the start of a line, or an empty view. The rest of the line is not read.
std::string_view leading_class(std::string_view line);

}  // namespace hotgemm
