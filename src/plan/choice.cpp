#include "plan/choice.hpp"

#include "config/class_key.hpp"
#include "config/families.hpp"
#include "config/launch_shape.hpp"
#include "config/max_size.hpp"
#include "config/permitted.hpp"
#include "config/repack.hpp"
#include "config/sm_limit.hpp"
#include "config/sum_order.hpp"
#include "config/traits.hpp"
#include "config/work.hpp"
#include "plan/candidates.hpp"
#include "plan/model.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <limits>
#include <set>
#include <span>
#include <utility>

namespace hotgemm {
namespace {

constexpr std::size_t kNeighbours = 8;
/// The distance of the farthest record that counts: a factor of four in one size.
constexpr double kFarthest = 2.0;
/// The same for single products on Hopper: a factor of 2.8. Of 18 in FP8 two took a record that was farther away, and
/// one of these ran in 20.7 µs instead of 15.5.
constexpr double kFarthestOnHopper = 1.5;
/// The same for those of 16 bits, to which the model is fitted: a factor of 1.23. 66 drawn ones took 2.5 % longer by
/// records up to 2.0 away than by the model alone (docs/notebook/search.md, 21).
constexpr double kFarthestIfFitted = 0.3;
constexpr double kShortUs = 60;  // below it the start of a kernel counts, and power seldom binds
/// The most by which a near record's pick may decline, relative to the best anchor, from its own problem to another. Of
/// drawn short problems, the seven with a decline beyond 1.1 ran at 0.84 of their tuned speed in the mean. On long
/// problems power binds, and the model's times do not consider it: picks that declined by 1.1 to 1.15 ran at 0.98.
constexpr double kMostDecline = 1.15, kMostDeclineOfShort = 1.1;

/// The time of a config that was not measured relative to the pick of a near record, and of the class's own record, for
/// which the model expects as much.
constexpr double kUnmeasuredRegret = 1.02, kEstimateRegret = 1.03;
/// The least time of another config relative to the pick of the class's own record, which was raced against others.
constexpr double kLossToTuned = 1.01;

/// The name of a GPU that no record names.
constexpr const char* kUnknownGpu = "a GPU without records";

/// True if a programmatic launch of `launch` saves time behind a foreign kernel: there is a kernel of ours ahead, which
/// repacks, or the sum of the parts of k, which the next kernel need not wait for. Other programmatic launches take
/// 0.2 to 0.5 µs longer than ordinary ones (docs/notebook/search.md, 9).
bool gains_if_programmatic(const LaunchConfig& launch) { return repacks(launch) || launch.splits > 1; }

std::vector<Choice> from_predictions(const std::vector<Prediction>& predictions, const Workload& problem,
                                     const DeviceInfo& device) {
  std::vector<Choice> choices;
  for (const auto& [config, us] : predictions) {
    LaunchConfig launch = default_launch(config, problem, device);
    launch.programmatic = family_of(config).waits_for_predecessor && us < kProgrammaticBelowUs &&
                          problem.sm_limit == 0 && gains_if_programmatic(launch);
    choices.push_back({.config = config, .launch = launch});
  }
  return choices;
}

/// The time that `config` is expected to take in the mean of the class of `problem`, whose m is the largest one. Where
/// A is stored transposed, m is the length of its rows. In problems whose rows begin inside sectors of the cache other
/// configs win by 10 to 25 %; these problems count for a quarter, because sizes are mostly multiples of 64.
double class_us(const KernelConfig& config, const Workload& problem, const DeviceInfo& device) {
  constexpr double kInside = 0.25;
  constexpr int kRowAlignment = 16;
  const double us = predict_us(config, problem, device);
  Workload inside = problem;
  inside.m -= kRowAlignment / size_bytes(problem.types.a);
  if (problem.op_a != Op::t || inside.m <= 0 || class_m(inside.m) != problem.m) return us;
  return (1 - kInside) * us + kInside * predict_us(config, inside, device);
}

void sort_by_time(std::vector<Prediction>& predictions) { std::ranges::stable_sort(predictions, {}, &Prediction::us); }

/// A problem, and the product by whose times its kernels are chosen: what an epilogue adds is too small and too coarse
/// to choose by, but among choices for a long problem (rank_fused).
struct Asked {
  Workload problem;
  Workload product;  // measured_product(problem), or the bare one
};
Asked measured(const Workload& problem) { return {problem, measured_product(problem)}; }

/// The anchors that compute the problem, by their times for the product.
std::vector<Prediction> predicted_anchors(const Asked& asked, const DeviceInfo& device) {
  std::vector<Prediction> predictions;
  for (const KernelConfig& config : anchors(asked.problem, arch_limits(device.arch))) {
    predictions.push_back({config, class_us(config, asked.product, device)});
  }
  sort_by_time(predictions);
  return predictions;
}

/// `predictions`, which are sorted, with the variants of the best of them, and then with the variants of the best of
/// all. The result is sorted.
std::vector<Prediction> refined(std::vector<Prediction> predictions, const Asked& asked, const DeviceInfo& device) {
  constexpr int kRounds = 2;
  constexpr std::size_t kBest = 6;
  const ArchLimits& arch = arch_limits(device.arch);
  const auto is_known = [&](const KernelConfig& config) {
    return std::ranges::find(predictions, config, &Prediction::config) != predictions.end();
  };
  for (int round = 0; round < kRounds; ++round) {
    std::vector<KernelConfig> best;
    for (const Prediction& p : std::span(predictions).first(std::min(kBest, predictions.size())))
      best.push_back(p.config);
    for (const KernelConfig& config : best) {
      for (KernelConfig& variant : variants(config, asked.problem, arch)) {
        if (is_known(variant)) continue;
        const double us = class_us(variant, asked.product, device);
        predictions.push_back({std::move(variant), us});
      }
    }
    sort_by_time(predictions);
  }
  return predictions;
}

/// The least time of `predictions`; infinite if there are none.
double least_us(const std::vector<Prediction>& predictions) {
  return predictions.empty() ? std::numeric_limits<double>::infinity() : predictions.front().us;
}

/// True if the model expects the pick of `record` to do about as well on `product`, whose best anchor takes
/// `problem_us`, as on its own. The model may underrate a config on both, but it knows where tiles leave a wave half
/// empty on one of them.
bool holds_for(const TuningRecord& record, const Workload& product, double problem_us, const DeviceInfo& device) {
  const double here = class_us(record.config, product, device) / problem_us;
  const double there =
      class_us(record.config, record.problem, device) / least_us(predicted_anchors(measured(record.problem), device));
  return here <= (problem_us < kShortUs ? kMostDeclineOfShort : kMostDecline) * there;
}

double farthest_for(const Workload& problem, const DeviceInfo& device) {
  const bool has_16_bits = size_bytes(multiplied_type(problem.types.a, problem.types.compute)) == 2;
  if (!is_one_product(problem) || arch_limits(device.arch).sm != 90) return kFarthest;
  return has_16_bits ? kFarthestIfFitted : kFarthestOnHopper;
}

/// The records nearest to `problem` and at most `farthest` away, those of its 16-bit sibling among them, nearest first.
std::vector<Neighbour> neighbours(const Workload& problem, double farthest, const Database& database,
                                  const GpuQuery& query) {
  std::vector<Neighbour> near = database.nearest(problem, query, kNeighbours, farthest);
  if (const std::optional<Workload> sibling = with_other_16_bit_type(problem)) {
    std::ranges::move(database.nearest(*sibling, query, kNeighbours, farthest), std::back_inserter(near));
  }
  std::ranges::stable_sort(near, {}, &Neighbour::distance);
  if (near.size() > kNeighbours) near.resize(kNeighbours);
  return near;
}

/// True if groups fill so many tiles of `config` below each other that the last one, which is half empty in the mean,
/// counts for little. Then they are as one product.
bool suits_groups(const KernelConfig& config, const Workload& problem, const DeviceInfo& device) {
  constexpr std::int64_t kLeastTiles = 4;
  const GemmTraits traits = traits_of(problem, {});
  return is_legal(config, traits, arch_limits(device.arch)) &&
         with_uniform_groups(problem).m >= kLeastTiles * launch_shape(config, traits).tile_m;
}

/// The product of all groups together.
Workload without_groups(Workload problem) {
  if (problem.group_kind == GroupKind::masked_rows) problem.m *= problem.groups;
  problem.groups = 0;
  problem.group_kind = GroupKind::none;
  return problem;
}

/// The configs of the records nearest to `like`, best predicted for the problem first. A config in several records
/// counts once, from the nearest record that holds. `problem_us` is the time of the best anchor.
std::vector<Choice> from_neighbours(const Workload& like, const Asked& asked, double problem_us,
                                    const DeviceInfo& device, const Database& database, const GpuQuery& query) {
  const Workload& problem = asked.problem;
  std::vector<Choice> choices;
  for (const Neighbour& neighbour : neighbours(like, farthest_for(problem, device), database, query)) {
    const TuningRecord& record = neighbour.found.record;
    const KernelConfig config =
        with_room_for_scales(record.config, traits_of(problem, record.launch), arch_limits(device.arch));
    if (std::ranges::any_of(choices, [&](const Choice& c) { return c.config == config; })) continue;
    if (problem.groups != 0 && !suits_groups(config, problem, device)) continue;
    if (!pays_for_cluster(config, problem)) continue;
    LaunchConfig launch = with_repacks(record.launch, config, problem);
    // The record's product may have copied an operand in another way.
    if (!is_legal(config, traits_of(problem, launch), arch_limits(device.arch))) continue;
    if (!holds_for(record, asked.product, problem_us, device)) continue;
    launch.splits = default_launch(config, problem, device).splits;  // other sizes, other parts
    choices.push_back({config, launch, Origin::nearest, neighbour.distance});
  }
  std::ranges::stable_sort(choices, {}, [&](const Choice& c) { return class_us(c.config, asked.product, device); });
  return choices;
}

/// Ranks choices for a long problem with an epilogue. Records tell how fast the product's kernels are: a recorded pick
/// is taken for as fast as the best choice, and other configs for slower than the pick of the class's own record, which
/// has been measured. The model tells what the epilogue adds to each; of a short problem it is too coarse.
void rank_fused(std::vector<Choice>& choices, const Asked& asked, const DeviceInfo& device) {
  std::vector<double> product_us;
  for (const Choice& c : choices) product_us.push_back(predict_us(c.config, asked.product, device));
  const double best_us = std::ranges::min(product_us);
  if (best_us < kShortUs) return;
  const bool is_tuned = choices.front().origin == Origin::tuned;
  const double regret = is_tuned ? kEstimateRegret : kUnmeasuredRegret;
  const auto measured_us = [&](Origin origin, double us) {
    if (origin == Origin::tuned) return best_us;
    const double expected_us = origin == Origin::nearest ? std::min(us, best_us * regret) : us * regret;
    return is_tuned ? std::max(expected_us, best_us * kLossToTuned) : expected_us;
  };
  std::vector<std::pair<double, Choice>> ranked;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const double added = predict_us(choices[i].config, asked.problem, device) - product_us[i];
    ranked.emplace_back(measured_us(choices[i].origin, product_us[i]) + added, std::move(choices[i]));
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<double, Choice>::first);
  choices.clear();
  for (auto& [us, choice] : ranked) choices.push_back(std::move(choice));
}

int sm_count_of(const GpuQuery& query, const DeviceInfo& nominal) {
  return query.environment.sm_count > 0 ? query.environment.sm_count : nominal.sm_count;
}

/// The choices that stay within the SM limit of `problem`. Throws if there are none.
std::vector<Choice> within_sm_limit(std::vector<Choice> choices, const Workload& problem, int sm_count) {
  const auto exceeds = [&](const Choice& c) { return !keeps_sm_limit(c.config, c.launch, problem, sm_count); };
  if (!std::ranges::all_of(choices, exceeds)) {
    std::erase_if(choices, exceeds);
    return choices;
  }
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const Choice& c : choices) {
    if (!c.launch.programmatic) least = std::min(least, blocks_under_limit(c.config, c.launch, problem));
  }
  throw Error(ErrorCode::not_supported, "no kernel for " + to_string(problem) + " stays within the limit of " +
                                            std::to_string(problem.sm_limit) + " SMs: a kernel has at least " +
                                            std::to_string(least) + " blocks, each of which may have an SM of its own");
}

}  // namespace

std::string_view to_string(Origin origin) {
  switch (origin) {
    case Origin::tuned: return "tuned";
    case Origin::nearest: return "nearest";
    case Origin::estimated: return "estimated";
    case Origin::pinned: return "pinned";
  }
  return "?";
}

std::string to_string(const Choice& choice) {
  std::string text = to_string(choice.config) + " " + to_string(choice.launch) + ", ";
  text += to_string(choice.origin);
  if (choice.origin == Origin::nearest) {
    char distance[32];
    std::snprintf(distance, sizeof distance, " (%.2f)", choice.distance);
    text += distance;
  }
  return text;
}

std::optional<Found> find_record(const Workload& problem, const std::string& arch, const Database& database,
                                 const GpuQuery& query) {
  const RuledGpu gpu{arch_limits(arch), sm_count_of(query, nominal_device(arch))};
  const Workload unlimited = without_idle_limit(problem, gpu.sm_count);
  std::vector<Workload> classes{problem};
  for (const Workload& other : {unlimited, in_any_order(problem), in_any_order(unlimited)}) {
    if (std::ranges::find(classes, other) == classes.end()) classes.push_back(other);
  }
  for (std::size_t i = 0, own = classes.size(); i < own; ++i) {
    if (const std::optional<Workload> sibling = with_other_16_bit_type(classes[i])) classes.push_back(*sibling);
  }
  // A batch by pointers has the kernels of one with distances, which only find the matrices in another way.
  if (problem.batch_kind == BatchKind::pointers && problem.batch > 1) {
    for (std::size_t i = 0, own = classes.size(); i < own; ++i) {
      classes.push_back(classes[i]);
      classes.back().batch_kind = BatchKind::strided;
    }
  }
  for (const Workload& one : classes) {
    std::optional<Found> found = database.find(one, query);
    if (!found || !is_permitted(found->record.config, found->record.launch, problem, gpu)) continue;
    // Not every kernel of a batch with distances finds matrices at any address, and those are not copied.
    const KernelConfig& config = found->record.config;
    const LaunchConfig& launch = found->record.launch;
    const bool copies_the_same = with_repacks(launch, config, problem) == launch;
    if (one.batch_kind != problem.batch_kind &&
        (!copies_the_same || !is_legal(config, traits_of(problem, launch), arch_limits(arch))))
      continue;
    return found;
  }
  return std::nullopt;
}

namespace {

/// Records, and the GPU for which they choose.
struct Records {
  const DeviceInfo& device;
  const Database& database;
  const GpuQuery& query;

  std::vector<Choice> near(const Workload& like, const Asked& asked, double anchor_us) const {
    return from_neighbours(like, asked, anchor_us, device, database, query);
  }
};

/// The pick of the record of `like`, the asked product, and the same with a second buffer.
std::vector<Choice> from_own_record(const Workload& like, const Asked& asked, const Records& records) {
  const std::optional<Found> found = find_record(like, records.device.arch, records.database, records.query);
  if (!found) return {};
  const TuningRecord& record = found->record;
  const GemmTraits traits = traits_of(asked.problem, record.launch);
  std::vector<Choice> choices{{.config = with_room_for_scales(record.config, traits, arch_limits(records.device.arch)),
                               .launch = record.launch,
                               .origin = Origin::tuned,
                               .cublas_ratio = record.objective == Objective::speed ? record.cublas.default_ratio : 0}};
  // The ratio to cuBLAS is that of the product for both.
  if (const auto lean = with_second_buffer(choices.front().config, traits)) {
    choices.push_back(choices.front());
    choices.back().config = *lean;
    choices.back().origin = Origin::nearest;
  }
  return choices;
}

/// The picks of the records that are nearest in another order of sums, or of one large product.
std::vector<Choice> from_looser_records(const Asked& asked, double anchor_us, const Records& records) {
  std::vector<Choice> choices;
  if (asked.problem.order != SumOrder::any) {
    const Asked any{in_any_order(asked.problem), in_any_order(asked.product)};
    choices = records.near(any.product, any, least_us(predicted_anchors(any, records.device)));
  }
  // Large groups take the tiles of one large product, which has more records.
  if (choices.empty() && asked.problem.groups != 0) {
    choices = records.near(without_groups(asked.product), asked, anchor_us);
  }
  return choices;
}

}  // namespace

std::vector<Choice> choose(const Workload& asked, const std::string& arch, const Database& database,
                           const GpuQuery& query) {
  const DeviceInfo device = nominal_device(arch, query.environment.gpu);
  const int sm_count = sm_count_of(query, device);
  // All problems of a class get the same answer.
  const Workload problem = with_largest_sizes(without_idle_limit(asked, sm_count));
  const Records records{device, database, query};
  Asked by = measured(problem);
  std::vector<Prediction> predictions = predicted_anchors(by, device);
  std::vector<Choice> choices = from_own_record(asked, by, records);
  if (choices.empty()) choices = records.near(by.product, by, least_us(predictions));
  // Records of bare products say how fast kernels are, if there are none of products with scales of blocks.
  const bool is_by_bare = choices.empty() && by.product.epilogue != Epilogue{};
  if (is_by_bare) {
    by.product = without_epilogue(problem);
    predictions = predicted_anchors(by, device);
    choices = from_own_record(without_epilogue(asked), by, records);
    if (choices.empty()) choices = records.near(by.product, by, least_us(predictions));
  }
  if (choices.empty()) choices = from_looser_records(by, least_us(predictions), records);
  // Beside a record these choices are for kernels that spill, and for long epilogues; an SM limit leaves few of them.
  // Two matrices of an epilogue need registers, which are known to suffice for anchors.
  const bool is_refined = choices.empty() && problem.sm_limit == 0 && problem.epilogue.matrices_read() < 2;
  const std::vector<Prediction> estimated = is_refined ? refined(predictions, by, device) : predictions;
  const std::size_t recorded = choices.size();  // those that follow are distinct
  for (Choice& choice : from_predictions(estimated, problem, device)) {
    const auto is_same = [&](const Choice& c) { return c.config == choice.config; };
    if (std::ranges::none_of(std::span(choices).first(recorded), is_same)) choices.push_back(std::move(choice));
  }
  // The measured product was recorded, maybe in another order of sums. A fused kernel needs more registers.
  std::erase_if(choices, [&](const Choice& c) {
    return !keeps_order(problem.order, problem.types, c.config, c.launch, arch_limits(arch)) ||
           (problem.epilogue != Epilogue{} && !is_legal(c.config, traits_of(problem, c.launch), arch_limits(arch)));
  });
  if (choices.empty()) throw no_kernel(asked, arch);
  std::erase_if(choices, [&](const Choice& c) {
    return !launch_shape(c.config, traits_of(problem, c.launch))
                .fits(problem.m, problem.n, problem.k, problem.batch, problem.groups);
  });
  if (choices.empty()) {
    throw Error(ErrorCode::not_supported, to_string(asked) + " is too large for every kernel: a size is above " +
                                              std::to_string(kMaxSize) +
                                              ", or there are more tiles than a grid has blocks");
  }
  choices = within_sm_limit(std::move(choices), problem, sm_count);
  if (problem.epilogue != by.product.epilogue) rank_fused(choices, by, device);
  for (Choice& choice : choices) {  // the class itself has no record
    if (is_by_bare && choice.origin == Origin::tuned) choice.origin = Origin::nearest;
    if (is_by_bare) choice.cublas_ratio = 0;
  }
  return choices;
}

std::vector<Environment> known_environments(const std::string& arch, const Database& database) {
  const DeviceInfo nominal = nominal_device(arch);
  using Gpu = std::pair<std::string, int>;
  using Software = std::pair<std::string, std::string>;  // the driver and the toolchain
  std::set<Gpu> gpus;
  std::set<Software> software;
  std::set<std::string> drivers;
  for (const Found& found : database.all()) {
    const Environment& e = found.record.environment;
    if (e.arch != arch) continue;
    gpus.emplace(e.gpu, e.sm_count);
    software.emplace(e.driver, e.toolchain);
    drivers.insert(e.driver);
  }
  // The answer depends on the software only where records differ in it. Of other software all records are stale, of
  // unknown software none is: the order of records is the same.
  const bool has_one_software = software.size() == 1;
  if (drivers.size() > 1) {
    for (const std::string& driver : drivers) software.emplace(driver, "");  // before NVRTC is loaded
  }
  if (has_one_software) software.clear();
  software.emplace("", "");
  std::vector<Gpu> ordered(gpus.begin(), gpus.end());
  for (const std::string& name : named_gpus(arch)) {
    const bool has_records = std::ranges::any_of(gpus, [&](const Gpu& gpu) { return gpu.first == name; });
    if (!has_records) ordered.emplace_back(name, nominal.sm_count);
  }
  ordered.emplace_back(kUnknownGpu, nominal.sm_count);
  std::vector<Environment> environments;
  for (const auto& [driver, toolchain] : std::vector(software.rbegin(), software.rend())) {  // newest first
    for (const auto& [gpu, sm_count] : ordered) environments.push_back({gpu, arch, sm_count, driver, toolchain});
  }
  return environments;
}

std::vector<Environment> environments_for(const Problem& problem, std::vector<Environment> known) {
  if (problem.sm_limit == 0) return known;
  for (const int sm_count : {problem.sm_limit, problem.sm_limit + 1}) {
    known.push_back(known.back());  // the GPU without records
    known.back().sm_count = sm_count;
  }
  return known;
}

}  // namespace hotgemm
