#include "base/refuse.hpp"
#include "config/class_key.hpp"
#include "config/prepacked.hpp"
#include "config/render.hpp"
#include "config/repack.hpp"
#include "config/traits.hpp"
#include "context_impl.hpp"
#include "prewarm_run.hpp"
#include "runtime/validate.hpp"

#include <hotgemm/error.hpp>

#include <map>
#include <optional>
#include <set>
#include <string>

namespace hotgemm {
namespace {

/// One problem on one architecture: its choices, best first, and the index of the choice that is being built.
struct Order {
  std::size_t task;  ///< the index of the problem and the architecture among all
  Workload problem;
  std::string arch;
  std::vector<Choice> choices;
  std::size_t at = 0;
};

class PrewarmRun {
 public:
  PrewarmRun(Engine& engine, const PrewarmRunOptions& options) : engine_(engine), options_(options) {}

  PrewarmRunResult run(std::span<const PrewarmTask> tasks) {
    collect(tasks);
    // A choice that spills is replaced by the next one, as in a plan; this takes another pass.
    while (!pending_.empty() && !report_.interrupted) build_pending();
    report_.not_started += unbuilt(sources_of_pending()).size();
    std::vector<Identity> kernels;
    for (const auto& [hex, built] : built_) {
      count(built);
      if (built.result.cubin) kernels.push_back(built.identity);
    }
    if (report_.stored < report_.compiled + report_.cached) report_.store_failure = engine_.cache.store_failure();
    return {std::move(report_), std::move(kernels)};
  }

 private:
  struct Built {
    Identity identity;
    BuildResult result;  ///< without the image
  };

  void collect(std::span<const PrewarmTask> tasks) {
    std::map<std::string, std::vector<Environment>> environments;
    for (const PrewarmTask& task : tasks) {
      validate(task.problem);
      if (!environments.contains(task.arch)) {
        environments[task.arch] = known_environments(task.arch, engine_.database);
      }
    }
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const bool is_supported = collect(i, tasks[i], environments[tasks[i].arch]);
      if (options_.candidates && is_supported) add_candidates(tasks[i].problem, tasks[i].arch);
      if (options_.planning && !options_.planning(i + 1, tasks.size())) report_.interrupted = true;
      if (report_.interrupted) return;
    }
  }

  /// Orders the kernels that plans for task `index` pick on the GPUs `known`. False if no kernel computes it.
  bool collect(std::size_t index, const PrewarmTask& task, const std::vector<Environment>& known) {
    TaskChoices found = choices_of(engine_, task, known);
    for (std::vector<Choice>& choices : found.choices) {
      pending_.push_back({index, task.problem, task.arch, std::move(choices)});
    }
    if (!found.refusal) return true;
    if (options_.unsupported == PrewarmRunOptions::Unsupported::is_thrown) throw Error(*found.refusal);
    report_.entries.push_back({.problem = task.problem, .arch = task.arch, .failure = found.refusal->what()});
    ++report_.failed;
    return false;
  }

  /// The tuner measures the bare product, with scales of blocks, so its candidates are added. A problem that no kernel
  /// keeps within its SM limit on this GPU has no candidates.
  void add_candidates(const Workload& asked, const std::string& arch) {
    const Workload problem = measured_product(asked);
    for (const Candidate& c : candidates_if_any(problem, nominal_device(arch), TuneOptions{}.max_candidates)) {
      extra_.push_back(render(c.config, traits_of(problem, c.launch), arch, engine_.bundle));
      if (repacks(c.launch)) extra_.push_back(render_repack(arch, engine_.bundle));
    }
    extra_.push_back(render_check(arch, engine_.bundle));
  }

  KernelSource source_of(const Order& order) const {
    const Choice& choice = order.choices[order.at];
    return render(choice.config, traits_of(order.problem, choice.launch), order.arch, engine_.bundle);
  }

  std::vector<KernelSource> sources_of_pending() const {
    std::vector<KernelSource> sources;
    for (const Order& order : pending_) {
      sources.push_back(source_of(order));
      const bool copies = repacks(order.choices[order.at].launch) || is_prepacked(order.problem);
      if (copies) sources.push_back(render_repack(order.arch, engine_.bundle));
    }
    return sources;
  }

  /// The sources that no pass has built yet, each once and in order.
  std::vector<KernelSource> unbuilt(std::vector<KernelSource> sources) const {
    std::set<std::string> seen;
    std::erase_if(sources, [&](const KernelSource& source) {
      const std::string hex = source.identity.hex();
      return built_.contains(hex) || !seen.insert(hex).second;
    });
    return sources;
  }

  void build_pending() {
    std::vector<KernelSource> sources = sources_of_pending();
    sources.insert(sources.end(), extra_.begin(), extra_.end());
    extra_.clear();
    sources = unbuilt(std::move(sources));
    std::vector<BuildResult> results = options_.looks_only ? look_for(sources) : build(sources);
    for (std::size_t i = 0; i < sources.size(); ++i) keep(sources[i], std::move(results[i]));

    std::vector<Order> next;
    for (Order& order : pending_) settle(order, built_.at(source_of(order).identity.hex()).result, next);
    pending_ = std::move(next);
  }

  std::vector<BuildResult> build(const std::vector<KernelSource>& sources) {
    const int jobs = options_.jobs > 0 ? options_.jobs : default_compile_jobs();
    return engine_.builder.build_all(
        sources, jobs, [&, before = built_.size(), done = std::size_t{0}](std::size_t i, const BuildResult&) mutable {
          return go_on(before + ++done, before + sources.size(), sources[i].symbol);
        });
  }

  std::vector<BuildResult> look_for(const std::vector<KernelSource>& sources) {
    std::vector<BuildResult> results;
    const std::size_t before = built_.size();
    for (const KernelSource& source : sources) {
      BuildResult& result = results.emplace_back();
      if (report_.interrupted) {
        result.failure = kInterruptedBuild;
        continue;
      }
      result.cubin = engine_.builder.find(source);
      result.from_cache = result.cubin.has_value();
      if (!result.cubin) result.failure = kNotInCache;
      go_on(before + results.size(), before + sources.size(), source.symbol);
    }
    return results;
  }

  bool go_on(std::size_t done, std::size_t total, const std::string& kernel) {
    if (options_.progress && !options_.progress(done, total, kernel)) report_.interrupted = true;
    return !report_.interrupted;
  }

  /// Keeps what is known about a kernel, and sees to it that a kernel from the cache lies on disk.
  void keep(const KernelSource& source, BuildResult result) {
    if (result.cubin) {
      const auto layers = options_.fills_layer ? BinaryCache::Layers::of_user : BinaryCache::Layers::all;
      const bool is_to_store = result.from_cache && !options_.looks_only;
      if (is_to_store && !engine_.cache.is_on_disk(source.identity, layers)) {
        engine_.cache.store(source.identity, *result.cubin);
      }
      if (!result.from_cache) ++engine_.compiled;
      result.cubin->image.clear();
    }
    built_.emplace(source.identity.hex(), Built{source.identity, std::move(result)});
  }

  void count(const Built& built) {
    const BuildResult& result = built.result;
    if (!result.cubin) {
      ++(result.failure == kInterruptedBuild ? report_.not_started : report_.failed);
      return;
    }
    ++(result.from_cache ? report_.cached : report_.compiled);
    const auto layers = options_.fills_layer ? BinaryCache::Layers::of_user : BinaryCache::Layers::all;
    if (engine_.cache.is_on_disk(built.identity, layers)) ++report_.stored;
  }

  void settle(Order& order, const BuildResult& result, std::vector<Order>& next) {
    const bool spills = result.cubin && result.cubin->spill_bytes > most_spill_bytes(order.problem);
    if (spills && order.at + 1 < order.choices.size()) {
      ++order.at;
      next.push_back(std::move(order));
      return;
    }
    const Choice& choice = order.choices[order.at];
    if (!engine_.workspace_of(choice.config, choice.launch, order.problem).is_empty()) {
      const Choice* without = first_without_workspace(order.choices, choice, order.problem, engine_.workspace_of);
      if (without != nullptr)
        next.push_back({order.task, order.problem, order.arch, {*without}});  // for launches without workspace
    }
    if (!told_.emplace(order.task, source_of(order).identity.hex()).second) return;
    PrewarmEntry entry{.problem = order.problem,
                       .arch = order.arch,
                       .config = to_string(choice.config),
                       .origin = choice.origin,
                       .from_cache = result.from_cache,
                       .failure = result.failure};
    if (result.cubin) {
      entry.resources = {.registers = result.cubin->registers,
                         .spill_bytes = result.cubin->spill_bytes,
                         .smem_bytes = smem_bytes(choice.config, traits_of(order.problem, choice.launch)),
                         .threads = threads(choice.config),
                         .compile_ms = result.cubin->compile_ms};
    }
    report_.entries.push_back(std::move(entry));
  }

  Engine& engine_;
  const PrewarmRunOptions& options_;
  std::vector<Order> pending_;
  std::vector<KernelSource> extra_;
  std::map<std::string, Built> built_;                  ///< by the identity's digits
  std::set<std::pair<std::size_t, std::string>> told_;  ///< tasks and the kernels that have an entry
  PrewarmReport report_;
};

/// Nothing if the problem has no function of a user, or one whose source is known.
std::optional<Error> refusal_of_function(const TemplateBundle& bundle, const Workload& problem) {
  if (!problem.epilogue.has_function()) return std::nullopt;
  try {
    bundle.source_of(problem.epilogue.function);
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  }
}

}  // namespace

TaskChoices choices_of(const Engine& engine, const PrewarmTask& task, const std::vector<Environment>& known) {
  const Workload& problem = task.problem;
  TaskChoices found{.choices = {}, .refusal = refusal_of_function(engine.bundle, problem)};
  if (found.refusal) return found;
  std::optional<Error> refusal;  // of one GPU; another GPU may have fewer SMs than the problem's limit
  for (const Environment& environment : environments_for(problem, known)) {
    try {
      Affordable affordable = within_workspace(choose(problem, task.arch, engine.database, engine.query(environment)),
                                               problem, engine.workspace_of, engine.workspace.cap_bytes());
      if (affordable.choices.empty()) throw too_little_workspace(problem, affordable);
      // Choices after the first count too: kernels spill, or need workspace.
      const bool is_new = std::ranges::find(found.choices, affordable.choices) == found.choices.end();
      if (is_new) found.choices.push_back(std::move(affordable.choices));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::not_supported) throw;
      if (!refusal) refusal = error;
    }
  }
  if (found.choices.empty()) found.refusal = refusal;
  return found;
}

PrewarmRunResult prewarm(Engine& engine, std::span<const PrewarmTask> tasks, const PrewarmRunOptions& options) {
  for (const PrewarmTask& task : tasks) arch_limits(task.arch);  // throws for an unknown architecture
  return PrewarmRun(engine, options).run(tasks);
}

PrewarmReport Context::prewarm(std::span<const Workload> problems, const PrewarmOptions& options) {
  if (options.jobs < 0) refuse("jobs is " + std::to_string(options.jobs) + "; it must be a number from 0");
  for (const std::string& arch : options.archs) arch_limits(arch);  // also if there is no problem
  std::vector<PrewarmTask> tasks;
  for (const std::string& arch : options.archs) {
    for (const Workload& problem : problems) tasks.push_back({problem, arch});
  }
  PrewarmRunOptions run{.jobs = options.jobs, .candidates = options.candidates, .progress = {}};
  if (options.progress) {
    run.progress = [&options](std::size_t done, std::size_t total, const std::string&) {
      return options.progress(done, total);
    };
  }
  return hotgemm::prewarm(impl_->engine(), tasks, run).report;
}

}  // namespace hotgemm
