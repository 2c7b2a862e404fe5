#include "config/prepacked.hpp"
#include "config/render.hpp"
#include "config/repack.hpp"
#include "context_impl.hpp"
#include "runtime/validate.hpp"

#include <hotgemm/error.hpp>

#include <map>
#include <optional>
#include <set>

namespace hotgemm {
namespace {

/// One problem on one architecture: its choices, best first, and the index of the choice that is being built.
struct Order {
  Workload problem;
  std::string arch;
  std::vector<Choice> choices;
  std::size_t at = 0;
};

class Prewarm {
 public:
  Prewarm(Engine& engine, const PrewarmOptions& options) : engine_(engine), options_(options) {}

  PrewarmReport run(std::span<const Workload> problems) {
    collect(problems);
    // A choice that spills is replaced by the next one, as in a plan; this takes another pass.
    while (!pending_.empty() && !is_cancelled_) build_pending();
    report_.compiled = engine_.compiled - compiled_before_;
    return std::move(report_);
  }

 private:
  void collect(std::span<const Workload> problems) {
    compiled_before_ = engine_.compiled;
    for (const std::string& arch : options_.archs) {
      const std::vector<Environment> environments = known_environments(arch, engine_.database);
      for (const Workload& problem : problems) {
        validate(problem);
        collect(problem, arch, environments);
        if (options_.candidates) add_candidates(problem, arch);
      }
    }
  }

  /// Orders the kernels that plans for `problem` pick in `environments`.
  void collect(const Workload& problem, const std::string& arch, const std::vector<Environment>& environments) {
    std::optional<Error> refusal;
    std::set<std::string> picks;
    for (const Environment& environment : environments_for(problem, environments)) {
      const std::optional<std::vector<Choice>> choices = choices_of(problem, arch, environment, refusal);
      if (!choices || choices->empty()) continue;  // no plan can be made either
      if (picks.insert(to_string(choices->front().config)).second) pending_.push_back({problem, arch, *choices, 0});
    }
    if (refusal && picks.empty()) throw Error(*refusal);
  }

  /// Nothing if there is no kernel; then `refusal` is the reason.
  std::optional<std::vector<Choice>> choices_of(const Workload& problem, const std::string& arch,
                                                const Environment& environment, std::optional<Error>& refusal) const {
    try {
      return within_workspace(choose(problem, arch, engine_.database, engine_.query(environment)), problem,
                              engine_.workspace_of, engine_.workspace.cap_bytes())
          .choices;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::not_supported) throw;
      refusal = error;
      return std::nullopt;
    }
  }

  /// A problem that no kernel keeps within its SM limit on this GPU has no candidates.
  void add_candidates(const Workload& problem, const std::string& arch) {
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

  void build_pending() {
    std::vector<KernelSource> sources;
    std::map<std::string, std::size_t> index;  // identity → index in sources
    const auto add = [&](KernelSource source) {
      const auto [it, is_new] = index.emplace(source.identity.hex(), sources.size());
      if (is_new) sources.push_back(std::move(source));
    };
    for (const Order& order : pending_) {
      add(source_of(order));
      const bool copies = repacks(order.choices[order.at].launch) || is_prepacked(order.problem);
      if (copies) add(render_repack(order.arch, engine_.bundle));
    }
    for (KernelSource& source : extra_) add(std::move(source));
    extra_.clear();

    std::size_t done = 0;
    const auto results = engine_.builder.build_all(
        sources, options_.jobs > 0 ? options_.jobs : default_compile_jobs(), [&](std::size_t, const BuildResult&) {
          is_cancelled_ = options_.progress && !options_.progress(++done, sources.size());
          return !is_cancelled_;
        });
    for (const BuildResult& result : results) count(result);

    std::vector<Order> next;
    for (Order& order : pending_) settle(order, results[index.at(source_of(order).identity.hex())], next);
    pending_ = std::move(next);
  }

  void count(const BuildResult& result) {
    if (!result.cubin) ++report_.failed;
    if (result.cubin && result.from_cache) ++report_.cached;
    if (result.cubin && !result.from_cache) ++engine_.compiled;
  }

  void settle(Order& order, const BuildResult& result, std::vector<Order>& next) {
    const bool spills = result.cubin && result.cubin->spill_bytes > 0;
    if (spills && order.at + 1 < order.choices.size()) {
      ++order.at;
      next.push_back(std::move(order));
      return;
    }
    const Choice& choice = order.choices[order.at];
    if (!engine_.workspace_of(choice.config, choice.launch, order.problem).is_empty()) {
      const Choice* without = first_without_workspace(order.choices, choice, order.problem, engine_.workspace_of);
      if (without != nullptr)
        next.push_back({order.problem, order.arch, {*without}});  // for launches without workspace
    }
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
  const PrewarmOptions& options_;
  std::uint64_t compiled_before_ = 0;
  std::vector<Order> pending_;
  std::vector<KernelSource> extra_;
  bool is_cancelled_ = false;
  PrewarmReport report_;
};

}  // namespace

PrewarmReport Context::prewarm(std::span<const Workload> problems, const PrewarmOptions& options) {
  for (const std::string& arch : options.archs) arch_limits(arch);  // throws for an unknown architecture
  return Prewarm(impl_->engine(), options).run(problems);
}

}  // namespace hotgemm
