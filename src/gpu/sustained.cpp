#include "gpu/sustained.hpp"

#include "base/statistics.hpp"
#include "gpu/clock_sampler.hpp"
#include "gpu/stream.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace hotgemm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kAhead = 3;  // batches that are queued when the host waits for one
constexpr double kBatchUs = 8000;  // of GPU time
constexpr int kProbeLaunches = 8;  // for an estimate of short launches
constexpr double kProbeBelowUs = 200;
constexpr int kRepeatsPerBlock = 2;

struct Side {
  const Contender* contender;
  std::vector<double> us;  // by pass
  std::string failure;
  std::optional<OwnedGraph> graph;
  double estimate_us = 0;
  int launches = 1;  // per batch
  std::vector<ClockSample> samples;
  int unsteady = 0;

  bool is_live() const { return failure.empty(); }
};

class Blocks {
 public:
  Blocks(const Driver& driver, CUstream stream, std::span<const Contender> contenders, const RaceOptions& options)
      : driver_(driver),
        stream_(stream),
        options_(options),
        sampler_(driver),
        start_(driver),
        repeats_(kRepeatsPerBlock, std::max(options.rounds, 1)) {
    for (const Contender& contender : contenders) sides_.push_back({.contender = &contender});
    for (std::size_t i = 0; i < kAhead; ++i) free_.emplace_back(driver);
  }

  RaceResult run() {
    for (Side& side : sides_) {
      if (is_over(Clock::now())) side.failure = kNoTimeLeft;
      attempt(side, [&] { prepare(side); });
    }
    while (passes_ < options_.rounds && any_live() && run_pass()) {
    }
    drain();
    return result();
  }

 private:
  /// Runs `step` of one contender. If it throws, the contender is out.
  void attempt(Side& side, const std::function<void()>& step) {
    if (!side.is_live()) return;
    tell(side);
    try {
      step();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::context_lost) throw;
      // The status of a library may hide an error that made the context unusable.
      const CUresult state = driver_.cuStreamSynchronize(stream_);
      if (is_sticky(state)) driver_.fail(state, "go on after the failure of " + side.contender->name);
      drain();
      side.failure = error.what();
      side.graph.reset();
    }
  }

  void tell(const Side& side) const {
    if (options_.on_step) options_.on_step(static_cast<std::size_t>(&side - sides_.data()));
  }

  void launch(const Side& side, int count) {
    for (int i = 0; i < count; ++i) {
      side.contender->launch(stream_, next_set_);
      next_set_ = (next_set_ + 1) % options_.sets;
    }
  }

  double time_us(const Side& side, int count) {
    const OwnedEvent stop(driver_);
    start_.record(stream_);
    launch(side, count);
    stop.record(stream_);
    driver_.check(driver_.cuStreamSynchronize(stream_), "wait for " + side.contender->name);
    return elapsed_us(driver_, start_, stop) / count;
  }

  /// Estimates the time of a launch and chooses the number of launches of a batch.
  void prepare(Side& side) {
    time_us(side, 1);  // loads and initialises
    side.estimate_us = time_us(side, options_.fair_launches(1));
    if (side.estimate_us < kProbeBelowUs) side.estimate_us = time_us(side, options_.fair_launches(kProbeLaunches));
    const double wanted = std::ceil(kBatchUs / std::max(side.estimate_us, 0.1)),
                 most = std::max(options_.max_launches, 1);
    side.launches = options_.fair_launches(static_cast<int>(std::clamp(wanted, 1.0, most)));
    if (options_.mode != TimingMode::graph) return;
    side.launches = options_.whole_rotations(side.launches);  // so that a replay goes on where the last one ended
    side.graph = OwnedGraph::capture(driver_, stream_, [&] { launch(side, side.launches); });
    side.graph->launch(stream_);  // the first replay uploads it
    driver_.check(driver_.cuStreamSynchronize(stream_), "replay a graph of " + side.contender->name);
  }

  bool any_live() const { return std::ranges::any_of(sides_, &Side::is_live); }

  bool is_over(Clock::time_point now) const {
    return now >= options_.deadline || (options_.is_cancelled && options_.is_cancelled());
  }

  bool has_time_for_a_block() const {
    const auto now = Clock::now();
    if (is_over(now)) return false;
    const std::chrono::duration<double> block(block_seconds(*options_.blocks));
    return passes_ == 0 || now + std::chrono::duration_cast<Clock::duration>(block) < options_.deadline;
  }

  /// One block of each contender. Returns false if there was no time for all of them.
  bool run_pass() {
    for (Side& side : sides_) side.us.resize(static_cast<std::size_t>(passes_) + 1, kNan);
    bool is_whole = true;
    for (const std::size_t i : block_order(sides_.size(), passes_)) {
      is_whole = is_whole && has_time_for_a_block();
      if (is_whole) attempt(sides_[i], [&] { run_block(sides_[i]); });
    }
    ++passes_;
    return is_whole;
  }

  /// Runs a block until it is steady, or may not be repeated.
  void run_block(Side& side) {
    for (;;) {
      std::vector<ClockSample> samples;
      const std::optional<CountedPart> part = try_block(side, samples);
      if (!part) return;  // cancelled
      const bool is_throttled = is_throttled_otherwise(state_of(samples).reasons);
      const BlockRepeats::Answer answer = repeats_.judge(*part, is_throttled);
      if (answer == BlockRepeats::Answer::repeat && has_time_for_a_block()) continue;
      side.us.back() = part->us;
      side.samples.insert(side.samples.end(), samples.begin(), samples.end());
      side.unsteady += answer == BlockRepeats::Answer::keep ? 0 : 1;
      return;
    }
  }

  std::optional<CountedPart> try_block(const Side& side, std::vector<ClockSample>& samples) {
    BlockLengths lengths = *options_.blocks;
    if (std::exchange(is_first_, false)) lengths.settle_s += lengths.load_s;
    tell(side);
    // Batches of the block before may still be queued. They are not waited for: the GPU must not be idle.
    std::vector<OwnedEvent> before = take_queue();
    start_.record(stream_);
    std::vector<double> ends_us;
    bool is_counting = false;
    for (;;) {
      while (queue_.size() < kAhead) enqueue_batch(side);
      ends_us.push_back(wait_for_batch(side));
      recycle(before);  // what was queued before this block has run
      if (!is_counting && ends_us.back() >= lengths.settle_s * 1e6) {
        is_counting = true;
        sampler_.start();
        tell(side);
      }
      const std::optional<CountedPart> part = counted_part(ends_us, side.launches, lengths);
      const bool is_cancelled = !part && options_.is_cancelled && options_.is_cancelled();
      if (!part && !is_cancelled) continue;
      samples = sampler_.stop();
      return part;
    }
  }

  void enqueue_batch(const Side& side) {
    if (side.graph) {
      side.graph->launch(stream_);
    } else {
      launch(side, side.launches);
    }
    if (free_.empty()) free_.emplace_back(driver_);
    free_.back().record(stream_);
    queue_.push_back(std::move(free_.back()));
    free_.pop_back();
  }

  /// Waits for the oldest batch in the queue. Returns the time from the start of the block to its end.
  double wait_for_batch(const Side& side) {
    driver_.check(driver_.cuEventSynchronize(queue_.front().get()), "wait for " + side.contender->name);
    const double us = elapsed_us(driver_, start_, queue_.front());
    free_.push_back(std::move(queue_.front()));
    queue_.erase(queue_.begin());
    return us;
  }

  std::vector<OwnedEvent> take_queue() { return std::exchange(queue_, {}); }

  void recycle(std::vector<OwnedEvent>& events) {
    for (OwnedEvent& event : events) free_.push_back(std::move(event));
    events.clear();
  }

  void drain() {
    driver_.check(driver_.cuStreamSynchronize(stream_), "wait for the last blocks");
    sampler_.stop();
    recycle(queue_);
  }

  RaceResult result() {
    RaceResult result{.rounds_done = passes_};
    result.power_limit_w = sampler_.power_limit_w().value_or(0);
    for (Side& side : sides_) {
      side.us.resize(static_cast<std::size_t>(passes_), kNan);
      if (side.is_live() && std::isnan(median(side.us))) side.failure = kNoTimeLeft;
      result.us.push_back(std::move(side.us));
      result.failures.push_back(std::move(side.failure));
      result.blocks.push_back({state_of(side.samples), side.unsteady});
    }
    return result;
  }

  const Driver& driver_;
  CUstream stream_;
  const RaceOptions& options_;
  ClockSampler sampler_;
  OwnedEvent start_;  // of the block that runs
  BlockRepeats repeats_;
  std::vector<Side> sides_;
  std::vector<OwnedEvent> queue_;  // ends of the batches of this block that have not been waited for, oldest first
  std::vector<OwnedEvent> free_;
  int next_set_ = 0;
  int passes_ = 0;
  bool is_first_ = true;
};

}  // namespace

RaceResult run_blocks(const Driver& driver, CUstream stream, std::span<const Contender> contenders,
                      const RaceOptions& options) {
  return Blocks(driver, stream, contenders, options).run();
}

}  // namespace hotgemm
