#include "command/prewarm_listing.hpp"

#include "command/problem_options.hpp"
#include "config/class_key.hpp"
#include "config/prepacked.hpp"
#include "config/render.hpp"
#include "config/repack.hpp"
#include "config/traits.hpp"
#include "plan/affordable.hpp"
#include "plan/candidates.hpp"
#include "tune/tune.hpp"

namespace hotgemm::command {

bool PrewarmListing::add(const PrewarmTask& task, bool with_candidates) {
  std::vector<Environment>& known = environments_[task.arch];
  if (known.empty()) known = known_environments(task.arch, engine_.database);
  const TaskChoices found = choices_of(engine_, task, known);
  if (found.refusal) {
    add_unsupported(task, found.refusal->what());
    return false;
  }
  std::set<std::string> seen;
  for (const std::vector<Choice>& choices : found.choices) {
    const Choice& choice = first_without_spills(task, choices);
    if (seen.insert(to_string(choice.config)).second) row(task, choice.config, to_string(choice.origin));
    if (repacks(choice.launch) || is_prepacked(task.problem)) row_of_repack(task, seen);
    if (engine_.workspace_of(choice.config, choice.launch, task.problem).is_empty()) continue;
    const Choice* without = first_without_workspace(choices, choice, task.problem, engine_.workspace_of);
    if (without != nullptr && seen.insert(to_string(without->config)).second) {
      row(task, without->config, "without workspace");
    }
  }
  if (!with_candidates) return true;
  PrewarmTask measured = task;
  measured.problem = measured_product(task.problem);
  if (!(measured.problem == task.problem)) seen.clear();  // other kernels of the same configs
  const int most = TuneOptions{}.max_candidates;
  for (const Candidate& c : candidates_if_any(measured.problem, nominal_device(task.arch), most)) {
    if (seen.insert(to_string(c.config)).second) row(measured, c.config, "candidate");
    if (repacks(c.launch)) row_of_repack(task, seen);
  }
  if (checked_.insert(task.arch).second)
    row(measured, "check", "checks results", render_check(task.arch, engine_.bundle));
  return true;
}

/// The first of the choices that is not known to spill, which takes a compilation, or else the last one.
const Choice& PrewarmListing::first_without_spills(const PrewarmTask& task, const std::vector<Choice>& choices) const {
  const auto spills = [&](const Choice& choice) {
    const std::optional<Cubin> known =
        engine_.builder.find(render(choice.config, traits_of(task.problem, choice.launch), task.arch, engine_.bundle));
    return known && known->spill_bytes > most_spill_bytes(task.problem);
  };
  const auto found = std::ranges::find_if_not(choices, spills);
  return found != choices.end() ? *found : choices.back();
}

/// The kernel that copies operands for others, unless it has a row.
void PrewarmListing::row_of_repack(const PrewarmTask& task, std::set<std::string>& seen) {
  if (!seen.insert("repack").second) return;
  row(task, "repack", "copies operands", render_repack(task.arch, engine_.bundle));
}

void PrewarmListing::add_unsupported(const PrewarmTask& task, const std::string& refusal) {
  table_.add({label(task.problem), task.arch, "-", "no kernel computes it", "-"});
  json_.push_back({{"problem", to_string(task.problem)}, {"arch", task.arch}, {"failure", refusal}});
}

void PrewarmListing::row(const PrewarmTask& task, const KernelConfig& config, std::string_view origin) {
  row(task, to_string(config), origin,
      render(config, traits_of(repacked(task.problem, config)), task.arch, engine_.bundle));
}

void PrewarmListing::row(const PrewarmTask& task, const std::string& name, std::string_view origin,
                         const KernelSource& source) {
  const bool is_cached = engine_.builder.find(source).has_value();
  if (!is_cached) missing_.insert(source.identity.hex());
  table_.add({label(task.problem), task.arch, name, std::string(origin), is_cached ? "yes" : "no"});
  json_.push_back({{"problem", to_string(task.problem)},
                   {"arch", task.arch},
                   {"config", name},
                   {"origin", origin},
                   {"cached", is_cached}});
}

}  // namespace hotgemm::command
