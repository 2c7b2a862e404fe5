#pragma once

#include "worker/child_process.hpp"
#include "worker/isolated_measurer.hpp"
#include "worker/measure_record.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace hotgemm {

/// How a worker came to its end.
struct WorkerEnd {
  enum class Cause {
    told,    ///< it said why and ended itself
    hung,    ///< it was silent too long, and was killed
    died,    ///< of a signal that its own code had raised, or by leaving
    killed,  ///< from outside: nothing that ran in it is to blame
  };
  Cause cause = Cause::died;
  ErrorCode code = ErrorCode::context_lost;  ///< what it told
  std::string what;                          ///< "no answer within 2.0 s", or what it told
  std::int32_t trial = Reply::kNoTrial;      ///< that it had said to be running

  /// As the reason of a trial: "hung: …", "faulted: …".
  std::string reason() const { return (cause == Cause::hung ? "hung: " : "faulted: ") + what; }
};

/// How long a worker may say nothing, in seconds.
struct Patience {
  double trial_s = 0;    ///< while it runs the trial that it has named
  double several_s = 0;  ///< while it runs several or something else
};

/// One life of a measuring worker.
class WorkerProcess {
 public:
  /// Throws Error{io_error} if the program cannot be run.
  explicit WorkerProcess(const WorkerOptions& options);

  int pid() const { return child_.pid(); }

  /// Sends a request that is not answered. Where that fails, the next ask tells the end.
  void send(const Request& request);
  /// Sends `request` and hands over the replies, the last of which is `done`. Returns how the worker ended if it ended
  /// instead; it is reaped then. Throws the Error that the worker answered with, and Error{context_lost} if it cannot
  /// be killed.
  std::optional<WorkerEnd> ask(const Request& request, const Patience& patience,
                               const std::function<void(const Reply&)>& on_reply);

 private:
  WorkerEnd end_after(ChildProcess::Io io, double silence_s, std::int32_t trial);
  void reap();

  int device_;
  ChildProcess child_;
  ChildProcess::Io sent_ = ChildProcess::Io::done;
};

}  // namespace hotgemm
