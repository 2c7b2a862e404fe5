#include "plan/affordable.hpp"

#include <algorithm>
#include <utility>

namespace hotgemm {

Affordable within_workspace(std::vector<Choice> choices, const Workload& problem, const WorkspaceOf& workspace_of,
                            std::size_t cap_bytes) {
  const auto bytes_of = [&](const Choice& c) { return workspace_of(c.config, c.launch, problem).total_bytes(); };
  Affordable affordable;
  if (!choices.empty() && bytes_of(choices.front()) > cap_bytes) {
    affordable.note = to_string(choices.front().config) + " needs " + std::to_string(bytes_of(choices.front())) +
                      " bytes of workspace; the cap is " + std::to_string(cap_bytes);
  }
  std::erase_if(choices, [&](const Choice& c) { return bytes_of(c) > cap_bytes; });
  affordable.choices = std::move(choices);
  return affordable;
}

const Choice* first_without_workspace(const std::vector<Choice>& choices, const Workload& problem,
                                      const WorkspaceOf& workspace_of) {
  const auto found = std::ranges::find_if(
      choices, [&](const Choice& c) { return workspace_of(c.config, c.launch, problem).is_empty(); });
  return found != choices.end() ? &*found : nullptr;
}

}  // namespace hotgemm
