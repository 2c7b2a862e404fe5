#include "commands.hpp"
#include "problem_options.hpp"
#include "progress.hpp"
#include "table.hpp"
#include "tune_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace hotgemm::command {
namespace {

struct TuneCommand {
  ProblemOptions problems;
  TuningOptions tuning;
  bool retune = false;
  bool rejections = false;
};

Json result_json(const TuneResult& r) {
  Json json{{"problem", to_string(r.problem)}, {"config", r.config}, {"launch", r.launch}};
  if (r.failure.empty()) {
    json["median_us"] = r.median_us;
    json["tflops"] = r.tflops;
  }
  json["measured"] = r.measured;
  json["seconds"] = r.seconds;
  json["was_recorded"] = r.was_recorded;
  json["rejections"] = Json::array();
  for (const Rejection& rejection : r.rejections) {
    json["rejections"].push_back(
        {{"config", rejection.config}, {"stage", rejection.stage}, {"reason", rejection.reason}});
  }
  if (!r.failure.empty()) json["failure"] = r.failure;
  return json;
}

std::string progress_line(const TuneResult& r, std::size_t done, std::size_t total) {
  const std::string head = fmt::format("[{}/{}] {}: ", done, total, label(r.problem));
  if (!r.failure.empty()) return head + "failed";
  return head +
         fmt::format("{} {}, {:.1f} us, {:.1f} TFLOP/s, {}", r.config, r.launch, r.median_us, r.tflops,
                     r.was_recorded ? "recorded before" : fmt::format("{} measured, {:.1f} s", r.measured, r.seconds));
}

void print_table(const Session& session, const std::vector<TuneResult>& results) {
  Table table({{"problem"},
               {"config"},
               {"launch"},
               {"µs", true},
               {"TFLOP/s", true},
               {"measured", true},
               {"rejected", true},
               {"seconds", true}});
  for (const TuneResult& r : results) {
    if (!r.failure.empty()) {
      table.add({label(r.problem), "failed", "-", "-", "-", "-", "-", "-"});
      continue;
    }
    table.add({label(r.problem), r.config, r.launch, number(r.median_us, 1), number(r.tflops, 1),
               r.was_recorded ? "recorded" : std::to_string(r.measured),
               r.was_recorded ? "-" : std::to_string(r.rejections.size()), number(r.seconds, 1)});
  }
  session.print(table.text());
}

void print_rejections(const Session& session, const std::vector<TuneResult>& results) {
  Table table({{"problem"}, {"rejected"}, {"stage"}, {"reason"}});
  for (const TuneResult& r : results) {
    for (const Rejection& rejection : r.rejections) {
      table.add({label(r.problem), rejection.config, rejection.stage,
                 rejection.reason.substr(0, rejection.reason.find('\n'))});
    }
  }
  session.print(table.empty() ? "no candidate was rejected" : "\n" + table.text());
}

int exit_code_for(const std::vector<TuneResult>& results) {
  const auto failed = [](const TuneResult& r) { return !r.failure.empty(); };
  if (is_interrupted()) return kInterrupted;
  if (std::ranges::none_of(results, failed)) return kGood;
  const auto ended_with = [](ErrorCode code) {
    return [code](const TuneResult& r) { return !r.failure.empty() && r.failure_code == code; };
  };
  if (std::ranges::any_of(results, ended_with(ErrorCode::wrong_result))) return kWrongNumbers;
  if (std::ranges::any_of(results, ended_with(ErrorCode::compile_failed))) explain_failed_builds();
  return kSomeFailed;
}

int run_tune(Session& session, const TuneCommand& command) {
  const std::vector<Problem> problems = require_problems(command.problems, DefaultAlignment::packed);
  const Gpu gpu(session);
  Context context(context_options(session));
  const TuneOptions options = tune_options(command.tuning, gpu);

  session.output["results"] = Json::array();
  std::vector<TuneResult> results;
  {
    Progress progress("tune", session.quiet);
    progress.update(0, problems.size());
    const auto each = [&](const TuneResult& result) {
      session.output["results"].push_back(result_json(result));
      progress.line(progress_line(result, session.output["results"].size(), problems.size()));
      return !is_interrupted();
    };
    results = context.tune(problems, options, command.retune, each);
  }
  print_table(session, results);
  if (command.rejections) print_rejections(session, results);
  for (const TuneResult& r : results) {
    if (!r.failure.empty()) fmt::print(stderr, "hotgemm: {}: {}\n", label(r.problem), r.failure);
  }
  if (is_interrupted()) session.note("hotgemm: interrupted; the results above are recorded");
  return exit_code_for(results);
}

}  // namespace

void add_tune_command(CLI::App& app, Session& session) {
  const auto command = std::make_shared<TuneCommand>();
  CLI::App& sub =
      add_subcommand(app, session, "tune", "measure candidate kernels for problems on this GPU, and record the fastest",
                     [&session, command] { return run_tune(session, *command); });
  add_problem_options(sub, command->problems, DefaultAlignment::packed);
  add_tuning_options(sub, command->tuning);
  sub.add_option("--rounds", command->tuning.rounds, "of the final comparison")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  sub.add_flag("--retune", command->retune, "measure again where there is a record");
  sub.add_flag("--rejections", command->rejections, "list the candidates that were not picked, with stage and reason");
}

}  // namespace hotgemm::command
