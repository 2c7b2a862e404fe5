#pragma once

#include "records/trace.hpp"

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hotgemm {

/// A trace in a user's layer that later runs continue. Not thread-safe.
class ResumableTrace {
 public:
  /// Opens the trace `name` in v1/exhaustive with the lines of earlier runs. If it is empty, it starts with `header`. A
  /// disk error causes one warning, and the trace then stays in memory.
  ResumableTrace(LayerOptions options, const std::string& name, const TraceHeader& header);

  /// All lines: those read and those added.
  std::span<const TraceLine> lines() const { return lines_; }
  /// Path of the trace file; empty if the trace is kept in memory.
  const std::filesystem::path& path() const { return path_; }

  void add(TraceLine line);
  /// Writes all added lines to disk before it returns.
  void flush();

 private:
  std::vector<TraceLine> lines_;
  std::optional<TraceWriter> writer_;
  std::filesystem::path path_;
};

}  // namespace hotgemm
