#include "worker/worker_process.hpp"

#include "base/moment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace hotgemm {
namespace {

using Clock = std::chrono::steady_clock;
using Io = ChildProcess::Io;

constexpr std::chrono::seconds kSendPatience{10};  // a worker that waits for requests reads them at once
/// A worker is killed so long after the deadline. A search stops by itself at the deadline, and then still needs the
/// worker: to end the running step, to check the winner, or to report an error.
constexpr std::chrono::milliseconds kGraceAfterDeadline{500};

Clock::time_point kill_time(const WorkerOptions& options) {
  return options.deadline == Clock::time_point::max() ? options.deadline : options.deadline + kGraceAfterDeadline;
}

std::vector<std::string> arguments_of(const WorkerOptions& options) {
  std::vector<std::string> words{"worker", "--device", std::to_string(options.device)};
  if (!options.cache_directory.empty()) words.insert(words.end(), {"--cache-dir", options.cache_directory});
  if (options.cache_mode) words.insert(words.end(), {"--cache", std::string(to_string(*options.cache_mode))});
  if (options.allow_mps) words.push_back("--allow-mps");
  return words;
}

}  // namespace

WorkerProcess::WorkerProcess(const WorkerOptions& options)
    : device_(options.device), kill_time_(kill_time(options)), child_(options.program, arguments_of(options)) {}

void WorkerProcess::send(const Request& request) {
  if (sent_ != Io::done) return;
  const RequestHeader header{.kind = request.kind, .body_bytes = request.body.size()};
  const auto deadline = Clock::now() + kSendPatience;
  sent_ = child_.write_all(std::as_bytes(std::span(&header, 1)), deadline);
  if (sent_ == Io::done) sent_ = child_.write_all(request.body, deadline);
}

std::optional<WorkerEnd> WorkerProcess::ask(const Request& request, const Patience& patience,
                                            const std::function<void(const Reply&)>& on_reply) {
  send(request);
  std::int32_t running = Reply::kNoTrial;
  if (sent_ != Io::done) return end_after(sent_, static_cast<double>(kSendPatience.count()), running);
  for (;;) {
    const double silence_s = running == Reply::kNoTrial ? patience.several_s : patience.trial_s;
    Reply reply;
    const Clock::time_point patience_ends = moment_after(Clock::now(), silence_s);
    const Io io = child_.read_all(std::as_writable_bytes(std::span(&reply, 1)), std::min(patience_ends, kill_time_));
    if (io == Io::timed_out && kill_time_ < patience_ends) {
      reap();
      throw Error(ErrorCode::driver_error, "no time was left for the worker process");
    }
    if (io != Io::done) return end_after(io, silence_s, running);
    if (!reply.is_intact()) {
      reap();
      return WorkerEnd{.what = "the worker sent an invalid reply", .trial = running};
    }
    if (reply.kind == ReplyKind::error) throw decode_error(reply);
    if (reply.kind == ReplyKind::fatal) {
      reap();
      return WorkerEnd{WorkerEnd::Cause::told, decode_error(reply).code(), std::string(reply.text()), running};
    }
    if (reply.kind == ReplyKind::step) {
      running = reply.trial;
    } else {
      on_reply(reply);
    }
    if (reply.kind == ReplyKind::done) return std::nullopt;
  }
}

WorkerEnd WorkerProcess::end_after(Io io, double silence_s, std::int32_t trial) {
  reap();
  if (io == Io::timed_out) {
    return {
        .cause = WorkerEnd::Cause::hung, .what = fmt::format("no answer within {:.1f} s", silence_s), .trial = trial};
  }
  return {.cause = child_.was_ended_from_outside() ? WorkerEnd::Cause::killed : WorkerEnd::Cause::died,
          .what = "the worker ended with " + child_.how_it_ended(),
          .trial = trial};
}

void WorkerProcess::reap() {
  if (child_.kill()) return;
  throw Error(ErrorCode::context_lost,  // not the fault of a problem: another GPU may take it
              fmt::format("worker process {} does not end although it was killed: GPU {}, which it was using, is "
                          "suspect and should be looked at before it is used again",
                          child_.pid(), device_));
}

}  // namespace hotgemm
