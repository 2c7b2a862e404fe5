#pragma once

#include "records/append_file.hpp"

#include <hotgemm/types.hpp>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace hotgemm {

/// The conditions under which a choice among cuBLAS's algorithms holds.
struct CublasChoiceKey {
  std::string version;  ///< of cuBLAS: "13.1.0"
  std::string gpu;      ///< model
  std::string measure;  ///< and timing mode: "sustained eager"
  Workload problem;
};

/// The outcome of a race between cuBLAS's default and the algorithms of cuBLASLt.
struct CublasChoice {
  std::string algorithm;      ///< the best of cuBLASLt: its opaque bytes as 128 hexadecimal digits; empty if none ran
  std::string name;           ///< of that algorithm, for reports
  bool has_default = true;    ///< cuBLAS's default could run
  bool lt_is_faster = false;  ///< than cuBLAS's default
  std::int64_t time = 0;      ///< when it was made, in seconds since 1970
  friend bool operator==(const CublasChoice&, const CublasChoice&) = default;
};

/// Choices among cuBLAS's algorithms, because making one takes longer than the measurement that it is for. Each is a
/// file of one line in v1/cublas, replaced as a whole. A file that is damaged, or is not for the key, counts as
/// missing. Thread-safe.
class CublasChoices {
 public:
  explicit CublasChoices(LayerOptions options);

  std::optional<CublasChoice> find(const CublasChoiceKey& key) const;
  /// Keeps `choice` in place of an earlier one. A zero `time` becomes now. A disk error causes one warning, and later
  /// choices stay in memory.
  void keep(const CublasChoiceKey& key, CublasChoice choice);

 private:
  std::string read(const std::string& name) const;

  LayerOptions options_;
  mutable std::mutex mutex_;                  ///< guards the members below
  std::map<std::string, CublasChoice> made_;  // by this object, keyed by the name of the file
  bool has_disk_ = true;
};

}  // namespace hotgemm
