#include "worker/measure_worker.hpp"

#include "gpu/device.hpp"
#include "runtime/device_state.hpp"
#include "runtime/engine.hpp"
#include "tune/device_measurer.hpp"
#include "worker/measure_record.hpp"
#include "worker/mps_guard.hpp"
#include "worker/parent_link.hpp"

#include <unistd.h>

#include <cmath>
#include <exception>
#include <optional>
#include <utility>

namespace hotgemm {
namespace {

constexpr int kEndedItself = 4;  // exit status after a fatal reply

class MeasureWorker {
 public:
  explicit MeasureWorker(const MeasureWorkerOptions& options) : options_(options) {}

  [[noreturn]] void run() {
    for (;;) {
      const Request request = read_request();
      try {
        answer(request);
      } catch (const Error& error) {
        // An error before the measurer exists would occur again at the next request.
        const bool ends = error.code() == ErrorCode::context_lost || !measurer_;
        send(encode_error(ends ? ReplyKind::fatal : ReplyKind::error, error.code(), error.what()));
        if (ends) leave();
      } catch (const std::exception& error) {
        send(encode_error(ReplyKind::fatal, ErrorCode::internal, error.what()));
        leave();
      }
    }
  }

 private:
  /// Ends the process without destructors: they would call into a lost CUDA context.
  [[noreturn]] static void leave() { ::_exit(kEndedItself); }

  Request read_request() {
    RequestHeader header;
    link_.read_all(std::as_writable_bytes(std::span(&header, 1)));
    if (header.magic != RequestHeader::kMagic) {
      send(encode_error(ReplyKind::fatal, ErrorCode::internal, "the worker received an invalid request"));
      leave();
    }
    Request request{header.kind, std::vector<std::byte>(header.body_bytes)};
    link_.read_all(request.body);
    return request;
  }

  void send(const Reply& reply) { link_.write_all(std::as_bytes(std::span(&reply, 1))); }

  void send_step(std::size_t trial) {
    Reply reply;
    reply.kind = ReplyKind::step;
    reply.trial = trial == DeviceMeasurer::kNoTrial ? Reply::kNoTrial : static_cast<std::int32_t>(trial);
    send(reply);
  }

  void send_done(std::size_t rows = 0, int rounds = 0) {
    Reply reply;
    reply.trial = static_cast<std::int32_t>(rows);
    reply.round = rounds;
    reply.set_text(measurer_->baseline());
    send(reply);
  }

  void answer(const Request& request) {
    switch (request.kind) {
      case RequestKind::hello: return greet();
      case RequestKind::begin: return begin(decode_begin(request.body));
      case RequestKind::cubin: return keep(decode_cubin(request.body));
      case RequestKind::check: return check(decode_check(request.body, cubins_));
      case RequestKind::race: return race(decode_race(request.body, cubins_));
      case RequestKind::compare: return compare(decode_compare(request.body, cubins_));
      case RequestKind::end: measurer_->end(); return send_done();
    }
    throw Error(ErrorCode::internal, "the worker received an unknown request");
  }

  void greet() {
    const Driver& driver = Driver::get();
    if (!options_.allow_mps) refuse_other_mps_clients(driver, options_.device);
    cuda_.emplace(driver, options_.device);
    engine_.emplace(options_.context);
    state_.emplace(driver, *engine_);
    measurer_.emplace(*state_, [this](std::size_t trial) { announce(trial); });
    measurer_->ask_nvml();
    send(encode_facts(measurer_->gpu()));
    send_done();
  }

  /// Sends a step, except within a check: there the trial was named already, and the measurer's index would be wrong.
  void announce(std::size_t trial) {
    if (!checking_) send_step(trial);
  }

  void begin(const BeginRequest& request) {
    cubins_.clear();
    measurer_->begin(request.problem, request.options);
    send_done();
  }

  void keep(Cubin cubin) {
    std::string symbol = cubin.symbol;
    cubins_.insert_or_assign(std::move(symbol), std::make_shared<const Cubin>(std::move(cubin)));
  }

  /// Checks one trial at a time, so that each verdict is sent before the next trial runs.
  void check(const CheckRequest& request) {
    for (std::size_t i = 0; i < request.trials.size(); ++i) {
      send_step(i);
      checking_ = true;
      const Verdict verdict = measurer_->check(std::span(request.trials).subspan(i, 1), request.seed).front();
      checking_ = false;
      Reply reply;
      reply.kind = ReplyKind::verdict;
      reply.trial = static_cast<std::int32_t>(i);
      reply.stage = static_cast<std::int32_t>(verdict.stage);
      reply.set_text(verdict.reason);
      send(reply);
    }
    send_done();
  }

  void race(const RaceRequest& request) {
    const RaceResult result = measurer_->race(request.trials, request.options, request.with_baseline);
    for (std::size_t row = 0; row < result.us.size(); ++row) {
      if (row < result.blocks.size()) send(encode_blocks(row, result.blocks[row], result.power_limit_w));
      Reply reply;
      reply.trial = static_cast<std::int32_t>(row);
      reply.kind = ReplyKind::failure;
      reply.set_text(result.failures[row]);
      if (!result.failures[row].empty()) send(reply);
      reply.kind = ReplyKind::sample;
      reply.set_text({});
      for (std::size_t round = 0; round < result.us[row].size(); ++round) {
        reply.round = static_cast<std::int32_t>(round);
        reply.us = result.us[row][round];
        if (!std::isnan(reply.us)) send(reply);
      }
    }
    send_done(result.us.size(), result.rounds_done);
  }

  void compare(const CompareRequest& request) {
    send(encode_comparison(measurer_->compare_with_cublas(request.pick, request.question)));
    send_done();
  }

  const MeasureWorkerOptions& options_;
  ParentLink link_;
  std::optional<PrimaryContext> cuda_;
  std::optional<Engine> engine_;
  std::optional<DeviceState> state_;
  std::optional<DeviceMeasurer> measurer_;
  Cubins cubins_;
  bool checking_ = false;
};

}  // namespace

void run_measure_worker(const MeasureWorkerOptions& options) { MeasureWorker(options).run(); }

}  // namespace hotgemm
