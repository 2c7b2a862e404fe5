#include "tune/candidate.hpp"

#include "base/log.hpp"
#include "config/class_key.hpp"
#include "config/launch_shape.hpp"
#include "config/permitted.hpp"
#include "config/render.hpp"
#include "config/repack.hpp"
#include "config/sm_limit.hpp"
#include "config/sum_order.hpp"
#include "config/traits.hpp"
#include "gpu/code_digest.hpp"
#include "gpu/stopwatch.hpp"
#include "plan/candidates.hpp"
#include "plan/model.hpp"
#include "plan/power_model.hpp"
#include "plan/shortlist.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace hotgemm {
namespace {

constexpr std::array<std::string_view, 5> kStageWords = {"chosen", "build", "load", "check", "measure"};
constexpr int kNeighbours = 4;   // nearest classes whose winners are tried
constexpr double kFarthest = 4;  // as Neighbour::distance: a factor of 16 in one size

std::vector<KernelConfig> winners_nearby(const Workload& problem, const Database& database, const GpuQuery& query,
                                         const ArchLimits& arch) {
  std::vector<KernelConfig> configs;
  const auto add = [&](const Workload& of) {
    for (const Neighbour& neighbour : database.nearest(of, query, kNeighbours, kFarthest)) {
      configs.push_back(neighbour.found.record.config);
    }
  };
  if (problem.epilogue != Epilogue{}) {  // scales of blocks: first the kernel of the bare product, if it takes them
    if (const auto own = database.find(without_epilogue(problem), query)) configs.push_back(own->record.config);
  }
  add(problem);
  if (const std::optional<Workload> sibling = with_other_16_bit_type(problem)) add(*sibling);
  if (problem.epilogue != Epilogue{}) add(without_epilogue(problem));
  if (problem.order != SumOrder::any) add(in_any_order(problem));  // the caller drops those of another order
  // Products nearby have another epilogue, or copy an operand in another way.
  std::erase_if(configs, [&](const KernelConfig& config) {
    return !is_legal(config, traits_of(problem, with_repacks({}, config, problem)), arch);
  });
  return configs;
}

std::vector<Candidate> rows_of(const std::vector<KernelConfig>& ranked, const Workload& problem,
                               const DeviceInfo& device) {
  if (ranked.empty()) {
    const bool is_limited = leaves_out_sms(problem.sm_limit, device.sm_count);
    if (!is_limited) throw no_kernel(problem, device.arch);
    throw Error(ErrorCode::not_supported, "no kernel computes " + to_string(problem) + " on " + device.arch +
                                              " within the limit of " + std::to_string(problem.sm_limit) + " SMs");
  }
  std::vector<Candidate> rows;
  for (const KernelConfig& config : ranked) {
    rows.push_back({.config = config,
                    .launch = default_launch(config, problem, device),
                    .predicted_us = predict_us(config, problem, device)});
  }
  return rows;
}

/// `configs` without those whose usual launch breaks a rule of `problem`.
std::vector<KernelConfig> permitted(std::vector<KernelConfig> configs, const Workload& problem,
                                    const DeviceInfo& device) {
  if (problem.order == SumOrder::any && problem.sm_limit == 0) return configs;  // saves thousands of predictions
  const RuledGpu gpu{arch_limits(device.arch), device.sm_count};
  std::erase_if(configs, [&](const KernelConfig& config) {
    return !is_permitted(config, default_launch(config, problem, device), problem, gpu);
  });
  return configs;
}

/// The configs, best predicted first, by the way in which they read operands: as they are, by threads of family wgmma,
/// and repacked. For rows that are not aligned the model errs by more between the ways than within one. Left out are
/// ways that no config takes, and those that are beyond any such error: CUDA cores, where tensor cores need a copy.
std::vector<std::vector<KernelConfig>> by_way(const std::vector<KernelConfig>& configs, const Workload& problem,
                                              const DeviceInfo& device) {
  constexpr double kHopeless = 16;  // times the best
  std::vector<std::vector<KernelConfig>> ways(3);
  for (const KernelConfig& config : configs) {
    ways[repacks(with_repacks({}, config, problem)) ? 2 : loads_by_threads(config) ? 1 : 0].push_back(config);
  }
  const double best_us = configs.empty() ? 0 : predict_us(configs.front(), problem, device);
  std::erase_if(ways, [&](const std::vector<KernelConfig>& way) {
    return way.empty() || predict_us(way.front(), problem, device) > kHopeless * best_us;
  });
  return ways;
}

void take(Candidate& candidate, const Workload& problem, BuildResult& result, Engine& engine) {
  if (!result.cubin) {
    const bool is_late = result.failure == kLateBuild;
    reject(candidate, Stage::build, is_late ? std::string(kNoTimeLeft) : "compile error: " + result.failure);
    return;
  }
  if (!result.from_cache) ++engine.compiled;
  candidate.from_cache = result.from_cache;
  candidate.cubin = std::make_shared<const Cubin>(std::move(*result.cubin));
  if (const int bytes = candidate.cubin->spill_bytes; bytes > most_spill_bytes(problem)) {
    reject(candidate, Stage::build, "spills: " + std::to_string(bytes) + " bytes");
  }
}

}  // namespace

std::string_view to_string(Stage stage) { return kStageWords[static_cast<std::size_t>(stage)]; }

Stage parse_stage(std::string_view text) {
  const auto* found = std::ranges::find(kStageWords, text);
  if (found == kStageWords.end()) throw Error(ErrorCode::invalid_argument, "unknown stage: " + std::string(text));
  return static_cast<Stage>(found - kStageWords.begin());
}

std::string_view kind_of(std::string_view reason) { return reason.substr(0, reason.find(':')); }

bool is_worth_remembering(std::string_view reason) {
  const std::string_view kind = kind_of(reason);
  return kind == "wrong" || kind == "stray write" || kind == "hung" || kind == "faulted" || kind == "ended its process";
}

void reject(Candidate& c, Stage stage, std::string reason) {
  c.stage = stage;
  c.reason = std::move(reason);
  log(LogLevel::debug, "rejected " + to_string(c.config) + " at " + std::string(to_string(stage)) + ": " + c.reason);
}

void remember(Engine& engine, std::span<const Candidate> rows, const Candidate& ended, const Workload& problem,
              const Environment& where) {
  if (!is_worth_remembering(ended.reason)) return;
  const std::string name = to_string(ended.config);
  for (const Candidate& row : rows) {
    if (&row != &ended && row.same_as != name) continue;
    engine.rejections.add({.identity = row.identity,
                           .config = to_string(row.config),
                           .problem = to_string(problem),
                           .stage = std::string(to_string(ended.stage)),
                           .reason = ended.reason,
                           .environment = where});
  }
}

IsAffordable affordable_by(const Engine& engine, const Workload& problem) {
  const std::size_t most_bytes = workspace_cap(problem.hints.workspace, engine.workspace.cap_bytes());
  return [&engine, problem, most_bytes](const KernelConfig& config, const LaunchConfig& launch) {
    return engine.workspace_of(config, launch, problem).total_bytes() <= most_bytes;
  };
}

std::vector<Candidate> pick_candidates(const Workload& problem, const DeviceInfo& device, int count,
                                       const Database* database, const GpuQuery& query,
                                       const IsAffordable& is_affordable) {
  const ArchLimits& arch = arch_limits(device.arch);
  std::vector<KernelConfig> chosen;
  const auto add = [&](const std::vector<KernelConfig>& configs, int most) {
    for (const KernelConfig& config : configs) {
      if (std::ssize(chosen) >= most) return;
      if (std::ranges::find(chosen, config) == chosen.end()) chosen.push_back(config);
    }
  };
  const auto affordable = [&](std::vector<KernelConfig> configs) {
    std::erase_if(configs, [&](const KernelConfig& config) {
      return is_affordable && !is_affordable(config, default_launch(config, problem, device));
    });
    return permitted(std::move(configs), problem, device);
  };
  // The winners of the nearest classes come first: they were measured. A quarter of the places goes to anchors, in case
  // the model is wrong. A sixth goes to kernels that save energy, where the power cap may set the clock.
  if (database != nullptr) add(affordable(winners_nearby(problem, *database, query, arch)), std::max(count / 4, 1));
  const auto ways = by_way(rank(affordable(anchors(problem, arch)), problem, device), problem, device);
  for (const std::vector<KernelConfig>& way : ways) {
    add(way, static_cast<int>(std::ssize(chosen)) + count / (ways.size() == 1 ? 4 : 8));
  }
  const std::vector<KernelConfig> all = affordable(candidates(problem, arch));
  add(frugal(all, problem, device, count / 6), static_cast<int>(std::ssize(chosen)) + count / 6);
  add(shortlist(all, problem, device, count), count);
  return rows_of(rank(std::move(chosen), problem, device), problem, device);
}

std::vector<Candidate> candidates_if_any(const Workload& problem, const DeviceInfo& device, int count) {
  try {
    return pick_candidates(problem, device, count);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_supported) throw;
    return {};
  }
}

void put_first(std::vector<Candidate>& rows, const KernelConfig& config, const Workload& problem,
               const DeviceInfo& device) {
  auto found = std::ranges::find(rows, config, &Candidate::config);
  if (found == rows.end()) {
    if (!rows.empty()) rows.pop_back();
    rows.push_back(rows_of({config}, problem, device).front());
    found = rows.end() - 1;
  }
  std::rotate(rows.begin(), found, found + 1);
}

std::vector<Candidate> all_candidates(const Workload& problem, const DeviceInfo& device) {
  const std::vector<KernelConfig> all = candidates(problem, arch_limits(device.arch));
  return rows_of(rank(permitted(all, problem, device), problem, device), problem, device);
}

bool build_candidates(std::span<Candidate> candidates, const Workload& problem, const Environment& where,
                      Engine& engine, int jobs, const std::function<bool()>& is_cancelled, const BuildLimit& limit) {
  std::vector<Candidate*> rows;
  std::vector<KernelSource> sources;
  for (Candidate& c : candidates) {
    if (!c.is_alive()) continue;
    KernelSource source = render(c.config, traits_of(problem, c.launch), where.arch, engine.bundle);
    c.identity = source.identity.hex();
    reject_remembered(std::span(&c, 1), where, engine);
    if (!c.is_alive()) continue;
    rows.push_back(&c);
    sources.push_back(std::move(source));
  }
  if (rows.empty()) return true;
  sources.insert(sources.begin() + 1, limit.also.begin(), limit.also.end());
  const auto goes_on = [&](std::size_t, const BuildResult&) { return !is_cancelled || !is_cancelled(); };
  std::vector<BuildResult> results = engine.builder.build_all(sources, jobs > 0 ? jobs : default_compile_jobs(),
                                                              goes_on, {Reuse::loaded_toolchain, limit.deadline});
  const auto also = std::span(results).subspan(1, limit.also.size());
  const bool has_also = std::ranges::none_of(also, [](const BuildResult& r) { return r.failure == kLateBuild; });
  results.erase(results.begin() + 1, results.begin() + 1 + std::ssize(limit.also));
  for (std::size_t i = 0; i < rows.size(); ++i) take(*rows[i], problem, results[i], engine);
  return has_also;
}

void reject_remembered(std::span<Candidate> candidates, const Environment& where, const Engine& engine) {
  for (Candidate& c : candidates) {
    if (!c.is_alive()) continue;
    const std::optional<RejectionRecord> known = engine.rejections.find(c.identity, where);
    if (known) reject(c, parse_stage(known->stage), "remembered: " + known->reason + ", on " + known->problem);
  }
}

void merge_twins(std::span<Candidate> candidates, const Workload& problem) {
  using Launched = std::pair<Sha256, LaunchShape>;  // the machine code and how it is launched
  std::map<Launched, std::vector<Candidate*>> groups;
  for (Candidate& c : candidates) {
    if (!c.is_alive() || !c.cubin) continue;
    const std::optional<Sha256> code = code_digest(c.cubin->image);
    if (!code) continue;
    groups[{*code, launch_shape(c.config, traits_of(problem, c.launch))}].push_back(&c);
  }
  for (auto& [launched, twins] : groups) {
    const auto name = [](const Candidate* c) { return to_string(c->config); };
    const Candidate* first = *std::ranges::min_element(twins, {}, name);
    for (Candidate* c : twins) {
      if (c != first) c->same_as = name(first);
    }
  }
}

}  // namespace hotgemm
