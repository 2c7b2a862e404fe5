#pragma once

#include "worker/child_process.hpp"
#include "worker/isolated_measurer.hpp"
#include "worker/measure_record.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace hotgemm {

/// The way a worker ended.
struct WorkerEnd {
  enum class Cause {
    told,    ///< it reported an error and ended itself
    hung,    ///< it was silent for too long and was killed
    died,    ///< by a signal that its own code raised, or by exiting
    killed,  ///< killed from outside: nothing that ran in the worker is to blame
  };
  Cause cause = Cause::died;
  ErrorCode code = ErrorCode::context_lost;  ///< the code that the worker reported
  std::string what;                          ///< "no answer within 2.0 s", or the message that the worker reported
  std::int32_t trial = Reply::kNoTrial;      ///< the trial that it had announced

  /// The reason in the form of a trial's reason: "hung: …", "faulted: …".
  std::string reason() const { return (cause == Cause::hung ? "hung: " : "faulted: ") + what; }
};

/// Limits for the silence of a worker, in seconds.
struct Patience {
  double trial_s = 0;    ///< while it runs one trial that it announced
  double several_s = 0;  ///< while it runs several trials or something else
};

/// One run of a measuring worker, from its start to its end.
class WorkerProcess {
 public:
  /// Throws Error{io_error} if the program cannot be run.
  explicit WorkerProcess(const WorkerOptions& options);

  int pid() const { return child_.pid(); }

  /// Sends a request that has no answer. If sending fails, the next ask reports the end.
  void send(const Request& request);
  /// Sends `request` and passes each reply to `on_reply`, up to `done`. If the worker ends first, reaps it and returns
  /// how it ended. Throws the Error that the worker replied with, Error{driver_error} if it is killed because of
  /// WorkerOptions::deadline, and Error{context_lost} if the worker cannot be killed.
  std::optional<WorkerEnd> ask(const Request& request, const Patience& patience,
                               const std::function<void(const Reply&)>& on_reply);

 private:
  WorkerEnd end_after(ChildProcess::Io io, double silence_s, std::int32_t trial);
  void reap();

  int device_;
  std::chrono::steady_clock::time_point kill_time_;
  ChildProcess child_;
  ChildProcess::Io sent_ = ChildProcess::Io::done;
};

}  // namespace hotgemm
