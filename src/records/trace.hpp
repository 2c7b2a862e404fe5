#pragma once

#include "records/append_file.hpp"
#include "records/tuning_record.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// A trace: all samples that were measured, as lines of JSON:
//
//   {"trace":"0.1.0","schema":1,"gpu":"NVIDIA H200",…,"templates":{"mma.cuh":"<64 hex digits>"},"crc":"…"}
//   {"sample":"4096 4096 512 nt f16 …","config":"mma_…","launch":"r8m","race":0,"round":0,"us":123.25,"crc":"…"}
//   {"rejected":"4096 4096 512 nt f16 …","config":"mma_…","launch":"r8m","stage":"check","reason":"…","crc":"…"}
//   {"twin":"4096 4096 512 nt f16 …","config":"mma_…","same_as":"mma_…","crc":"…"}
//
// The header says where the lines below it were measured. The checksums have the same form as in tuning records.

namespace hotgemm {

struct TraceHeader {
  std::string version;  ///< of hotgemm: "0.1.0"
  Environment environment;
  std::map<std::string, std::string> templates;  ///< digests, keyed by the header of a family: "mma.cuh"
  friend bool operator==(const TraceHeader&, const TraceHeader&) = default;
};

/// One timing.
struct TraceSample {
  std::string problem;
  std::string config;
  std::string launch;
  int race = 0;   ///< counted from 0 within the problem
  int round = 0;  ///< counted from 0 within the race; samples of the same round and race may be compared in pairs
  double us = 0;  ///< microseconds per launch; behind a foreign kernel if a launch of the race is programmatic
  friend bool operator==(const TraceSample&, const TraceSample&) = default;
};

/// A candidate that was not timed, or whose timing was stopped.
struct TraceRejection {
  std::string problem;
  std::string config;
  std::string launch;
  std::string stage;
  std::string reason;  ///< cut to 256 bytes
  friend bool operator==(const TraceRejection&, const TraceRejection&) = default;
};

/// A candidate with the same machine code as another one. The other one was timed for both.
struct TraceTwin {
  std::string problem;
  std::string config;
  std::string same_as;
  friend bool operator==(const TraceTwin&, const TraceTwin&) = default;
};

using TraceLine = std::variant<TraceHeader, TraceSample, TraceRejection, TraceTwin>;

/// The line, without a newline. Throws Error{invalid_argument} for text that is not UTF-8 and for times that are
/// negative or not finite.
std::string to_line(const TraceLine& line);

struct Trace {
  std::vector<TraceLine> lines;
  std::size_t ignored = 0;  ///< lines that are damaged or of another version, not counting a torn last line
};

/// The lines of a trace, in order. Never throws, whatever the text contains.
Trace parse_trace(std::string_view text);

/// Writes a trace to a file. Added lines are on disk after flush and after destruction. A disk error causes one report,
/// and later lines are not written. Not thread-safe.
class TraceWriter {
 public:
  TraceWriter(AppendFile file, Report report);
  ~TraceWriter();
  TraceWriter(TraceWriter&&) = default;
  TraceWriter& operator=(TraceWriter&&) = delete;

  void add(const TraceLine& line);
  /// Writes all added lines to disk. Call it after each race, so that an interrupted run keeps complete races.
  void flush();
  /// False if lines were lost.
  bool is_good() const { return is_good_; }

 private:
  AppendFile file_;
  Report report_;
  std::string pending_;
  bool is_good_ = true;
};

}  // namespace hotgemm
