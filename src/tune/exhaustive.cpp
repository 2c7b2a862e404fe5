#include "tune/exhaustive.hpp"

#include "config/identity.hpp"
#include "gpu/nvrtc.hpp"
#include "plan/candidates.hpp"
#include "tune/bench.hpp"
#include "tune/row_launch.hpp"
#include "tune/trace_header.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace hotgemm {
namespace {

constexpr std::size_t kLeastFinalists = 8;
constexpr std::size_t kFinalistShare = 20;   // one of twenty
constexpr std::size_t kRasterFinalists = 3;  // the best configs, of which all rasters are tried

bool is_about(const TraceLine& line, const std::string& problem, const std::map<std::string, std::size_t>& menu) {
  return std::visit(
      [&](const auto& value) {
        using Line = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Line, TraceHeader>) {
          return false;
        } else {
          return value.problem == problem && menu.contains(value.config);
        }
      },
      line);
}

struct Step {
  std::vector<RowLaunch> entries;  // of a race, beside the reference
  int rounds = 1;
};

/// Measures all configs. Each next step is read from the trace, so that continuing an earlier run is no special case.
class Exhaustive {
 public:
  Exhaustive(Engine& engine, Measurer& measurer, const Workload& problem, ResumableTrace& trace,
             const ExhaustiveOptions& options, const ExhaustiveObserver& observer)
      : engine_(engine),
        measurer_(measurer),
        problem_(problem),
        name_(to_string(problem)),
        trace_(trace),
        options_(options),
        observer_(observer),
        rows_(all_candidates(problem, measurer.gpu().info)) {
    for (std::size_t i = 0; i < rows_.size(); ++i) index_.emplace(to_string(rows_[i].config), i);
    for (const TraceLine& line : trace_.lines()) {
      if (is_about(line, name_, index_)) lines_.push_back(line);
    }
  }

  ExhaustiveResult run() {
    ExhaustiveResult result;
    while (!is_cancelled()) {
      ranking_ = rank_trace(lines_, name_);
      tell_progress("measure", settled(), rows_.size());
      const std::pair before{lines_.size(), alive()};
      const std::optional<Step> step = next();
      if (!step) {
        result.is_complete = true;
        break;
      }
      take(*step);
      trace_.flush();
      if (std::pair{lines_.size(), alive()} == before && !is_cancelled()) {
        throw Error(ErrorCode::internal, "measuring every config for " + name_ + " makes no progress");
      }
    }
    if (has_begun_) measurer_.end();
    ranking_ = rank_trace(lines_, name_);
    if (result.is_complete && ranking_.entries.empty()) fail_without_survivors();
    for (const Candidate& c : rows_) result.menu.push_back({to_string(c.config), to_string(c.launch)});
    result.ranking = std::move(ranking_);
    return result;
  }

 private:
  bool is_cancelled() const { return observer_.is_cancelled && observer_.is_cancelled(); }

  void tell_progress(std::string_view what, std::size_t done, std::size_t total) const {
    if (observer_.progress) observer_.progress(what, done, total);
  }

  void add(TraceLine line) {
    lines_.push_back(line);
    trace_.add(std::move(line));
  }

  bool is_settled(std::size_t row) const {
    const std::string config = to_string(rows_[row].config);
    return ranking_.timed.contains(config) || ranking_.rejected.contains(config);
  }

  std::size_t settled() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) count += is_settled(i) ? 1 : 0;
    return count;
  }

  std::ptrdiff_t alive() const { return std::ranges::count_if(rows_, &Candidate::is_alive); }

  Environment environment() const { return trace_header({}, measurer_.gpu().environment, engine_).environment; }

  // ---- the next step

  std::optional<Step> next() {
    const std::vector<std::size_t> missing = unmeasured();
    if (!missing.empty()) {
      build_missing(missing);
      if (is_cancelled()) return Step{};
      Step step;
      for (const std::size_t row : missing) {
        if (step.entries.size() < options_.batch && rows_[row].is_alive()) {
          step.entries.push_back({row, rows_[row].launch});
        }
      }
      // The step is empty if building rejected all of them; building has then added them to the trace.
      return step;
    }
    for (std::vector<RowLaunch> entries : {finalists(), raster_finalists()}) {
      if (entries.size() > options_.batch) entries.resize(options_.batch);
      if (!entries.empty()) return Step{std::move(entries), options_.rounds};
    }
    return std::nullopt;
  }

  /// The rows that still need a measurement: alive, and neither timed beside the reference nor rejected. Remembered
  /// rejections count only in this run and are not in the trace.
  std::vector<std::size_t> unmeasured() const {
    std::vector<std::size_t> missing;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].is_alive() && !is_settled(i)) missing.push_back(i);
    }
    return missing;
  }

  /// The best configs, each by its fastest raster, without twins.
  std::vector<std::size_t> best_rows(std::size_t count) const {
    std::vector<std::size_t> best;
    for (const RankedCandidate& entry : ranking_.entries) {
      if (best.size() >= count) break;
      const std::size_t row = index_.at(entry.name.config);
      const bool is_twin = ranking_.twins.contains(entry.name.config);
      if (!is_twin && rows_[row].is_alive() && std::ranges::find(best, row) == best.end()) best.push_back(row);
    }
    return best;
  }

  bool lacks_rounds(const RowLaunch& entry) const {
    const RankedCandidate* ranked = ranking_.find({to_string(rows_[entry.candidate].config), to_string(entry.launch)});
    return ranked == nullptr || ranked->rounds < options_.rounds;
  }

  std::vector<RowLaunch> finalists() const {
    std::vector<RowLaunch> entries;
    for (const std::size_t row : best_rows(std::max(kLeastFinalists, ranking_.timed.size() / kFinalistShare))) {
      const RowLaunch entry{row, rows_[row].launch};
      if (lacks_rounds(entry)) entries.push_back(entry);
    }
    return entries;
  }

  std::vector<RowLaunch> raster_finalists() const {
    std::vector<RowLaunch> entries;
    for (const std::size_t row : best_rows(kRasterFinalists)) {
      const Candidate& c = rows_[row];
      for (const LaunchConfig& launch : rasters(c.config, problem_, measurer_.gpu().info.sm_count, c.predicted_us)) {
        const RowLaunch entry{row, launch};
        if (lacks_rounds(entry)) entries.push_back(entry);
      }
    }
    return entries;
  }

  // ---- building

  void build_missing(const std::vector<std::size_t>& missing) {
    if (std::exchange(has_built_, true)) return;
    Nvrtc::get();  // without NVRTC every candidate would seem to have failed
    build(missing, /*merge=*/true);
  }

  /// Builds those of `rows` that have not been built. With `merge`, a config may become another's twin; this is only
  /// for configs that have not been measured.
  void build(std::vector<std::size_t> rows, bool merge) {
    std::erase_if(rows, [&](std::size_t row) { return rows_[row].cubin != nullptr || !rows_[row].is_alive(); });
    if (rows.empty()) return;
    std::vector<Candidate> batch;
    for (const std::size_t row : rows) batch.push_back(rows_[row]);
    std::size_t done = 0;
    const auto each = [&] {
      tell_progress("compile", ++done, batch.size());
      return is_cancelled();
    };
    build_candidates(batch, problem_, environment(), engine_, options_.jobs, each);
    if (is_cancelled()) return;  // candidates that were not reached have not failed
    if (merge) merge_twins(batch, problem_);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows_[rows[i]] = std::move(batch[i]);
      const Candidate& c = rows_[rows[i]];
      if (!c.same_as.empty()) {
        add(TraceTwin{name_, to_string(c.config), c.same_as});
      } else if (!c.reason.empty()) {
        tell_rejected(c);
      }
    }
    trace_.flush();
  }

  void tell_rejected(const Candidate& c) {
    // A remembered rejection expires, so it does not belong in the trace.
    if (kind_of(c.reason) == "remembered") return;
    add(TraceRejection{name_, to_string(c.config), to_string(c.launch), std::string(to_string(c.stage)), c.reason});
  }

  // ---- measuring

  void end_row(Candidate& c, Stage stage, const std::string& reason) {
    if (!c.reason.empty()) return;  // another raster of this config has already ended it
    reject(c, stage, reason);
    remember(engine_, rows_, c, problem_, environment());
    tell_rejected(c);
  }

  std::vector<Trial> trials_of(const std::vector<RowLaunch>& entries) const {
    std::vector<Trial> trials;
    for (const RowLaunch& entry : entries)
      trials.push_back({rows_[entry.candidate].config, entry.launch, rows_[entry.candidate].cubin});
    return trials;
  }

  void take(const Step& step) {
    if (step.entries.empty()) return;
    std::vector<RowLaunch> entries = with_reference(step.entries);
    std::vector<std::size_t> rows;
    for (const RowLaunch& entry : entries) rows.push_back(entry.candidate);
    build(rows, /*merge=*/false);
    if (is_cancelled()) return;
    if (!drop_dead(entries)) return;
    if (!std::exchange(has_begun_, true)) measurer_.begin(problem_, {options_.scratch_bytes, options_.seed, false});
    check(entries);
    if (!drop_dead(entries)) return;
    race(entries, step.rounds);
  }

  /// The reference, followed by the other entries. It takes part in every race. Each entry occurs once.
  std::vector<RowLaunch> with_reference(const std::vector<RowLaunch>& entries) const {
    if (ranking_.reference.config.empty()) return entries;  // the first sound config becomes the reference
    const RowLaunch reference{index_.at(ranking_.reference.config), parse_launch(ranking_.reference.launch).value()};
    std::vector<RowLaunch> all{reference};
    for (const RowLaunch& entry : entries) {
      if (entry.candidate != reference.candidate || entry.launch != reference.launch) all.push_back(entry);
    }
    return all;
  }

  /// Removes rejected entries. Returns false if the reference was rejected, or if no entry is left: the next step then
  /// finds another reference.
  bool drop_dead(std::vector<RowLaunch>& entries) {
    if (!ranking_.reference.config.empty()) {
      const Candidate& reference = rows_[entries.front().candidate];
      if (!reference.is_alive()) {
        add(TraceRejection{name_, to_string(reference.config), to_string(reference.launch),
                           std::string(to_string(reference.stage)), reference.reason});
        return false;
      }
    }
    std::erase_if(entries, [&](const RowLaunch& entry) { return !rows_[entry.candidate].is_alive(); });
    return !entries.empty();
  }

  void check(const std::vector<RowLaunch>& entries) {
    std::vector<RowLaunch> unchecked;
    for (const RowLaunch& entry : entries) {
      if (checked_.insert(entry.candidate).second) unchecked.push_back(entry);
    }
    if (unchecked.empty()) return;
    const std::vector<Verdict> verdicts =
        measurer_.check(trials_of(unchecked), static_cast<unsigned>(options_.seed) ^ 0xc4ecu);
    for (std::size_t i = 0; i < unchecked.size(); ++i) {
      if (!verdicts[i].is_sound()) end_row(rows_[unchecked[i].candidate], verdicts[i].stage, verdicts[i].reason);
    }
  }

  void race(const std::vector<RowLaunch>& entries, int rounds) {
    const bool is_short = rows_.front().predicted_us < kGraphBelowUs;
    const RaceOptions options{.mode = is_short ? TimingMode::graph : TimingMode::eager,
                              .rounds = rounds,
                              .round_us = options_.round_us,
                              .warm_up_us = is_short ? 0 : kWarmUpUs,
                              .seed = options_.seed + static_cast<std::uint64_t>(ranking_.races)};
    const RaceResult result = measurer_.race(trials_of(entries), options, false);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      Candidate& c = rows_[entries[i].candidate];
      if (!result.failures[i].empty()) {
        end_row(c, Stage::measure, result.failures[i]);
        continue;
      }
      for (std::size_t round = 0; round < result.us[i].size(); ++round) {
        if (std::isnan(result.us[i][round])) continue;
        add(TraceSample{name_, to_string(c.config), to_string(entries[i].launch), ranking_.races,
                        static_cast<int>(round), result.us[i][round]});
      }
    }
  }

  [[noreturn]] void fail_without_survivors() const {
    std::string first;
    for (const TraceLine& line : lines_) {
      const auto* rejection = std::get_if<TraceRejection>(&line);
      if (rejection != nullptr && first.empty()) first = rejection->config + ": " + rejection->reason;
    }
    throw Error(ErrorCode::wrong_result,
                "none of " + std::to_string(rows_.size()) + " configs for " + name_ + " survived, such as " + first);
  }

  Engine& engine_;
  Measurer& measurer_;
  const Workload& problem_;
  const std::string name_;
  ResumableTrace& trace_;
  const ExhaustiveOptions& options_;
  const ExhaustiveObserver& observer_;
  std::vector<Candidate> rows_;               // from the fastest predicted to the slowest
  std::map<std::string, std::size_t> index_;  // index into rows_, by config
  std::vector<TraceLine> lines_;              // only those of this problem and this menu
  TraceRanking ranking_;
  std::set<std::size_t> checked_;  // row indices
  bool has_built_ = false;
  bool has_begun_ = false;
};

}  // namespace

std::string exhaustive_digest(const Workload& problem, const TraceHeader& header) {
  const Environment& e = header.environment;
  IdentityBuilder builder;
  builder.field("problem", to_string(problem));
  builder.field("gpu", e.gpu).field("arch", e.arch).field("sm_count", std::to_string(e.sm_count));
  builder.field("driver", e.driver).field("toolchain", e.toolchain);
  for (const auto& [name, digest] : header.templates) builder.field("template", name).field("digest", digest);
  return builder.build().hex();
}

ExhaustiveResult measure_every_config(Engine& engine, Measurer& measurer, const Workload& problem,
                                      ResumableTrace& trace, const ExhaustiveOptions& options,
                                      const ExhaustiveObserver& observer) {
  return Exhaustive(engine, measurer, problem, trace, options, observer).run();
}

}  // namespace hotgemm
