#include "plan/affordable.hpp"

#include "config/sum_order.hpp"

#include <algorithm>
#include <utility>

namespace hotgemm {

std::size_t workspace_cap(WorkspaceClass hint, std::size_t cap_bytes) {
  switch (hint) {
    case WorkspaceClass::none: return 0;
    case WorkspaceClass::small: return std::min(kSmallWorkspaceBytes, cap_bytes);
    case WorkspaceClass::full: return cap_bytes;
  }
  return cap_bytes;
}

Affordable within_workspace(std::vector<Choice> choices, const Workload& problem, const WorkspaceOf& workspace_of,
                            std::size_t cap_bytes) {
  const std::size_t most_bytes = workspace_cap(problem.hints.workspace, cap_bytes);
  const auto bytes_of = [&](const Choice& c) { return workspace_of(c.config, c.launch, problem).total_bytes(); };
  Affordable affordable;
  if (!choices.empty() && bytes_of(choices.front()) > most_bytes) {
    affordable.note = to_string(choices.front().config) + " needs " + std::to_string(bytes_of(choices.front())) +
                      " bytes of workspace; the cap is " + std::to_string(most_bytes);
  }
  std::erase_if(choices, [&](const Choice& c) { return bytes_of(c) > most_bytes; });
  affordable.choices = std::move(choices);
  return affordable;
}

Error too_little_workspace(const Workload& problem, const Affordable& affordable) {
  return Error(ErrorCode::not_supported,
               "every kernel for " + to_string(problem) + " needs more workspace than the cap: " + affordable.note);
}

const Choice* first_without_workspace(const std::vector<Choice>& choices, const Choice& choice, const Workload& problem,
                                      const WorkspaceOf& workspace_of) {
  const SumSequence sequence = sum_sequence(choice.config, choice.launch);
  const auto found = std::ranges::find_if(choices, [&](const Choice& c) {
    if (problem.order != SumOrder::any && sum_sequence(c.config, c.launch) != sequence) return false;
    return workspace_of(c.config, c.launch, problem).is_empty();
  });
  return found != choices.end() ? &*found : nullptr;
}

}  // namespace hotgemm
