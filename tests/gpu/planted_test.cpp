// Faults are planted in candidates by editing a copy of the templates. `hotgemm tune` must still find the right winner,
// and report the fault of each candidate.

#include "context_impl.hpp"
#include "gpu/gpu_fixture.hpp"

#include "config/shapes.hpp"
#include "gpu/device.hpp"
#include "tune/candidate.hpp"

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <span>
#include <sstream>
#include <string_view>

namespace hotgemm {
namespace {

constexpr double kHangTimeout = 2;     // seconds, as in the command's help
constexpr double kRestartSeconds = 5;  // for a new worker: process, CUDA context, operands

struct Fault {
  const char* kind;    // kind of the reason that the row must give
  const char* before;  // code that replaces the last statement of the kernel; that statement is `run`
};

/// `run(args)` executes the original kernel; `gemm` is the part of the arguments that all families have.
constexpr Fault kFaults[] = {
    {"faulted", "*reinterpret_cast<volatile int*>(0x10) = 1; run(args);"},
    {"hung", "for (long long now = 0; now >= 0;) now = clock64(); run(args);"},
    {"hung", "if (ptx::thread_index() < 32) asm volatile(\"bar.sync 15, 96;\" ::: \"memory\"); run(args);"},
    {"stray write",
     "run(args); if (ptx::block_index() == 0 && ptx::thread_index() == 0)"
     " ptx::st_global_b16(gemm.d + static_cast<u64>(gemm.m) * static_cast<u64>(gemm.ldd) * 2, 0x1234);"},
    {"compile error", "static_assert(kConfig.block_m == 0, \"planted\"); run(args);"},
    {"slow", "for (const long long start = clock64(); clock64() - start < 4'000'000;) {} run(args);"},
    // The faults from here on pass a changed copy of the arguments. Kernels with tensor maps cannot take a copy.
    {"wrong", "GemmArgs less = args; less.k -= 128; run(less);"},
    {"wrong", "GemmArgs one = args; one.alpha = 1; run(one);"},
    {"wrong", "GemmArgs nan = args; nan.alpha = __int_as_float(0x7fffffff); run(nan);"},
};

/// A family, and a problem that only it uses on this GPU.
struct Victim {
  const char* family;
  const char* args;  // type of the kernel's arguments
  const char* gemm;  // expression for the part that all families have
  const char* last;  // last statement of the kernel
  const char* run;   // the same statement with the argument `a`
  std::int64_t n;
  std::size_t faults;
};
void PrintTo(const Victim& victim, std::ostream* out) { *out << victim.family; }

constexpr Victim kVictims[] = {
    {"mma", "GemmArgs", "args", "MmaGemm<kTraits, kConfig>(args, tile, ptx::thread_index()).run();",
     "MmaGemm<kTraits, kConfig>(a, tile, ptx::thread_index()).run();", 1020, std::size(kFaults)},
    {"wgmma", "WgmmaArgs", "args.gemm",
     "WgmmaGemm<kTraits, kConfig, Instruction, Parts>(args, ptx::thread_index()).run();",
     "WgmmaGemm<kTraits, kConfig, Instruction, Parts>(a, ptx::thread_index()).run();", 1024, std::size(kFaults) - 3},
};

std::string is_config(const KernelConfig& config) {
  std::string text;
  std::visit(
      [&]<class Config>(const Config& c) {
        Config::visit_fields(c, [&](const ConfigField& field, const auto& value) {
          text += std::string(text.empty() ? "" : " && ") + "kConfig." + field.name + " == " + std::to_string(value);
        });
      },
      config);
  return text;
}

class PlantedTest : public GpuTest, public testing::WithParamInterface<Victim> {
 protected:
  std::string cache() const { return (directory_.path() / "cache").string(); }
  std::string templates() const { return (directory_.path() / "templates").string(); }

  /// Runs the command and returns its JSON. `status` gets the exit status.
  nlohmann::json tune(const std::string& environment, int* status) const {
    const std::string command = environment + " " + HOTGEMM_COMMAND + " tune --shape 1024x" +
                                std::to_string(GetParam().n) + "x1024 --candidates " + std::to_string(kCandidates) +
                                " --json --quiet --retune --cache-dir " + cache();
    FILE* pipe = ::popen(command.c_str(), "r");
    std::string text;
    for (char part[4096]; const std::size_t size = std::fread(part, 1, sizeof part, pipe);) text.append(part, size);
    *status = WEXITSTATUS(::pclose(pipe));
    return nlohmann::json::parse(text, nullptr, false);
  }

  /// The candidates of the family, without `winner` and the candidates with the same machine code.
  std::vector<KernelConfig> victims(const std::string& winner) {
    Engine& engine = impl_of(gpu().context()).engine();
    const Workload problem = Workload({.m = 1024, .n = GetParam().n, .k = 1024});
    const DeviceInfo device = query_device(driver(), 0);
    std::vector<Candidate> rows = pick_candidates(problem, device, kCandidates);
    build_candidates(rows, problem, gpu().state().environment(), engine, 0);
    merge_twins(rows, problem);
    std::vector<KernelConfig> configs;
    for (const Candidate& c : rows) {
      if (c.is_alive() && to_string(c.config) != winner && family_of(c.config).name == GetParam().family) {
        configs.push_back(c.config);
      }
    }
    return configs;
  }

  void plant(const std::vector<KernelConfig>& victims) const {
    const Victim& v = GetParam();
    std::filesystem::copy(HOTGEMM_SOURCE_DIR "/templates", templates(), std::filesystem::copy_options::recursive);
    const std::string file = templates() + "/" + v.family + ".cuh";
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    std::string edited = text.str();
    const std::string last = std::string("  ") + v.last + "\n";
    const std::size_t at = edited.find(last);
    ASSERT_NE(at, edited.npos);
    std::string planted = std::string("  const auto run = [&](const ") + v.args + "& a) { " + v.run +
                          " };\n  [[maybe_unused]] const GemmArgs& gemm = " + v.gemm + ";\n  ";
    for (std::size_t i = 0; i < v.faults; ++i) {
      planted += "if constexpr (" + is_config(victims[i]) + ") { " + kFaults[i].before + " }\n  else ";
    }
    edited.replace(at, last.size(), planted + "run(args);\n");
    std::ofstream(file) << edited;
  }

  static constexpr int kCandidates = 24;

 private:
  TemporaryDirectory directory_;
};

TEST_P(PlantedTest, CostTheirOwnRowsAndNoMore) {
  if (small_run()) GTEST_SKIP() << "a checker cannot go on after a fault";
  const std::span faults(kFaults, GetParam().faults);
  int status = -1;
  const nlohmann::json sound = tune("", &status);
  ASSERT_EQ(status, 0);
  const nlohmann::json& winner = sound["results"][0];
  const std::vector<KernelConfig> victims = this->victims(winner["config"]);
  if (victims.empty()) GTEST_SKIP() << "this GPU has no candidates of this family";
  ASSERT_GE(victims.size(), faults.size());
  plant(victims);

  const auto start = std::chrono::steady_clock::now();
  const nlohmann::json report = tune("HOTGEMM_TEMPLATE_DIR=" + templates(), &status);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ASSERT_EQ(status, 0) << report;
  const nlohmann::json& result = report["results"][0];
  std::map<std::string, std::string> reasons;
  for (const nlohmann::json& r : result["rejections"]) reasons[r["config"]] = r["reason"];
  double allowed = sound["results"][0]["seconds"].get<double>() + 20;  // everything is compiled again
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const std::string name = to_string(victims[i]);
    EXPECT_NE(result["config"], name) << faults[i].before;
    const std::string reason = reasons.contains(name) ? reasons[name] : "";
    std::printf("%-14s %s: %.120s\n", faults[i].kind, name.c_str(), reason.c_str());
    EXPECT_EQ(kind_of(reason), faults[i].kind) << name << ": " << reason;
    if (kind_of(reason) == "hung") allowed += kHangTimeout + kRestartSeconds;
    if (kind_of(reason) == "faulted") allowed += kRestartSeconds;
  }
  // The winner had no fault, so it wins again, or a config that is equally fast does.
  EXPECT_TRUE(result["config"] == winner["config"] ||
              result["median_us"].get<double>() < 1.03 * winner["median_us"].get<double>())
      << result << "\n"
      << winner;
  std::printf("%.1f s, of which at most %.1f were allowed\n", seconds, allowed);
  EXPECT_LT(seconds, allowed);

  const auto again_start = std::chrono::steady_clock::now();
  const nlohmann::json again = tune("HOTGEMM_TEMPLATE_DIR=" + templates(), &status);
  const double again_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - again_start).count();
  ASSERT_EQ(status, 0) << again;
  int remembered = 0;
  for (const nlohmann::json& r : again["results"][0]["rejections"]) {
    remembered += kind_of(r["reason"].get<std::string>()) == "remembered";
  }
  const auto is_dangerous = [](const Fault& f) {
    return std::string_view(f.kind) != "compile error" && std::string_view(f.kind) != "slow";
  };
  EXPECT_EQ(remembered, std::ranges::count_if(faults, is_dangerous))
      << "every candidate that ran and was wrong or dangerous is remembered";
  std::printf("%.1f s when they are remembered\n", again_seconds);
  EXPECT_LT(again_seconds, seconds - 2 * kHangTimeout);
}

INSTANTIATE_TEST_SUITE_P(Families, PlantedTest, testing::ValuesIn(kVictims),
                         [](const auto& info) { return info.param.family; });

}  // namespace
}  // namespace hotgemm
