#pragma once

#include "command/session.hpp"
#include "command/table.hpp"
#include "prewarm_run.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm::command {

/// The output of `prewarm --list`: one line per kernel, problem and architecture.
class PrewarmListing {
 public:
  explicit PrewarmListing(Engine& engine) : engine_(engine) {}

  /// False if no kernel computes the task; then one line says why.
  bool add(const PrewarmTask& task, bool with_candidates);

  std::string text() const { return table_.text(); }
  const Json& json() const { return json_; }
  std::size_t missing() const { return missing_.size(); }

 private:
  const Choice& first_without_spills(const PrewarmTask& task, const std::vector<Choice>& choices) const;
  void row_of_repack(const PrewarmTask& task, std::set<std::string>& seen);
  void add_unsupported(const PrewarmTask& task, const std::string& refusal);
  void row(const PrewarmTask& task, const KernelConfig& config, std::string_view origin);
  void row(const PrewarmTask& task, const std::string& name, std::string_view origin, const KernelSource& source);

  Engine& engine_;
  Table table_{{{"problem"}, {"arch"}, {"kernel"}, {"origin"}, {"cached"}}};
  Json json_ = Json::array();
  std::map<std::string, std::vector<Environment>> environments_;  ///< the known ones of each architecture
  std::set<std::string> missing_;
  std::set<std::string> checked_;  ///< the architectures whose kernel for checks has a row
};

}  // namespace hotgemm::command
