#include "c/call.hpp"
#include "c/handles.hpp"
#include "gpu/nvrtc.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

// Preparing problems before they are called: by measuring, and by compiling.

using namespace hotgemm;
using c::context_of;
using c::done;
using c::required;

namespace {

/// The problems of a list of texts. An error names the text.
std::vector<Workload> workloads_of(const char* const* problems, std::size_t count) {
  std::vector<Workload> workloads;
  if (count > 0) required(problems, "problems");
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view text = &required(problems[i], "a problem");
    try {
      workloads.push_back(parse_workload(text));
    } catch (const Error& error) {
      throw Error(error.code(), "problem " + std::to_string(i) + ": " + error.what());
    }
  }
  return workloads;
}

/// A number that is not zero replaces the default.
template <class Number>
void take(Number given, Number& value) {
  if (given != 0) value = given;
}

TuneOptions tune_options(const hotgemm_tune_options& given) {
  TuneOptions options;
  take(given.max_candidates, options.max_candidates);
  take(given.budget_s, options.budget_s);
  take(given.scratch_bytes, options.scratch_bytes);
  take(given.scratch_share, options.scratch_share);
  take(given.jobs, options.jobs);
  take(given.rounds, options.rounds);
  take(given.seed, options.seed);
  return options;
}

hotgemm_status status_of(const TuneResult& result) {
  return result.failure.empty() ? hotgemm_status{HOTGEMM_SUCCESS} : c::status_of(result.failure_code);
}

bool report(const hotgemm_tune_options& options, const TuneResult& result) {
  if (options.progress == nullptr) return true;
  const std::string problem = to_string(result.problem);
  const hotgemm_tune_result filled{.size = sizeof(hotgemm_tune_result),
                                   .problem = problem.c_str(),
                                   .config = result.config.c_str(),
                                   .launch = result.launch.c_str(),
                                   .failure = result.failure.c_str(),
                                   .status = status_of(result),
                                   .measured = result.measured,
                                   .was_recorded = result.was_recorded ? 1 : 0,
                                   .reserved = 0,
                                   .median_us = result.median_us,
                                   .tflops = result.tflops,
                                   .seconds = result.seconds};
  return options.progress(options.user, &filled) != 0;
}

PrewarmOptions prewarm_options(const hotgemm_prewarm_options& given) {
  PrewarmOptions options{.jobs = given.jobs, .candidates = given.candidates != 0};
  if (given.arch_count > 0) required(given.archs, "options.archs");
  for (std::size_t i = 0; i < given.arch_count; ++i) {
    options.archs.emplace_back(&required(given.archs[i], "an architecture"));
  }
  if (options.archs.empty()) {
    throw Error(ErrorCode::invalid_argument, "options.archs is empty: name an architecture, such as sm_90a");
  }
  if (given.progress != nullptr) {
    options.progress = [&given](std::size_t done, std::size_t total) {
      return given.progress(given.user, done, total) != 0;
    };
  }
  return options;
}

void report(const hotgemm_prewarm_options& options, const PrewarmEntry& entry) {
  const std::string problem = to_string(entry.problem);
  const hotgemm_prewarm_entry filled{.size = sizeof(hotgemm_prewarm_entry),
                                     .problem = problem.c_str(),
                                     .arch = entry.arch.c_str(),
                                     .config = entry.config.c_str(),
                                     .failure = entry.failure.c_str(),
                                     .origin = static_cast<std::int32_t>(entry.origin),
                                     .from_cache = entry.from_cache ? 1 : 0,
                                     .registers = entry.resources.registers,
                                     .spill_bytes = entry.resources.spill_bytes};
  options.entry(options.user, &filled);
}

/// Throws if not every kernel is on disk: that is what the caller asked for.
void require_complete(const PrewarmReport& report) {
  const auto failed = [](const std::string& failure) { return !failure.empty(); };
  if (report.interrupted) {
    throw Error(ErrorCode::interrupted, std::to_string(report.not_started) + " kernels were not begun");
  }
  if (report.failed > 0) {
    Nvrtc::get();  // throws the reason if there is no compiler
    const auto first = std::ranges::find_if(report.entries, failed, &PrewarmEntry::failure);
    throw Error(ErrorCode::compile_failed,
                std::to_string(report.failed) + " kernels could not be built" +
                    (first == report.entries.end() ? "" : "; " + to_string(first->problem) + ": " + first->failure));
  }
  if (report.stored < report.compiled + report.cached) {
    throw Error(ErrorCode::io_error, std::to_string(report.compiled + report.cached - report.stored) +
                                         " kernels lie in no layer on disk" +
                                         (report.store_failure.empty() ? "" : ": " + report.store_failure));
  }
}

}  // namespace

hotgemm_status hotgemm_tune(hotgemm_context* context, const char* const* problems, size_t count,
                            const hotgemm_tune_options* options, const hotgemm_call* call) {
  return c::guarded(call, [&]() -> hotgemm_status {
    constexpr hotgemm_tune_options kDefaults = HOTGEMM_TUNE_OPTIONS_INIT;
    Context& its_context = context_of(context);
    const hotgemm_tune_options how = options != nullptr ? c::known(*options, kDefaults, "options") : kDefaults;
    const std::vector<Workload> workloads = workloads_of(problems, count);
    const c::Call its_call(call);
    bool is_stopped = false;
    const std::vector<TuneResult> results =
        its_context.tune(workloads, tune_options(how), how.retune != 0, [&](const TuneResult& result) {
          is_stopped = !report(how, result);
          return !is_stopped;
        });
    const auto failed = [](const TuneResult& result) { return !result.failure.empty(); };
    const auto last = std::find_if(results.rbegin(), results.rend(), failed);
    if (is_stopped) return c::fail(call, HOTGEMM_INTERRUPTED, "the progress function ended the tuning");
    if (last == results.rend()) return HOTGEMM_SUCCESS;
    return c::fail(call, status_of(*last), to_string(last->problem) + ": " + last->failure);
  });
}

hotgemm_status hotgemm_prewarm(hotgemm_context* context, const char* const* problems, size_t count,
                               const hotgemm_prewarm_options* options, hotgemm_prewarm_report* report_out) {
  return done(nullptr, [&] {
    Context& its_context = context_of(context);
    const hotgemm_prewarm_options how = c::known(required(options, "options"), HOTGEMM_PREWARM_OPTIONS_INIT, "options");
    if (report_out != nullptr) c::require_size(*report_out, "report");
    const PrewarmReport result = its_context.prewarm(workloads_of(problems, count), prewarm_options(how));
    if (how.entry != nullptr) {
      for (const PrewarmEntry& entry : result.entries) report(how, entry);
    }
    const hotgemm_prewarm_report filled{.size = sizeof(hotgemm_prewarm_report),
                                        .compiled = result.compiled,
                                        .cached = result.cached,
                                        .failed = result.failed,
                                        .stored = result.stored,
                                        .not_started = result.not_started};
    if (report_out != nullptr) c::give(*report_out, filled, "report");
    require_complete(result);
  });
}
