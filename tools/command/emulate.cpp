#include "command/commands.hpp"
#include "command/named_config.hpp"
#include "command/problem_options.hpp"
#include "command/table.hpp"

#if defined(HOTGEMM_HAS_EMULATED_DEVICE)
#include "base/moment.hpp"
#include "config/problem_text.hpp"
#include "config/template_bundle.hpp"
#include "config/traits.hpp"
#include "emulate/gemm_run.hpp"
#endif

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm::command {
namespace {

struct EmulateCommand {
  ProblemOptions problems;
  std::string family;
  std::string config;
  std::string data = "normal";
  std::uint64_t seed = 1;
  bool list = false;
};

#if defined(HOTGEMM_HAS_EMULATED_DEVICE)

using emulate::Counters;
using emulate::GemmCase;
using emulate::GemmData;
using emulate::GemmRun;
using emulate::Instruction;

// Takes about half a minute. Sizes for emulation should be awkward rather than large.
constexpr double kMostMultiplications = 0x1p31;

struct Outcome {
  const emulate::GemmKernel* kernel;
  GemmRun run;
  double worst_error;   ///< in units of the gate
  std::string inexact;  ///< for integer data: the first element that is not exact
  double seconds;

  bool is_good() const { return run.report.findings.empty() && worst_error <= 1 && inexact.empty(); }
};

/// The kernel that the options ask for, or nullptr.
const emulate::GemmKernel* find_kernel(const EmulateCommand& command, const Workload& problem) {
  const GemmTraits traits = traits_of(problem);
  if (!command.config.empty()) return emulate::find_gemm_kernel(named_config(command.config).config, traits);
  if (!command.family.empty()) return emulate::find_gemm_kernel(command.family, traits);
  const emulate::GemmKernel* const kernel = emulate::find_gemm_kernel("mma", traits);
  return kernel != nullptr ? kernel : emulate::find_gemm_kernel("simt", traits);
}

/// Says that the kernel which the options ask for is not built, and which kernels of a named config are.
std::string absence_of(const EmulateCommand& command, const Workload& problem) {
  std::string which;
  std::string others;
  if (!command.config.empty()) {
    const KernelConfig config = named_config(command.config).config;
    which = "of " + to_string(config) + " ";
    for (const auto* kernels : {&emulate::gemm_kernels(), &emulate::rung_kernels()}) {
      for (const emulate::GemmKernel& kernel : *kernels) {
        if (kernel.config == config) others += (others.empty() ? "" : ", ") + to_string(kernel.traits);
      }
    }
  } else if (!command.family.empty()) {
    which = "of family " + command.family + " ";
  }
  return fmt::format("no kernel {}for {} (that is {}) is built for the emulated device; {}", which, label(problem),
                     to_string(traits_of(problem)),
                     others.empty() ? "--list shows those that are" : "this config is built for " + others);
}

/// Throws if HOTGEMM_TEMPLATE_DIR has another template than the one that `kernel` was built from: a finding, or none,
/// would be about the wrong code.
void require_built_template(const emulate::GemmKernel& kernel) {
  const TemplateBundle chosen = TemplateBundle::from_environment();
  const std::string_view header = family_of(kernel.config).header;
  if (chosen.digest(header) == TemplateBundle::embedded().digest(header)) return;
  throw Error(
      ErrorCode::io_error,
      fmt::format("{} in HOTGEMM_TEMPLATE_DIR={}, or a file that it includes, is not what this hotgemm was built "
                  "from, and the emulated device runs built kernels only: edit templates/ of the source tree, "
                  "and build the target hotgemm_command again",
                  header, chosen.origin()));
}

Outcome emulate_problem(const EmulateCommand& command, const emulate::GemmKernel& kernel, const Workload& problem) {
  const GemmCase c{.problem = problem,
                   .beta = problem.hints.beta_is_zero ? 0.0f : 1.0f,
                   .data = command.data == "integers" ? GemmData::integers : GemmData::normal,
                   .data_seed = command.seed,
                   .counts_accesses = true};
  const emulate::GemmMatrices matrices = emulate::make_matrices(c);
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome{.kernel = &kernel,
                  .run = emulate::run_gemm(kernel, c, matrices, command.seed),
                  .worst_error = 0,
                  .inexact = {},
                  .seconds = 0};
  outcome.seconds = seconds_since(start);
  const emulate::GemmReference reference(c, matrices);
  outcome.worst_error = reference.worst_error(outcome.run.d);
  if (c.data == GemmData::integers) outcome.inexact = reference.first_inexact(outcome.run.d);
  return outcome;
}

void print_counters(Session& session, const Counters& counters, Json& json) {
  Table table({{"instruction"}, {"executed", true}, {"by"}, {"bank phases", true}, {"conflicts", true}});
  json["instructions"] = Json::object();
  for (std::size_t i = 0; i < emulate::kInstructions; ++i) {
    const auto instruction = static_cast<Instruction>(i);
    const Counters::One& one = counters[instruction];
    if (one.executions == 0) continue;
    const bool has_phases = one.phases != 0;
    const char* const by = emulate::is_warp_wide(instruction) ? "warps" : "threads";
    table.add({std::string(to_string(instruction)), std::to_string(one.executions), by,
               has_phases ? std::to_string(one.phases) : "", has_phases ? std::to_string(one.conflicts) : ""});
    Json& entry =
        json["instructions"][std::string(to_string(instruction))] = {{"executed", one.executions}, {"by", by}};
    if (has_phases) entry.update({{"bank_phases", one.phases}, {"bank_conflicts", one.conflicts}});
  }
  json["uneven_copy_groups"] = counters.uneven_copy_groups;
  json["uneven_accesses"] = counters.uneven_accesses;
  session.print(table.text());
  if (counters.uneven_copy_groups != 0) {
    session.print(fmt::format(
        "{} groups of copies are not counted in the bank phases, because lanes issued different numbers of copies",
        counters.uneven_copy_groups));
  }
  if (counters.uneven_accesses != 0) {
    session.print(fmt::format(
        "{} groups of loads and stores are not counted in the bank phases, because lanes made different ones",
        counters.uneven_accesses));
  }
}

void print_outcome(Session& session, const Workload& problem, const Outcome& outcome, Json& json) {
  const emulate::GemmKernel& kernel = *outcome.kernel;
  json["config"] = to_string(kernel.config);
  json["traits"] = to_string(kernel.traits);
  // The error of a NaN is infinite, and JSON has no infinity.
  json["error_over_gate"] = std::isfinite(outcome.worst_error) ? Json(outcome.worst_error) : Json();
  json["seconds"] = outcome.seconds;
  json["findings"] = Json::array();
  session.print(fmt::format("{} by {} for {}", label(problem), to_string(kernel.config), to_string(kernel.traits)));
  session.print(fmt::format("largest error / gate {:.3g}, {} findings, {:.2f} s\n", outcome.worst_error,
                            outcome.run.report.findings.size(), outcome.seconds));
  print_counters(session, outcome.run.report.counters, json);
  if (!outcome.inexact.empty()) {
    json["inexact"] = outcome.inexact;
    session.print("not exact: " + outcome.inexact);
  }
  for (const emulate::Finding& finding : outcome.run.report.findings) {
    json["findings"].push_back(to_string(finding));
    session.print(to_string(finding));
  }
}

/// The kernels of the family or the config that the options name, else all.
int list_kernels(Session& session, const EmulateCommand& command) {
  std::optional<KernelConfig> config;
  if (!command.config.empty()) config = named_config(command.config).config;
  Table table({{"config"}, {"for"}});
  session.output["kernels"] = Json::array();
  for (const auto* kernels : {&emulate::gemm_kernels(), &emulate::rung_kernels()}) {
    for (const emulate::GemmKernel& kernel : *kernels) {
      if (config && kernel.config != *config) continue;
      if (!command.family.empty() && family_of(kernel.config).name != command.family) continue;
      table.add({to_string(kernel.config), to_string(kernel.traits)});
      session.output["kernels"].push_back({{"config", to_string(kernel.config)}, {"traits", to_string(kernel.traits)}});
    }
  }
  session.print(table.text());
  return kGood;
}

int run_emulate(Session& session, const EmulateCommand& command) {
  if (command.list) {
    session.schema = "emulate-list";
    return list_kernels(session, command);
  }
  const std::vector<Workload> problems = require_problems(command.problems);
  session.output["seed"] = command.seed;
  session.output["results"] = Json::array();
  int exit_code = kGood;
  for (const Workload& problem : problems) {
    Json json{{"problem", to_string(problem)}};
    const double multiplications =
        static_cast<double>(problem.m) * static_cast<double>(problem.n) * static_cast<double>(problem.k);
    if (multiplications > kMostMultiplications) {
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("{}: too large; the emulated device accepts at most 2^31 multiplications", label(problem)));
    }
    const emulate::GemmKernel* const kernel = find_kernel(command, problem);
    if (kernel == nullptr) {
      throw Error(ErrorCode::not_supported, absence_of(command, problem));
    }
    require_built_template(*kernel);
    const Outcome outcome = emulate_problem(command, *kernel, problem);
    print_outcome(session, problem, outcome, json);
    session.output["results"].push_back(json);
    if (!outcome.is_good()) exit_code = kWrongNumbers;
  }
  return exit_code;
}

#else

int run_emulate(Session&, const EmulateCommand&) {
  throw Error(ErrorCode::io_error,
              "this hotgemm was built without the emulated device; build one with HOTGEMM_BUILD_EMULATE=ON, where "
              "Boost.Context (libboost-context-dev) is found");
}

#endif

}  // namespace

void add_emulate_command(CLI::App& app, Session& session) {
  const auto command = std::make_shared<EmulateCommand>();
  CLI::App& sub = add_subcommand(
      app, session, "emulate",
      "run kernels on this CPU, thread by thread, and check results, synchronisation and memory accesses; needs no GPU",
      [&session, command] { return run_emulate(session, *command); },
      {.device = false, .cache = false, .progress = false});
  add_problem_options(sub, command->problems);
  std::vector<std::string> names;
  for (const Family& family : families()) names.emplace_back(family.name);
  sub.add_option("--family", command->family, "the family of the kernel (default: mma if it computes the problem)")
      ->check(CLI::IsMember(names));
  sub.add_option("--config", command->config, "the name of a config that --list shows, or of a rung")
      ->type_name("CONFIG");
  sub.add_option("--data", command->data, "normally distributed values; or integers, whose product must be exact")
      ->capture_default_str()
      ->check(CLI::IsMember({"normal", "integers"}));
  sub.add_option("--seed", command->seed, "seed for the data and for the order of events")->capture_default_str();
  sub.add_flag("--list", command->list,
               "list the kernels, of --family or --config if one is given, that are built for the emulated device");
}

}  // namespace hotgemm::command
