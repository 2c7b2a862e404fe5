#include "tune/search.hpp"

#include "base/log.hpp"
#include "base/moment.hpp"
#include "base/profiler_range.hpp"
#include "base/statistics.hpp"
#include "config/group_sizes.hpp"
#include "config/work.hpp"
#include "gpu/code_digest.hpp"
#include "plan/halving.hpp"
#include "plan/power_model.hpp"
#include "tune/bench.hpp"
#include "tune/search_failure.hpp"
#include "tune/search_races.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <string>
#include <utility>

namespace hotgemm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kFirstRounds = 2;        // while there are many candidates; one round would be too noisy
constexpr int kRasterRounds = 5;       // fewer samples change no raster: rasters differ by less than the noise of one
constexpr std::size_t kFinalists = 3;  // first: configs whose rasters are tried; later: configs with rasters
constexpr unsigned kCheckSeed = 0xc4ec, kConfirmSeed = 0x5eed;
constexpr double kVerdictS = 1;               // for which the leader runs alone, to see what limits its clock
constexpr double kBlockLoadS = 0.5;           // work before the first block; the races before it have warmed the GPU
constexpr double kLeastBlocksS = 3;           // a final over blocks in less time says nothing
constexpr std::size_t kRastersPerLeader = 2;  // in the last blocks: the default one and the best other one
constexpr double kRasterRaceS = 1;            // for the rounds that find the best other raster

class Search : SearchRaces {
 public:
  using SearchRaces::SearchRaces;

  TuneOutcome run() {
    reject_remembered(rows(), environment(), engine_);  // other problems may have added rejections since the build
    for (const Candidate& c : rows()) {
      if (!c.reason.empty()) tell_rejected(c);
    }
    merge_twins(rows(), problem_);
    if (!alive().empty() && !is_late(options_.deadline) && !is_cancelled()) {
      measurer_.begin(problem_, {options_.scratch_bytes, options_.seed, options_.with_baseline, options_.deadline});
      check();
      measure();
      outcome_.baseline = measurer_.baseline();
      if (options_.cublas != CublasScope::none && winner_) compare_with_cublas();
      measurer_.end();
    }
    if (!winner_) fail_without_winner();
    vet();
    outcome_.baseline_us = median(winner_->baseline_us);
    outcome_.ratio = median(paired_ratios(winner_->baseline_us, winner_->us));
    sort_rows(winner_->entry);
    if (options_.is_limited) outcome_.is_partial = true;
    record();
    return std::move(outcome_);
  }

 private:
  void check() {
    const bool has_deadline = options_.deadline != Clock::time_point::max();
    const std::vector<RowLaunch> entries = alive();
    if (has_deadline) {
      const Clock::time_point now = Clock::now(), until = now + (options_.deadline - now) / 2;  // the rest is for races
      for (const RowLaunch& entry : entries) {
        if (is_late(until) || is_cancelled()) {
          end_row(row(entry), Stage::check, std::string(kNoTimeLeft));
        } else {
          check(std::span(&entry, 1));
        }
      }
    } else {
      check(entries);
    }
    outcome_.measured = static_cast<int>(alive().size());
  }

  void check(std::span<const RowLaunch> entries) {
    const std::vector<Trial> trials = trials_of({entries.begin(), entries.end()});
    const std::vector<Verdict> verdicts = measurer_.check(trials, static_cast<unsigned>(options_.seed) ^ kCheckSeed);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (!verdicts[i].is_sound()) end_row(row(entries[i]), verdicts[i].stage, verdicts[i].reason);
    }
  }

  static bool is_late(Clock::time_point deadline) { return Clock::now() >= deadline; }

  void measure() {
    std::vector<RowLaunch> entries = alive();
    if (entries.empty()) return;
    start_ = Clock::now();
    mode_ = rows()[entries.front().candidate].predicted_us < kGraphBelowUs ? TimingMode::graph : TimingMode::eager;
    entries = halve(std::move(entries), kFinalists, kFirstRounds, after(0.5));
    choose_measure(entries);
    if (is_for_energy() && is_cancelled()) return;  // rounds do not tell energy
    if (measure_ == Measure::sustained) {
      const std::size_t count = block_plan(alive().size()).contenders;
      const PowerCost cost = is_for_energy() && !is_capped_ ? free_joules : capped_time;
      entries = entries_for_blocks(rows(), entries, alive(), first_us_, problem_, count, cost);
    } else if (!is_cancelled()) {
      if (is_modelled_) entries = entries_for_model(rows(), alive(), first_us_, problem_, kFinalists);
      entries = in_best_rasters(entries);
    }
    decide(std::move(entries));
  }

  /// Blocks decide if the power cap limits the leader's clock, and always for energy. Without blocks the power model
  /// decides where it holds, because rounds flatter kernels that draw much power; the pick is then provisional.
  void choose_measure(const std::vector<RowLaunch>& entries) {
    if (entries.empty()) return;
    if (is_for_energy()) {
      measure_ = Measure::sustained;
      if (!is_cancelled()) is_capped_ = runs_at_the_cap(entries.front());
      return;
    }
    if (mode_ == TimingMode::graph) return;
    // The time of a launch with all operations: masked groups are not always full.
    const double us = row(entries.front()).timing.median_us * flops(problem_) / timed_flops(problem_);
    if (!may_reach_power_cap(problem_, us, measurer_.gpu().info)) return;
    const bool is_short_of_time = seconds_left() < kLeastBlocksS;
    if (!options_.with_blocks || is_short_of_time || is_cancelled()) {
      is_provisional_ = true;
      is_modelled_ = !is_cancelled() && is_modelled(problem_, us, measurer_.gpu().info);
      return;
    }
    if (runs_at_the_cap(entries.front())) measure_ = Measure::sustained;
  }

  /// True if the power cap limits the clock while `entry` runs alone. Throws if energy is asked for and NVML does not
  /// tell the power.
  bool runs_at_the_cap(const RowLaunch& entry) {
    RaceOptions options = race_options(1, Clock::time_point::max());
    options.blocks = BlockLengths{.settle_s = 0, .counted_s = kVerdictS};
    const RaceResult result = measurer_.race(trials_of({entry}), options, false);
    if (result.blocks.empty()) return false;
    if (is_for_energy() && result.failures[0].empty() && !(result.blocks[0].clock.watts > 0)) throw_unknown_power();
    return verdict_of(result.blocks[0].clock) == PowerVerdict::binds;
  }

  [[noreturn]] void throw_unknown_power() const {
    throw Error(ErrorCode::not_supported,
                "cannot tune " + to_string(problem_) + " for energy: NVML does not tell the power that the GPU draws");
  }

  Clock::time_point after(double share) const {
    return moment_after(start_, share * std::min(options_.budget_s, seconds_between(start_, options_.deadline)));
  }
  double seconds_left() const { return seconds_between(Clock::now(), after(1.0)); }

  /// Races `entries` until few are left or the time is up. Returns the survivors, fastest first. A race of less than
  /// `least_rounds` is ignored. Without any other race, the first `front` entries are returned.
  std::vector<RowLaunch> halve(std::vector<RowLaunch> entries, std::size_t front, int rounds,
                               Clock::time_point deadline, int least_rounds = 1) {
    while (entries.size() > 1 && !is_cancelled()) {
      const bool is_last = entries.size() <= 2 * kFinalists;
      const RaceOptions options = race_options(rounds, deadline);
      const RaceResult result = race(entries, options, false);
      const std::vector<RankedContender> placed = rank_contenders(costs(entries, result.us));
      if (placed.empty() || most_samples(result) < least_rounds) break;  // there was no time left: keep the order
      front = kFinalists;
      const std::size_t count = survivors(placed, kFinalists, kAbandonRatio);
      entries = in_order(entries, std::span(placed).first(is_last ? std::min(count, kFinalists) : count));
      tell_leader(entries, result.us[placed.front().contender], {});
      if (is_last || Clock::now() >= deadline) break;
      rounds = std::min(2 * rounds, std::max(options_.rounds, 1));
    }
    if (entries.size() > front) entries.resize(front);
    return entries;
  }

  /// The times us[entry][round] of a race in rounds, as the measure that decides weighs them.
  std::vector<std::vector<double>> costs(const std::vector<RowLaunch>& entries,
                                         const std::vector<std::vector<double>>& us) {
    return is_modelled_ ? capped_times(rows(), entries, us, problem_) : us;
  }

  /// Rasters are not raced where power may bind and no kernel runs alone. A raster that reads more from DRAM takes as
  /// long as others in rounds, and 3 to 7 % longer alone (docs/notebook/search.md, 17).
  std::vector<RowLaunch> in_best_rasters(const std::vector<RowLaunch>& entries) {
    if (!options_.with_rasters || is_provisional_) return with_programmatic(rows(), entries, problem_, sm_count());
    return halve(with_rasters(rows(), entries, problem_, sm_count()), entries.size(), kRasterRounds, after(0.75),
                 kRasterRounds);
  }

  /// The picked entry, with the samples for its timing and for the ratio to cuBLAS.
  struct Winner {
    RowLaunch entry;
    std::vector<double> us;
    std::vector<double> baseline_us;
    double joules = 0;  // of a launch; 0 if unknown
  };

  /// Picks the winner. Its output is checked again, on other data, after thousands of launches.
  void decide(std::vector<RowLaunch> entries) {
    for (;;) {
      std::erase_if(entries, [&](const RowLaunch& e) { return !row(e).is_alive(); });
      if (entries.empty()) entries = fastest_alive();
      if (entries.empty()) return;
      std::optional<Winner> pick = measure_ == Measure::sustained ? block_winner(entries) : final_winner(entries);
      // If the final race rejected an entry, repeat it without that entry.
      if (!pick && has_rejected(entries)) continue;
      if (!pick) return;
      const std::vector<Trial> trial = trials_of({pick->entry});
      const Verdict verdict = measurer_.check(trial, static_cast<unsigned>(options_.seed) ^ kConfirmSeed).front();
      if (verdict.is_sound()) {
        winner_ = std::move(pick);
        return;
      }
      end_row(row(pick->entry), verdict.stage, verdict.reason);
    }
  }

  /// The fastest candidates that were timed. Used when all finalists were the same config and it was rejected.
  std::vector<RowLaunch> fastest_alive() {
    std::vector<RowLaunch> entries = alive();
    std::erase_if(entries, [&](const RowLaunch& e) { return row(e).timing.samples == 0; });
    std::ranges::stable_sort(entries, {}, [&](const RowLaunch& e) { return row(e).timing.median_us; });
    if (entries.size() > kFinalists) entries.resize(kFinalists);
    return entries;
  }

  /// Picks the winner by fresh samples, because the best of many noisy measurements looks better than it is. If there
  /// is no time for them, returns the best so far, if it was timed. Returns nothing if a race rejected an entry.
  std::optional<Winner> final_winner(const std::vector<RowLaunch>& entries) {
    std::vector<std::vector<double>> us(entries.size());
    std::vector<double> baseline_us;
    std::vector<RankedContender> placed;
    const RoundTally before = tally_;
    for (int i = 0; i < options_.final_races && !is_cancelled(); ++i) {
      if (i > 0 && Clock::now() >= after(1.0)) break;
      RaceOptions options = race_options(options_.rounds, after(1.0));
      options.abandon_ratio = 0;
      const RaceResult result = race(entries, options, options_.with_baseline);
      if (has_rejected(entries)) return std::nullopt;
      for (std::size_t e = 0; e < entries.size(); ++e) append(us[e], result.us[e]);
      if (result.us.size() > entries.size()) append(baseline_us, result.us.back());
      baseline_us.resize(us.front().size(), std::numeric_limits<double>::quiet_NaN());  // keeps the rounds aligned
      const std::vector<std::vector<double>> weighed = costs(entries, us);
      placed = rank_contenders(weighed);
      if (placed.empty()) break;
      tell_leader(in_order(entries, placed), us[placed.front().contender], baseline_us);
      if (is_decided(weighed, placed)) break;
    }
    if (placed.empty()) return untimed(entries.front());
    const std::size_t pick = pick_among_tied(rows(), entries, std::span(placed).first(tied(placed)));
    outcome_.is_partial = std::ssize(us[pick]) < options_.rounds;
    final_tally_ = {tally_.done - before.done, tally_.disturbed - before.disturbed};
    note_timing(entries[pick], us[pick], us[0]);
    return Winner{entries[pick], us[pick], baseline_us};
  }

  /// The winner if there was no time for the final: the best so far, if it was timed.
  std::optional<Winner> untimed(const RowLaunch& best) {
    if (is_for_energy()) {
      throw Error(ErrorCode::interrupted, "no block of a kernel for " + to_string(problem_) + " could be timed");
    }
    outcome_.is_partial = true;
    is_provisional_ = std::exchange(measure_, Measure::rounds) == Measure::sustained;
    if (row(best).timing.samples == 0) return std::nullopt;
    return Winner{best, {}, {}};
  }

  /// The final over blocks of at most `contenders` in the time that is left.
  BlockFinal block_plan(std::size_t contenders) const {
    return block_final(contenders, kRastersPerLeader, seconds_left());
  }

  /// Picks the winner by blocks: first the config, then its raster, on fresh samples. A raster wins only if it beats
  /// the default one of its config over blocks. Returns nothing if an entry was rejected.
  std::optional<Winner> block_winner(std::vector<RowLaunch> entries) {
    const BlockFinal plan = block_plan(entries.size());
    entries.resize(plan.contenders);
    std::optional<BlockStage> all = block_stage(entries, kBlockLoadS, false);
    if (!all) return std::nullopt;
    if (all->order.empty()) return untimed(entries.front());
    std::vector<RowLaunch> leaders = all->order;
    if (leaders.size() > plan.leaders) leaders.resize(plan.leaders);
    const Winner best{all->order.front(), all->winner_us, {}, all->joules};
    outcome_.is_partial = is_cancelled();
    if (outcome_.is_partial) return best;
    for (std::size_t i = 0; i < plan.leaders && i < all->order.size(); ++i) {
      if (const auto other = best_other_raster(leaders[i])) leaders.push_back(*other);
    }
    if (has_rejected(leaders)) return std::nullopt;
    const std::optional<BlockStage> last = block_stage(leaders, 0, options_.with_baseline);
    if (!last) return std::nullopt;
    outcome_.is_partial = last->order.empty();
    return outcome_.is_partial ? best : Winner{last->order.front(), last->winner_us, last->baseline_us, last->joules};
  }

  /// The fastest in rounds of the rasters of `leader`'s config, apart from its own; nothing if there were too few
  /// rounds. For energy it is never launched programmatically: blocks are chains, where such a launch gains too much.
  std::optional<RowLaunch> best_other_raster(const RowLaunch& leader) {
    const std::vector<RowLaunch> entries = with_rasters(rows(), std::span(&leader, 1), problem_, sm_count());
    if (entries.size() < 2 || is_cancelled()) return std::nullopt;
    const Clock::time_point end = moment_after(Clock::now(), kRasterRaceS);
    const RaceResult result = race(entries, race_options(options_.rounds, end), false);
    if (most_samples(result) < std::min(kRasterRounds, options_.rounds)) return std::nullopt;
    for (const RankedContender& p : rank_contenders(result.us)) {
      if (p.contender == 0 || (is_for_energy() && entries[p.contender].launch.programmatic)) continue;
      return entries[p.contender];
    }
    return std::nullopt;
  }

  /// A block of each entry.
  struct BlockStage {
    std::vector<RowLaunch> order;  ///< those that ran: the pick, then the others, the least cost first
    std::vector<double> winner_us;
    std::vector<double> baseline_us;
    double joules = 0;  ///< of a launch of the pick; 0 if unknown
  };

  /// Returns nothing if an entry was rejected.
  std::optional<BlockStage> block_stage(const std::vector<RowLaunch>& entries, double load_s, bool with_baseline) {
    RaceOptions options = race_options(1, Clock::time_point::max());
    options.blocks = choice_lengths();
    options.blocks->load_s = load_s;
    const RaceResult result = race(entries, options, with_baseline);
    if (has_rejected(entries)) return std::nullopt;
    std::vector<std::vector<double>> us = result.us;
    us.resize(entries.size());  // without the baseline
    std::vector<RankedContender> placed = rank_contenders(costs_of(options_.objective, us, result.blocks));
    if (placed.empty()) return BlockStage{};
    power_limit_w_ = static_cast<int>(std::lround(result.power_limit_w));
    const std::size_t pick = pick_among_tied(rows(), entries, std::span(placed).first(tied(placed)));
    const auto at = std::ranges::find(placed, pick, &RankedContender::contender);
    std::rotate(placed.begin(), at, at + 1);
    const double joules = median(costs_of(Objective::energy, us, result.blocks)[pick]);
    BlockStage stage{in_order(entries, placed), us[pick], {}, joules > 0 ? joules : 0};
    for (const std::vector<double>& one : us) fastest_us_ = std::fmin(fastest_us_, median(one));
    if (result.us.size() > us.size()) stage.baseline_us = result.us.back();
    note_timing(entries[pick], us[pick], us[0]);
    tell_leader(stage.order, stage.winner_us, stage.baseline_us);
    return stage;
  }

  static void append(std::vector<double>& to, const std::vector<double>& from) {
    to.insert(to.end(), from.begin(), from.end());
  }

  void compare_with_cublas() {
    if (outcome_.is_partial) {
      outcome_.cublas_failure = "the search ended early";
      return;
    }
    const Trial pick = trials_of({winner_->entry}).front();
    try {
      cublas_ = measurer_.compare_with_cublas(
          pick, {.mode = mode_, .measure = measure_, .objective = options_.objective, .scope = options_.cublas});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::not_supported) throw;
      outcome_.cublas_failure = error.what();
    }
  }

  /// Tells later runs which kernels have passed, twins included: they may be measured in the process of a user.
  void vet() {
    const Environment where = environment();
    std::set<std::string> passed;
    for (const Candidate& c : rows()) {
      if (c.is_alive() && c.timing.samples > 0) passed.insert(to_string(c.config));
    }
    for (const Candidate& c : rows()) {
      const bool is_vetted = passed.contains(c.same_as.empty() ? to_string(c.config) : c.same_as);
      if (is_vetted && c.cubin) engine_.vetted.add({kernel_digest(*c.cubin), where.gpu, where.driver});
    }
  }

  /// True if the deadline left out candidates.
  bool lacks_time() const {
    return options_.deadline != Clock::time_point::max() &&
           std::ranges::any_of(outcome_.candidates, [](const Candidate& c) { return c.reason == kNoTimeLeft; });
  }

  void record() {
    const Candidate& winner = rows().front();
    if (lacks_time()) outcome_.is_partial = true;
    const ProvisionalCause cause = provisional_cause();
    if (winner_->joules > 0) outcome_.of_fastest = fastest_us_ / median(winner_->us);
    Environment where = environment();
    if (!winner.cubin->toolchain.empty()) where.toolchain = winner.cubin->toolchain;
    outcome_.record = rounded({.problem = problem_,
                               .config = winner.config,
                               .launch = winner.launch,
                               .timing = winner.timing,
                               .environment = std::move(where),
                               .template_digest = engine_.template_digest(winner.config),
                               .code_digest = kernel_digest(*winner.cubin),
                               .measure = is_modelled_                     ? Measure::modelled
                                          : measure_ == Measure::sustained ? measure_
                                                                           : rounds_,
                               .is_provisional = cause != ProvisionalCause::none,
                               .cause = cause,
                               .power_limit_w = power_limit_w_,
                               .objective = options_.objective,
                               .joules = winner_->joules,
                               .cublas = cublas_});
    engine_.database.add(*outcome_.record);
  }

  ProvisionalCause provisional_cause() const {
    if (outcome_.is_partial) return ProvisionalCause::cut_short;
    if (tally_.is_disturbed() || final_tally_.is_disturbed()) {
      const RoundTally& worst = final_tally_.is_disturbed() ? final_tally_ : tally_;
      log(LogLevel::info, "other work on the GPU disturbed " + std::to_string(worst.disturbed) + " of " +
                              std::to_string(worst.done) + " rounds, so the record of " + to_string(problem_) +
                              " is provisional");
      return ProvisionalCause::disturbed;
    }
    return is_provisional_ ? ProvisionalCause::no_blocks : ProvisionalCause::none;
  }

  [[noreturn]] void fail_without_winner() {
    if (is_cancelled()) throw Error(ErrorCode::interrupted, "interrupted before " + to_string(problem_) + " was timed");
    throw without_survivor(rows(), problem_);
  }

  Clock::time_point start_;
  Measure measure_ = Measure::rounds;  // that decides: sustained or rounds
  bool is_modelled_ = false;           // the power model weighs times in rounds
  bool is_capped_ = false;             // the power cap limits the clock of the fastest in rounds
  bool is_provisional_ = false;        // blocks might have picked another
  RoundTally final_tally_;
  double fastest_us_ = std::numeric_limits<double>::quiet_NaN();  // of all that had a block
  int power_limit_w_ = 0;
  std::optional<Winner> winner_;
  CublasComparison cublas_;
};

}  // namespace

TuneOutcome search(Engine& engine, Measurer& measurer, const Workload& problem, std::vector<Candidate> candidates,
                   const SearchOptions& options, const SearchObserver& observer) {
  const ProfilerRange range([&] { return "measure " + to_string(problem); });
  return Search(engine, measurer, problem, std::move(candidates), options, observer).run();
}

}  // namespace hotgemm
