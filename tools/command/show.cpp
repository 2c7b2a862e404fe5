#include "command/arch_option.hpp"
#include "command/commands.hpp"
#include "command/config_page.hpp"
#include "command/named_config.hpp"
#include "command/output_file.hpp"
#include "command/problem_options.hpp"
#include "command/table.hpp"
#include "config/expanded_source.hpp"
#include "config/refusal.hpp"
#include "config/render.hpp"
#include "config/repack.hpp"
#include "config/traits.hpp"
#include "context_impl.hpp"
#include "plan/candidates.hpp"
#include "plan/choice.hpp"
#include "plan/model.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <vector>

namespace hotgemm::command {
namespace {

struct ShowCommand {
  std::string config;
  ProblemOptions problems;
  std::string arch;
  std::size_t top = 10;
  bool source = false;
  bool build = false;
  std::string cubin_file;
  bool anchors = false;
  bool all = false;
  std::vector<CLI::Option*> of_problems;  // list configs

  bool wants_kernel() const { return source || build || !cubin_file.empty(); }
};

/// Executes --source, --build and --cubin for one kernel.
void show_kernel(Session& session, const ShowCommand& command, Engine& engine, const KernelConfig& config,
                 const Workload& problem, const std::string& arch) {
  const GemmTraits traits = traits_of(repacked(problem, config));
  if (!is_legal(config, traits, arch_limits(arch))) {
    throw Error(ErrorCode::not_supported, fmt::format("{} is not legal for {} on {}: {}", to_string(config),
                                                      label(problem), arch, refusal(config, traits, arch)));
  }
  const KernelSource source = render(config, traits, arch, engine.bundle);
  session.output["kernel"] = Json{{"symbol", source.symbol}, {"identity", source.identity.hex()}, {"arch", arch}};
  Json& json = session.output["kernel"];
  if (command.source) {
    const std::string whole = expanded_source(source, engine.bundle);
    json["source"] = whole;
    json["options"] = source.options;
    std::string_view text = whole;
    if (text.ends_with('\n')) text.remove_suffix(1);
    session.print(text);
  }
  if (!command.build && command.cubin_file.empty()) return;
  const BuildResult built = engine.builder.build(source);
  const Cubin& cubin = *built.cubin;
  json["from_cache"] = built.from_cache;
  json["toolchain"] = cubin.toolchain;
  json["registers"] = cubin.registers;
  json["spill_bytes"] = cubin.spill_bytes;
  json["smem_bytes"] = smem_bytes(config, traits);
  json["compile_ms"] = cubin.compile_ms;
  if (command.build) {
    session.print(fmt::format("{} for {}: {} registers, {} bytes spilled, {} bytes of shared memory, {:.0f} ms{}",
                              to_string(config), arch, cubin.registers, cubin.spill_bytes, smem_bytes(config, traits),
                              cubin.compile_ms,
                              built.from_cache ? " (when it was compiled; now read from the cache)" : ""));
  }
  if (!command.cubin_file.empty()) {
    write_file(command.cubin_file, {reinterpret_cast<const char*>(cubin.image.data()), cubin.image.size()});
    session.note(fmt::format("{} bytes written to {}", cubin.image.size(), command.cubin_file));
  }
}

int show_config(Session& session, const ShowCommand& command, const std::vector<Workload>& problems) {
  for (const CLI::Option* option : command.of_problems) {
    if (option->count() > 0)
      throw Error(ErrorCode::invalid_argument, option->get_name() + " is for problems, not for a config");
  }
  if (problems.size() > 1) {
    throw Error(ErrorCode::invalid_argument, "a config is shown for one problem: give one problem only");
  }
  const auto [config, example] = named_config(command.config);
  Workload problem(example);
  if (!problems.empty()) problem = problems.front();
  const std::string arch = planned_device(session, command.arch).arch;
  if (const std::string impossible = refusal_of_fields(config, traits_of(repacked(problem, config)), arch);
      !impossible.empty())
    throw Error(ErrorCode::invalid_argument, command.config + ": " + impossible);
  if (!command.wants_kernel()) {
    describe_config(session, config, problem, problems.empty());
    return kGood;
  }
  Context context(context_options(session));
  Engine& engine = impl_of(context).engine();
  add_functions(command.problems, engine.bundle);
  show_kernel(session, command, engine, config, problem, arch);
  return kGood;
}

void list_configs(Session& session, const std::vector<KernelConfig>& ranked, std::size_t top, const Workload& problem,
                  const DeviceInfo& device, Json& json) {
  const ArchLimits& limits = arch_limits(device.arch);
  Table table({{"", true},
               {"config"},
               {"launch"},
               {"predicted µs", true},
               {"TFLOP/s", true},
               {"threads", true},
               {"smem", true},
               {"blocks/SM", true}});
  json = Json::array();
  for (std::size_t i = 0; i < ranked.size() && i < top; ++i) {
    const KernelConfig& config = ranked[i];
    const GemmTraits traits = traits_of(repacked(problem, config));
    const double us = predict_us(config, problem, device);
    const std::string launch = to_string(default_launch(config, problem, device));
    const int resident = resident_blocks(config, traits, limits);
    table.add({std::to_string(i + 1), to_string(config), launch, number(us, 2), number(tflops(problem, us), 1),
               std::to_string(threads(config)), std::to_string(smem_bytes(config, traits)), std::to_string(resident)});
    json.push_back({{"config", to_string(config)},
                    {"launch", launch},
                    {"predicted_us", us},
                    {"threads", threads(config)},
                    {"smem_bytes", smem_bytes(config, traits)},
                    {"blocks_per_sm", resident}});
  }
  session.print(table.text());
}

void show_problem(Session& session, const ShowCommand& command, Engine& engine, const Workload& problem,
                  const DeviceInfo& device, Json& json) {
  const Environment environment{.gpu = device.name, .arch = device.arch, .sm_count = device.sm_count};
  const Choice choice = choose(problem, device.arch, engine.database, engine.query(environment)).front();
  if (command.wants_kernel()) {
    show_kernel(session, command, engine, choice.config, problem, device.arch);
    return;
  }
  const ArchLimits& limits = arch_limits(device.arch);
  const std::vector<KernelConfig> all = candidates(problem, limits);
  const std::vector<KernelConfig> fixed = anchors(problem, limits);
  json = Json{{"problem", to_string(problem)},
              {"config", to_string(choice.config)},
              {"launch", to_string(choice.launch)},
              {"origin", to_string(choice.origin)},
              {"gpu", device.name},
              {"arch", device.arch},
              {"candidates", all.size()},
              {"anchors", fixed.size()}};
  session.print(fmt::format("{} on {} ({}): {}", label(problem), device.name, device.arch, to_string(choice)));
  const std::size_t top = command.all || command.anchors ? all.size() + fixed.size() : command.top;
  list_configs(session, rank(command.anchors ? fixed : all, problem, device), top, problem, device, json["ranked"]);
  session.print(fmt::format("{} candidates, {} of them anchors", all.size(), fixed.size()));
}

/// For a config alone, --layout and --dtype are those of the usual problem.
ProblemOptions problems_of(const ShowCommand& command) {
  ProblemOptions options = command.problems;
  const bool has_problems = !options.shapes.empty() || !options.shape_files.empty();
  const bool has_parts = !options.layouts.empty() || !options.dtypes.empty();
  if (!command.config.empty() && has_parts && !has_problems) options.shapes = {"4096x4096x4096"};
  return options;
}

int run_show(Session& session, const ShowCommand& command) {
  const std::vector<Workload> problems = read_problems(problems_of(command));
  if (!command.config.empty()) return show_config(session, command, problems);
  if (problems.empty()) {
    throw Error(ErrorCode::invalid_argument, "nothing to show; give the name of a config, or --shape MxNxK");
  }
  if (command.wants_kernel() && problems.size() > 1) {
    throw Error(ErrorCode::invalid_argument, "--source, --build and --cubin show one kernel: give one problem only");
  }
  const DeviceInfo device = planned_device(session, command.arch);
  Context context(context_options(session));
  Engine& engine = impl_of(context).engine();
  add_functions(command.problems, engine.bundle);
  session.output["results"] = Json::array();
  for (const Workload& problem : problems) {
    Json json;
    show_problem(session, command, engine, problem, device, json);
    if (!json.is_null()) session.output["results"].push_back(json);
  }
  return kGood;
}

}  // namespace

void add_show_command(CLI::App& app, Session& session) {
  const auto command = std::make_shared<ShowCommand>();
  CLI::App& sub = add_subcommand(
      app, session, "show", "explain a config, or which config would be picked for a problem and why; needs no GPU",
      [&session, command] { return run_show(session, *command); });
  sub.add_option("config", command->config, "the name of a config, mma_m128_n128_..., or of a rung: naive")
      ->type_name("CONFIG");
  add_problem_options(sub, command->problems);
  add_function_option(sub, command->problems);
  add_arch_option(sub, session, command->arch,
                  "the architecture to plan for, as in sm_90a or 90a (default: native, this GPU's; else sm_90a)");
  command->of_problems = {sub.add_option("--top", command->top, "how many candidates to list")->capture_default_str(),
                          sub.add_flag("--all", command->all, "list all candidates"),
                          sub.add_flag("--anchors", command->anchors,
                                       "list the anchors: the configs from which a pick without measuring begins")};
  for (std::size_t i = 0; i < command->of_problems.size(); ++i) {
    for (std::size_t j = i + 1; j < command->of_problems.size(); ++j) {
      command->of_problems[i]->excludes(command->of_problems[j]);
    }
  }
  const std::vector<CLI::Option*> of_kernel = {
      sub.add_flag("--source", command->source, "print the whole code that is compiled, with its templates"),
      sub.add_flag("--build", command->build, "compile, and print registers, spills, shared memory and compile time"),
      sub.add_option("--cubin", command->cubin_file, "compile, and write the cubin to this file (for cuobjdump)")
          ->type_name("FILE")};
  for (CLI::Option* option : of_kernel) {
    for (CLI::Option* listing : command->of_problems) option->excludes(listing);
  }
}

}  // namespace hotgemm::command
