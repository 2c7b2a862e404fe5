#pragma once

#include "records/append_file.hpp"
#include "records/tuning_record.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// What was measured, sample by sample, as lines of JSON:
//
//   {"trace":"0.1.0","schema":1,"gpu":"NVIDIA H200",…,"templates":{"mma.cuh":"<64 hex digits>"},"crc":"…"}
//   {"sample":"4096 4096 512 nt f16 …","config":"mma_…","launch":"r8m","race":0,"round":0,"us":123.25,"crc":"…"}
//   {"rejected":"4096 4096 512 nt f16 …","config":"mma_…","launch":"r8m","stage":"check","reason":"…","crc":"…"}
//   {"twin":"4096 4096 512 nt f16 …","config":"mma_…","same_as":"mma_…","crc":"…"}
//
// A header says where the lines below it were measured. The checksums are those of tuning records.

namespace hotgemm {

struct TraceHeader {
  std::string version;  ///< of hotgemm: "0.1.0"
  Environment environment;
  std::map<std::string, std::string> templates;  ///< digests by a family's header: "mma.cuh"
  friend bool operator==(const TraceHeader&, const TraceHeader&) = default;
};

/// One timing.
struct TraceSample {
  std::string problem;
  std::string config;
  std::string launch;
  int race = 0;   ///< counted from 0 within the problem
  int round = 0;  ///< counted from 0 within the race; what ran in one round of one race may be compared in pairs
  double us = 0;  ///< microseconds per launch
  friend bool operator==(const TraceSample&, const TraceSample&) = default;
};

/// A candidate that was not, or no longer, timed.
struct TraceRejection {
  std::string problem;
  std::string config;
  std::string launch;
  std::string stage;
  std::string reason;  ///< kept to 256 bytes
  friend bool operator==(const TraceRejection&, const TraceRejection&) = default;
};

/// A candidate with the machine code of another, which was timed for both.
struct TraceTwin {
  std::string problem;
  std::string config;
  std::string same_as;
  friend bool operator==(const TraceTwin&, const TraceTwin&) = default;
};

using TraceLine = std::variant<TraceHeader, TraceSample, TraceRejection, TraceTwin>;

/// Without a newline. Throws Error{invalid_argument} for text that is not UTF-8 and times that are no numbers.
std::string to_line(const TraceLine& line);

struct Trace {
  std::vector<TraceLine> lines;
  std::size_t ignored = 0;  ///< lines that are damaged or of another version; a torn last one is not counted
};

/// The lines of a trace, in their order. Never throws for what the text says.
Trace parse_trace(std::string_view text);

/// Writes a trace to a file. What is added is on disk after flush, or when this object dies. Trouble with the disk is
/// one report, and nothing is written from then on. Not thread-safe.
class TraceWriter {
 public:
  TraceWriter(AppendFile file, Report report);
  ~TraceWriter();
  TraceWriter(TraceWriter&&) = default;
  TraceWriter& operator=(TraceWriter&&) = delete;

  void add(const TraceLine& line);
  /// After each race, so that an interrupted run keeps whole ones.
  void flush();

 private:
  AppendFile file_;
  Report report_;
  std::string pending_;
  bool is_good_ = true;
};

}  // namespace hotgemm
