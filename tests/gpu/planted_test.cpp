// Faults planted in candidates, by editing a copy of the templates: `hotgemm tune` ends with the right winner, and says
// what happened to each.

#include "gpu_fixture.hpp"

#include "candidate.hpp"
#include "gpu/device.hpp"

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace hotgemm {
namespace {

constexpr double kHangTimeout = 2;     // seconds: what the command's help states
constexpr double kRestartSeconds = 5;  // a new worker: process, CUDA context, operands

struct Fault {
  const char* kind;    // of the reason that its row must give; empty for one that is merely slow
  const char* before;  // code in place of the kernel's last statement, which is `run`
};

/// `run(args)` is the kernel as it was.
constexpr Fault kFaults[] = {
    {"faulted", "*reinterpret_cast<volatile int*>(0x10) = 1; run(args);"},
    {"hung", "for (long long now = 0; now >= 0;) now = clock64(); run(args);"},
    {"hung", "if (ptx::thread_index() < 32) asm volatile(\"bar.sync 1, 96;\" ::: \"memory\"); run(args);"},
    {"wrong", "GemmArgs less = args; less.k -= 32; run(less);"},
    {"wrong", "GemmArgs nan = args; nan.alpha = __int_as_float(0x7fffffff); run(nan);"},
    {"stray write",
     "run(args); if (ptx::block_index() == 0 && ptx::thread_index() == 0)"
     " ptx::st_global_b16(args.d + static_cast<u64>(args.m) * static_cast<u64>(args.ldd) * 2, 0x1234);"},
    {"compile error", "static_assert(kConfig.block_m == 0, \"planted\"); run(args);"},
    {"slow", "for (volatile int i = 0; i < 100; i = i + 1) { run(args); ptx::bar_sync(); }"},
};

std::string is_config(const MmaConfig& config) {
  std::string text;
  MmaConfig::visit_fields(config, [&](const char* name, const char*, const auto& value) {
    text += std::string(text.empty() ? "" : " && ") + "kConfig." + name + " == " + std::to_string(value);
  });
  return text;
}

class PlantedTest : public GpuTest {
 protected:
  std::string cache() const { return (directory_.path() / "cache").string(); }
  std::string templates() const { return (directory_.path() / "templates").string(); }

  /// The command's JSON; its exit status in `status`.
  nlohmann::json tune(const std::string& environment, int* status) const {
    const std::string command = environment + " " + HOTGEMM_COMMAND + " tune --shape 1024x1024x1024 --candidates " +
                                std::to_string(kCandidates) + " --json --quiet --retune --cache-dir " + cache();
    FILE* pipe = ::popen(command.c_str(), "r");
    std::string text;
    for (char part[4096]; const std::size_t size = std::fread(part, 1, sizeof part, pipe);) text.append(part, size);
    *status = WEXITSTATUS(::pclose(pipe));
    return nlohmann::json::parse(text, nullptr, false);
  }

  /// The candidates of family mma, without `winner` and whatever has its machine code.
  std::vector<MmaConfig> victims(const std::string& winner) {
    Engine& engine = gpu().context().impl().engine();
    const Problem problem{.m = 1024, .n = 1024, .k = 1024};
    const DeviceInfo device = query_device(driver(), 0);
    std::vector<Candidate> rows = pick_candidates(problem, device, kCandidates);
    build_candidates(rows, problem, gpu().state().environment(), engine, 0);
    merge_twins(rows, problem);
    std::vector<MmaConfig> configs;
    for (const Candidate& c : rows) {
      if (c.is_alive() && to_string(c.config) != winner) configs.push_back(std::get<MmaConfig>(c.config));
    }
    return configs;
  }

  void plant(const std::vector<MmaConfig>& victims) const {
    std::filesystem::copy(HOTGEMM_SOURCE_DIR "/templates", templates(), std::filesystem::copy_options::recursive);
    const std::string file = templates() + "/mma.cuh";
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    std::string edited = text.str();
    const std::string last = "  MmaGemm<kTraits, kConfig>(args, tile, ptx::thread_index()).run();\n";
    const std::size_t at = edited.find(last);
    ASSERT_NE(at, edited.npos);
    std::string planted =
        "  const auto run = [&](const GemmArgs& a) { MmaGemm<kTraits, kConfig>(a, tile, ptx::thread_index()).run(); "
        "};\n"
        "  ";
    for (std::size_t i = 0; i < std::size(kFaults); ++i) {
      planted += "if constexpr (" + is_config(victims[i]) + ") { " + kFaults[i].before + " }\n  else ";
    }
    edited.replace(at, last.size(), planted + "run(args);\n");
    std::ofstream(file) << edited;
  }

  static constexpr int kCandidates = 24;

 private:
  TemporaryDirectory directory_;
};

TEST_F(PlantedTest, CostTheirOwnRowsAndNoMore) {
  if (small_run()) GTEST_SKIP() << "a checker cannot go on after a fault";
  int status = -1;
  const nlohmann::json sound = tune("", &status);
  ASSERT_EQ(status, 0);
  const nlohmann::json& winner = sound["results"][0];
  const std::vector<MmaConfig> victims = this->victims(winner["config"]);
  ASSERT_GE(victims.size(), std::size(kFaults));
  plant(victims);

  const auto start = std::chrono::steady_clock::now();
  const nlohmann::json report = tune("HOTGEMM_TEMPLATE_DIR=" + templates(), &status);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ASSERT_EQ(status, 0) << report;
  const nlohmann::json& result = report["results"][0];
  std::map<std::string, std::string> reasons;
  for (const nlohmann::json& r : result["rejections"]) reasons[r["config"]] = r["reason"];
  double allowed = sound["results"][0]["seconds"].get<double>() + 20;  // everything is compiled anew
  for (std::size_t i = 0; i < std::size(kFaults); ++i) {
    const std::string name = to_string(victims[i]);
    EXPECT_NE(result["config"], name) << kFaults[i].before;
    const std::string reason = reasons.contains(name) ? reasons[name] : "";
    std::printf("%-14s %s: %.120s\n", kFaults[i].kind, name.c_str(), reason.c_str());
    EXPECT_EQ(kind_of(reason), kFaults[i].kind) << name << ": " << reason;
    if (kind_of(reason) == "hung") allowed += kHangTimeout + kRestartSeconds;
    if (kind_of(reason) == "faulted") allowed += kRestartSeconds;
  }
  // Not planted, so what won before wins again, or what cannot be told from it.
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
  EXPECT_EQ(remembered, 6) << "all that ran and was wrong or dangerous";
  std::printf("%.1f s when they are remembered\n", again_seconds);
  EXPECT_LT(again_seconds, seconds - 2 * kHangTimeout);
}

}  // namespace
}  // namespace hotgemm
