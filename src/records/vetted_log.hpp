#pragma once

#include "records/append_file.hpp"
#include "records/database_files.hpp"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace hotgemm {

/// A kernel that has passed its check and a race on a GPU model with a driver.
struct VettedKernel {
  std::string kernel;  ///< SHA-256 of its symbol and its machine code (kernel_digest), 64 hex digits
  std::string gpu;     ///< model
  std::string driver;  ///< version
  friend auto operator<=>(const VettedKernel&, const VettedKernel&) = default;
};

/// The line for `vetted` at `time`, seconds since 1970, without a newline.
std::string to_line(const VettedKernel& vetted, std::int64_t time);
/// Inverse of to_line; nullopt for any other line.
std::optional<VettedKernel> parse_vetted(std::string_view line);

/// The kernels that may be measured in the process of a user: JSON lines in segments with one writer each, in v1/vetted
/// of a user's layer. The files are read at the first question; lines that other processes add later are seen after
/// `reload`. Damaged lines, and lines of a newer version, count as missing. Thread-safe.
class VettedLog {
 public:
  explicit VettedLog(LayerOptions options);

  bool knows(const VettedKernel& vetted) const;
  /// The number of kernels that are vetted on this GPU model with this driver.
  std::size_t count(std::string_view gpu, std::string_view driver) const;
  /// Has the files read again at the next question.
  void reload();
  /// Makes `vetted` known and appends it to this object's segment, unless it is known. A disk error causes one warning;
  /// additions then stay in memory.
  void add(const VettedKernel& vetted);

 private:
  void read() const;  // with mutex_ held

  LayerOptions options_;
  mutable std::mutex mutex_;  ///< guards the members below
  mutable bool is_read_ = false;
  mutable std::set<VettedKernel> vetted_;
  std::optional<Segment> segment_;
  bool has_disk_ = true;
};

}  // namespace hotgemm
