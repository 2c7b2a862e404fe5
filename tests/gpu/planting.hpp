#pragma once

#include "config/kernel_config.hpp"
#include "tune/candidate.hpp"

#include <nlohmann/json.hpp>

#include <sys/wait.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

// Faults are planted in candidates by editing a copy of the templates.

namespace hotgemm {

struct Fault {
  const char* kind;    ///< the kind of the reason for which the candidate must be rejected
  const char* before;  ///< code that replaces the last statement of the kernel; that statement is `run`
};

/// The first blocks write nothing: whole clusters, so that no block waits for one of them.
inline constexpr Fault kMissingTiles{"wrong", "if (ptx::block_index() >= 4) run(args);"};
/// `run(args)` executes the original kernel; `gemm` is the part of the arguments that all families have.
inline constexpr Fault kFaults[] = {
    {"faulted", "*reinterpret_cast<volatile int*>(0x10) = 1; run(args);"},
    {"hung", "for (long long now = 0; now >= 0;) now = clock64(); run(args);"},
    {"hung", "if (ptx::thread_index() < 32) asm volatile(\"bar.sync 15, 96;\" ::: \"memory\"); run(args);"},
    {"stray write",
     "run(args); if (ptx::block_index() == 0 && ptx::thread_index() == 0)"
     " ptx::st_global_b16(gemm.d + static_cast<u64>(gemm.m) * static_cast<u64>(gemm.ldd) * 2, 0x1234);"},
    {"compile error", "static_assert(kConfig.block_m == 0, \"planted\"); run(args);"},
    {"slow", "for (const long long start = clock64(); clock64() - start < 4'000'000;) {} run(args);"},
    kMissingTiles,
    // The faults from here on pass a changed copy of the arguments. Kernels with tensor maps cannot take a copy.
    {"wrong", "GemmArgs less = args; less.k -= 128; run(less);"},
    {"wrong", "GemmArgs one = args; one.alpha = 1; run(one);"},
    {"wrong", "GemmArgs nan = args; nan.alpha = __int_as_float(0x7fffffff); run(nan);"},
};

/// A family, and a problem that only it uses on this GPU.
struct Victim {
  const char* family;
  const char* args;  ///< type of the kernel's arguments
  const char* gemm;  ///< expression for the part that all families have
  const char* last;  ///< last statement of the kernel
  const char* run;   ///< the same statement with the argument `a`
  std::int64_t n;
  std::size_t faults;  ///< the first so many of kFaults can be planted
};
inline void PrintTo(const Victim& victim, std::ostream* out) { *out << victim.family; }

inline constexpr Victim kVictims[] = {
    {"mma", "GemmArgs", "args", "MmaGemm<kTraits, kConfig>(args, tile, ptx::thread_index()).run();",
     "MmaGemm<kTraits, kConfig>(a, tile, ptx::thread_index()).run();", 1020, std::size(kFaults)},
    {"wgmma", "WgmmaArgs", "args.gemm",
     "WgmmaGemm<kTraits, kConfig, Instruction, Parts>(args, ptx::thread_index()).run();",
     "WgmmaGemm<kTraits, kConfig, Instruction, Parts>(a, ptx::thread_index()).run();", 1024, std::size(kFaults) - 3},
};

/// A copy of the templates.
class Planting {
 public:
  Planting(const Victim& victim, const std::filesystem::path& directory)
      : victim_(victim), templates_(directory / "templates") {
    std::filesystem::copy(HOTGEMM_SOURCE_DIR "/templates", templates_, std::filesystem::copy_options::recursive);
    std::stringstream text;
    text << std::ifstream(file()).rdbuf();
    sound_ = text.str();
    std::ofstream(file(), std::ios::app) << "// A copy.\n";  // so that it never counts as the one that is built in
  }

  std::string templates() const { return templates_.string(); }

  /// Plants the faults, and nothing else: faults[i] in the kernels of victims[i].
  void plant(std::span<const KernelConfig> victims, std::span<const Fault> faults) const {
    const std::string last = std::string("  ") + victim_.last + "\n";
    const std::size_t at = sound_.find(last);
    if (at == sound_.npos) throw std::runtime_error(file() + " does not end its kernel with " + victim_.last);
    std::string planted = std::string("  const auto run = [&](const ") + victim_.args + "& a) { " + victim_.run +
                          " };\n  [[maybe_unused]] const GemmArgs& gemm = " + victim_.gemm + ";\n  ";
    for (std::size_t i = 0; i < faults.size(); ++i) {
      planted += "if constexpr (" + is_config(victims[i]) + ") { " + faults[i].before + " }\n  else ";
    }
    std::string edited = sound_;
    edited.replace(at, last.size(), planted + "run(args);\n");
    std::ofstream(file()) << edited;
  }

  /// The candidates of the victim's family that would be timed, without the one named `winner`, and without those that
  /// divide k: they have another function.
  std::vector<KernelConfig> possible_victims(std::span<const Candidate> candidates, const std::string& winner) const {
    std::vector<KernelConfig> configs;
    for (const Candidate& c : candidates) {
      if (!c.is_alive() || to_string(c.config) == winner || splits_k(c.config)) continue;
      if (family_of(c.config).name == victim_.family) configs.push_back(c.config);
    }
    return configs;
  }

 private:
  std::string file() const { return (templates_ / (std::string(victim_.family) + ".cuh")).string(); }
  static std::string is_config(const KernelConfig& config) {
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

  const Victim& victim_;
  std::filesystem::path templates_;
  std::string sound_;
};

/// `hotgemm tune --retune` of `shape` (MxNxK) in a process of its own.
struct TuneProcess {
  std::string environment;  ///< "NAME=VALUE …"
  std::string shape;
  int candidates = 0;
  std::string cache;

  /// The command's JSON. `status` gets the exit status.
  nlohmann::json run(int* status) const {
    const std::string command = environment + " " + HOTGEMM_COMMAND + " tune --shape " + shape + " --candidates " +
                                std::to_string(candidates) + " --json --quiet --retune --cache-dir " + cache;
    FILE* pipe = ::popen(command.c_str(), "r");
    std::string text;
    for (char part[4096]; const std::size_t size = std::fread(part, 1, sizeof part, pipe);) text.append(part, size);
    *status = WEXITSTATUS(::pclose(pipe));
    return nlohmann::json::parse(text, nullptr, false);
  }
};

/// The number of rejections in a result of the command that an earlier run has found.
inline int count_remembered(const nlohmann::json& result) {
  int remembered = 0;
  for (const nlohmann::json& r : result["rejections"]) {
    remembered += kind_of(r["reason"].get<std::string>()) == "remembered";
  }
  return remembered;
}

}  // namespace hotgemm
