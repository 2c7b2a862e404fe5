// tools/fit-model: see its --help.

#include "plan/model_fit.hpp"

#include <hotgemm/error.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

struct Options {
  std::vector<std::filesystem::path> fit, judge;
  int held_back = 4;
};

/// The files below `path`, or the file itself.
std::vector<std::filesystem::path> files_of(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

/// The problems of all traces, in an order that does not depend on how they are divided into files.
std::vector<MeasuredProblem> read_problems(const std::vector<std::filesystem::path>& paths) {
  std::vector<MeasuredProblem> all;
  for (const std::filesystem::path& path : paths) {
    for (const std::filesystem::path& file : files_of(path)) {
      std::ifstream in(file, std::ios::binary);
      if (!in) throw Error(ErrorCode::io_error, "cannot read " + file.string());
      const std::string text((std::istreambuf_iterator<char>(in)), {});
      std::ranges::move(measured_problems(parse_trace(text).lines), std::back_inserter(all));
    }
  }
  std::ranges::stable_sort(all, {}, [](const MeasuredProblem& m) { return to_string(m.problem); });
  return all;
}

void print_regret(const char* name, const std::vector<MeasuredProblem>& problems, const WgmmaModel& fitted) {
  if (problems.empty()) return;
  double worst = 0;
  const MeasuredProblem* of = nullptr;
  for (const MeasuredProblem& measured : problems) {
    const double loss = regret(measured, fitted);
    if (of == nullptr || loss > worst) worst = loss, of = &measured;
  }
  fmt::print("{:<12}{:>9}{:>10.2f}{:>10.2f}{:>10.2f}  {}\n", name, problems.size(), 100 * mean_regret(problems, {}),
             100 * mean_regret(problems, fitted), 100 * worst, to_string(of->problem));
}

void print_constants(const WgmmaModel& fitted) {
  const WgmmaModel present;
  fmt::print("\n{:<22}{:>12}{:>12}\n", "constant", "present", "fitted");
  for (const WgmmaConstant& constant : kWgmmaConstants) {
    const double before = present.*constant.member, after = fitted.*constant.member;
    fmt::print("{:<22}{:>12.4g}{:>12.4g}{}\n", constant.name, before, after, before == after ? "" : "  *");
  }
}

int run(const Options& options) {
  std::vector<MeasuredProblem> fit, held_back;
  const std::vector<MeasuredProblem> measured = read_problems(options.fit);
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const bool is_held_back = options.held_back > 0 && i % static_cast<std::size_t>(options.held_back) == 0;
    (is_held_back ? held_back : fit).push_back(measured[i]);
  }
  if (fit.empty()) throw Error(ErrorCode::invalid_argument, "the traces hold no problem with two measured configs");
  const WgmmaModel fitted = fit_model(fit, {}, [](double loss) { fmt::print(stderr, "loss {:.5f}\n", loss); });
  fmt::print("{:<12}{:>9}{:>10}{:>10}{:>10}  {}\n", "regret in %", "problems", "present", "fitted", "worst", "of");
  print_regret("fit", fit, fitted);
  print_regret("held back", held_back, fitted);
  print_regret("judge", read_problems(options.judge), fitted);
  print_constants(fitted);
  return 0;
}

}  // namespace
}  // namespace hotgemm

int main(int argc, char** argv) {
  hotgemm::Options options;
  CLI::App app(
      "Fits the constants of src/plan/wgmma_model.hpp to traces of `hotgemm bench --exhaustive`, and prints\n"
      "them beside the present ones, with the time that picks by the model lose. It changes no file.",
      "fit-model");
  app.add_option("traces", options.fit, "traces to fit to: files, or directories of them")->required();
  app.add_option("--judge", options.judge, "traces that are only judged on, those of another GPU for instance");
  app.add_option("--held-back", options.held_back,
                 "of the first traces, one problem of so many is judged on too; 0: none");
  CLI11_PARSE(app, argc, argv);
  try {
    return hotgemm::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "fit-model: {}\n", error.what());
    return 1;
  }
}
