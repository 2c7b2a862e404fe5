#pragma once

#include "records/trace.hpp"

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hotgemm {

/// A trace in a user's layer that later runs go on with. Not thread-safe.
class ResumableTrace {
 public:
  /// The trace `name`, in v1/exhaustive, as earlier runs left it; begun with `header` where there is none. Trouble with
  /// the disk is one warning, and the trace is kept in memory.
  ResumableTrace(LayerOptions options, const std::string& name, const TraceHeader& header);

  /// All of it: what was read, and what has been added.
  std::span<const TraceLine> lines() const { return lines_; }
  /// Its file; empty where it is kept in memory.
  const std::filesystem::path& path() const { return path_; }

  void add(TraceLine line);
  /// What was added is on disk when it returns.
  void flush();

 private:
  std::vector<TraceLine> lines_;
  std::optional<TraceWriter> writer_;
  std::filesystem::path path_;
};

}  // namespace hotgemm
