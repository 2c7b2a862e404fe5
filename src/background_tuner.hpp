#pragma once

#include "runtime/device_state.hpp"
#include "tune/paced_measurer.hpp"
#include "tune/tune.hpp"
#include "tuning_control.hpp"
#include "tuning_place.hpp"

#include <hotgemm/context.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_set>
#include <vector>

namespace hotgemm {

/// Measures classes of problems on a thread of its own, beside the program's work, and loads the kernels for classes
/// with interim plans. The thread exists from the first
/// class on. It measures in a worker process, which it keeps while there is work; if there can be none, it measures
/// vetted kernels in this process. Thread-safe.
///
/// It works in primary contexts only. Another context may end at any moment, and the driver has no safe way to ask.
class BackgroundTuner {
 public:
  using Clock = std::chrono::steady_clock;

  /// A class whose plan is not measured.
  struct Waiting {
    DeviceState* device = nullptr;
    Workload problem;
    std::weak_ptr<const PlanImpl> plan;  ///< counts its uses
    bool is_to_prepare = false;          ///< it has no plan
    Demands demands{};                   ///< those of the call that asked to prepare it
    double launch_us = 0;                ///< predicted
    double expected_gain = 0;            ///< the part of launch_us that measuring may save
    Clock::time_point not_before{};      ///< a former attempt was in vain
  };

  /// They are called on the thread, in the class's CUDA context and with no lock held.
  struct Callbacks {
    std::function<bool(const Waiting&)> is_wanted;  ///< before a class is measured; false: it waits no longer
    /// The wait of the class has ended; without an outcome it could not be measured.
    std::function<void(const Waiting&, const TuneOutcome* outcome)> ended;
    std::function<void(const Waiting&)> load;     ///< the kernel for a class with an interim plan
    std::function<bool(const Waiting&)> prepare;  ///< a class without a plan; false: no plan would meet its demands
  };

  /// Throws Error{invalid_argument} for options out of their limits.
  BackgroundTuner(const ContextOptions& options, TuningPlace& place, TuningControl& control, Callbacks callbacks);
  ~BackgroundTuner();
  BackgroundTuner(const BackgroundTuner&) = delete;
  BackgroundTuner& operator=(const BackgroundTuner&) = delete;

  /// Lets the class of `problem` wait until `plan` has been used often enough. Does nothing if a call of it takes
  /// longer than a slice or reaches the power cap, and after stop().
  void add(DeviceState& device, const Workload& problem, const std::shared_ptr<const PlanImpl>& plan);
  /// Lets the thread load the kernel of the class of `problem` soon. The class runs `plan` until then. False if there
  /// can be no thread.
  bool load_later(DeviceState& device, const Workload& problem, const std::shared_ptr<const PlanImpl>& plan);
  /// Lets the thread make the plan of the class of `problem` soon, which has none, unless it has tried before with the
  /// same demands. Does nothing where there can be no thread, and outside of primary contexts.
  void prepare_later(DeviceState& device, const Workload& problem, const Demands& demands);
  /// Classes that could not be prepared may be tried again.
  void retry_preparing();
  /// See Context::wait_tuned.
  bool wait(Clock::time_point deadline);
  /// Lets the thread look at its classes now.
  void wake();
  /// Ends the thread. The measurement that it makes is lost.
  void stop() noexcept;
  /// The number of classes that wait.
  std::size_t waiting() const;

 private:
  /// A class without a plan, in a CUDA context.
  struct Preparing {
    const DeviceState* device = nullptr;
    ClassKey key;
    bool must_be_tuned = false;
    bool must_be_as_fast = false;
    friend bool operator==(const Preparing&, const Preparing&) = default;
  };
  struct PreparingHash {
    std::size_t operator()(const Preparing& one) const noexcept { return hash_of(one.key); }
  };
  /// The part that the thread shares with others. A child of fork() leaves it alone: its locks and its thread are those
  /// of the parent.
  struct Shared {
    std::mutex mutex;  // guards the other members
    std::condition_variable changed;
    std::vector<Waiting> waiting;
    std::vector<Waiting> to_load;                            // classes with interim plans, and those to prepare
    std::unordered_set<Preparing, PreparingHash> preparing;  // asked for, and not done: they wait, or it was in vain
    bool is_busy = false;
    Clock::duration poll{0};
    std::thread thread;
  };
  enum class Result { ended, again };

  bool begin_thread();
  void load_waiting();
  void load(const Waiting& waiting);
  void run();
  bool has_work() const;
  bool is_spent() const;
  std::optional<Waiting> take_best();
  double worth(const Waiting& waiting) const;
  Result tune(const Waiting& waiting);
  Result tune_in_context(const Waiting& waiting);
  std::optional<TuneOutcome> measure(const Waiting& waiting, Result& result);
  void make_measurer(DeviceState& device);
  bool is_unwanted() const;

  const BackgroundOptions options_;
  TuningPlace& place_;
  TuningControl& control_;
  const Callbacks callbacks_;

  // For the thread alone.
  TuneOptions tuning_;
  std::unique_ptr<PacedMeasurer> measurer_;  // in a worker process, or in this one
  const DeviceState* measured_device_ = nullptr;
  bool measures_here_ = false;
  std::uint64_t generation_ = 0;  // of the control, when the class was taken

  std::atomic<int> hurried_{0};  // threads in wait()
  std::atomic<bool> is_stopping_{false};
  std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
};

}  // namespace hotgemm
