#pragma once

#include "config/workspace.hpp"
#include "plan/choice.hpp"
#include "records/record_text.hpp"

#include <hotgemm/error.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm {

/// The workspace of a config's launches for the class of a problem, by a rule such as workspace_size. A plan serves its
/// whole class, so the rule is asked about the class and not about the problem.
class WorkspaceOf {
 public:
  template <class Rule>
  WorkspaceOf(Rule rule) : rule_(std::move(rule)) {}  // NOLINT(google-explicit-constructor): a rule is one

  WorkspaceSize operator()(const KernelConfig& config, const LaunchConfig& launch, const Workload& problem) const {
    return rule_(config, launch, class_of(problem));
  }

 private:
  std::function<WorkspaceSize(const KernelConfig&, const LaunchConfig&, const Workload&)> rule_;
};

/// The most bytes that a launch may need if the problem's hint is `hint` and the library keeps `cap_bytes` at most.
std::size_t workspace_cap(WorkspaceClass hint, std::size_t cap_bytes);

/// Choices whose workspace is within the cap and the problem's hint, best first.
struct Affordable {
  std::vector<Choice> choices;
  std::string note;  ///< set if the best choice is not among them: its config, the workspace that it needs, and the cap
};
Affordable within_workspace(std::vector<Choice> choices, const Workload& problem, const WorkspaceOf& workspace_of,
                            std::size_t cap_bytes);

/// The error of `problem` where no choice is affordable.
Error too_little_workspace(const Workload& problem, const Affordable& affordable);

/// The first of `choices` that needs no workspace and may be launched in the place of `choice`, or nullptr. If the
/// order of the problem's sums is not any, it adds in the order of `choice`: whether workspace is left must not change
/// bits.
const Choice* first_without_workspace(const std::vector<Choice>& choices, const Choice& choice, const Workload& problem,
                                      const WorkspaceOf& workspace_of);

}  // namespace hotgemm
