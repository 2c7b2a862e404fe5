#include "worker/compile_pool.hpp"

#include "base/log.hpp"
#include "gpu/nvrtc.hpp"

#include <poll.h>

#include <span>
#include <utility>

namespace hotgemm {
namespace {

using Clock = std::chrono::steady_clock;
using Io = ChildProcess::Io;

Io exchange(ChildProcess& worker, const FrameBody& request, FrameBody& answer, Clock::time_point deadline) {
  CompileFrame frame{.body_bytes = request.size()};
  const auto header = std::span(&frame, 1);
  Io io = worker.write_all(std::as_bytes(header), deadline);
  if (io == Io::done) io = worker.write_all(std::as_bytes(std::span(request)), deadline);
  if (io == Io::done) io = worker.read_all(std::as_writable_bytes(header), deadline);
  if (io != Io::done) return io;
  if (!frame.is_intact()) throw Error(ErrorCode::internal, "a compiling worker sent an invalid answer");
  answer.resize(frame.body_bytes);
  return worker.read_all(std::as_writable_bytes(std::span(answer)), deadline);
}

/// Sends `request` and returns the worker's answer. If there is no answer, kills the worker and throws Error{code} with
/// `attempt` and the way the worker ended.
CompileAnswer ask(ChildProcess& worker, const FrameBody& request, std::chrono::milliseconds patience, ErrorCode code,
                  const std::string& attempt) {
  FrameBody answer;
  const Io io = exchange(worker, request, answer, Clock::now() + patience);
  if (io == Io::done) return decode_answer(answer);
  worker.kill();
  if (io == Io::timed_out) {
    throw Error(code,
                attempt + ": no answer within " + std::to_string(patience.count()) + " ms; the process was killed");
  }
  throw Error(code, attempt + ": the process ended with " + worker.how_it_ended());
}

Cubin cubin_of(CompileAnswer answer) {
  if (const auto* failure = std::get_if<CompileFailure>(&answer)) throw Error(failure->code, failure->message);
  return std::get<Cubin>(std::move(answer));
}

/// True if an idle worker has ended. An idle worker sends nothing, so a readable socket means its end. That loses no
/// kernel.
bool is_gone(const ChildProcess& worker) {
  ::pollfd entry{worker.fd(), POLLIN, 0};
  return ::poll(&entry, 1, 0) != 0;
}

}  // namespace

/// Borrows a worker of the pool for one kernel. The worker returns to the idle ones only if the caller asks for it.
class CompilePool::Turn {
 public:
  explicit Turn(CompilePool& pool) : pool_(pool) {
    std::unique_lock lock(pool.mutex_);
    pool.freed_.wait(lock, [&] { return pool.busy_ < pool.workers_ || pool.workers_ == 0; });
    may_have_worker_ = pool.workers_ > 0;
    ++pool.busy_;
    if (pool.idle_.empty()) return;
    worker_ = std::move(pool.idle_.back());
    pool.idle_.pop_back();
  }
  ~Turn() {
    worker_.reset();
    {
      const std::lock_guard lock(pool_.mutex_);
      --pool_.busy_;
    }
    pool_.freed_.notify_one();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  bool may_have_worker() const { return may_have_worker_; }
  bool has_worker() const { return worker_ != nullptr; }
  ChildProcess& worker() { return *worker_; }
  void set_worker(Worker worker) { worker_ = std::move(worker); }
  /// Makes the pool smaller by this worker, which cannot be started. Returns the number of those left.
  int give_up() {
    const std::lock_guard lock(pool_.mutex_);
    if (--pool_.workers_ == 0) pool_.freed_.notify_all();
    return pool_.workers_;
  }
  void keep_worker() {
    const std::lock_guard lock(pool_.mutex_);
    pool_.idle_.push_back(std::move(worker_));
  }

 private:
  CompilePool& pool_;
  bool may_have_worker_ = false;
  Worker worker_;
};

CompilePool::CompilePool(CompilePoolOptions options, const TemplateBundle& bundle)
    : options_(std::move(options)), bundle_(encode_bundle(bundle)), workers_(options_.workers) {}

CompilePool::Worker CompilePool::start() const {
  auto worker = std::make_unique<ChildProcess>(options_.program, options_.arguments);
  const std::string attempt = "start " + options_.program.string() + " as a compiling worker";
  cubin_of(ask(*worker, bundle_, options_.start_deadline, ErrorCode::io_error, attempt));
  return worker;
}

/// False if no worker can be started. The pool then has one less.
bool CompilePool::start_for(Turn& turn) const {
  if (turn.has_worker() && !is_gone(turn.worker())) return true;
  turn.set_worker(nullptr);  // until then, the process that has ended counts against the limits of the system
  try {
    turn.set_worker(start());
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::io_error) throw;
    const int left = turn.give_up();
    const std::string rest =
        left > 0 ? "at most " + std::to_string(left) + " workers run" : "this process compiles by itself";
    log(left > 0 ? LogLevel::info : LogLevel::warn, std::string(error.what()) + "; " + rest);
    return false;
  }
}

Cubin CompilePool::compile_here(const KernelSource& source) const {
  return options_.here ? options_.here(source) : Nvrtc::get().compile(source, decode_bundle(bundle_));
}

Cubin CompilePool::compile(const KernelSource& source) {
  for (;;) {
    Turn turn(*this);
    if (!turn.may_have_worker()) return compile_here(source);
    if (!start_for(turn)) continue;
    CompileAnswer answer = ask(turn.worker(), encode_source(source), options_.deadline, ErrorCode::compile_failed,
                               "compile " + source.symbol);
    turn.keep_worker();
    return cubin_of(std::move(answer));
  }
}

std::vector<int> CompilePool::idle_pids() const {
  const std::lock_guard lock(mutex_);
  std::vector<int> pids;
  for (const Worker& worker : idle_) pids.push_back(worker->pid());
  return pids;
}

}  // namespace hotgemm
