#pragma once

#include "nvrtc/compile_sample.hpp"
#include "nvrtc/compile_yardstick.hpp"
#include "nvrtc/nvrtc_fixture.hpp"

#include "config/render.hpp"
#include "gpu/kernel_builder.hpp"
#include "gpu/nvrtc.hpp"
#include "unit/plan_fixture.hpp"

#include <gtest/gtest.h>

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {

template <class T>
T read_at(const std::vector<std::uint8_t>& image, std::size_t offset) {
  T value{};
  if (offset + sizeof value > image.size()) throw std::out_of_range("cubin ends early");
  std::memcpy(&value, image.data() + offset, sizeof value);
  return value;
}

/// Bytes of local memory per thread that the image's kernels need for their stack frames. These hold spills, and arrays
/// that the compiler could not keep in registers. The number is from section .nv.info, a list of (format, attribute,
/// size of the data). -1 if the section has no such attribute.
inline int local_bytes(const std::vector<std::uint8_t>& image) {
  constexpr std::uint8_t kSizedFormat = 4, kFrameSize = 0x11;
  const auto header = read_at<Elf64_Ehdr>(image, 0);
  const auto section = [&](std::size_t i) {
    return read_at<Elf64_Shdr>(image, header.e_shoff + i * sizeof(Elf64_Shdr));
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  int sum = -1;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr info = section(i);
    const auto* name = reinterpret_cast<const char*>(image.data() + names.sh_offset + info.sh_name);
    if (std::strcmp(name, ".nv.info") != 0) continue;
    for (std::size_t at = info.sh_offset; at + 4 <= info.sh_offset + info.sh_size;) {
      const auto format = read_at<std::uint8_t>(image, at), attribute = read_at<std::uint8_t>(image, at + 1);
      const auto size = read_at<std::uint16_t>(image, at + 2);
      if (format == kSizedFormat && attribute == kFrameSize) {
        sum = std::max(sum, 0) + read_at<std::int32_t>(image, at + 8);  // the value follows the symbol's number
      }
      at += 4U + (format == kSizedFormat ? size : 0U);
    }
  }
  return sum;
}

/// The text of ptxas warnings C7508 to C7514: wgmma that it serializes, and setmaxnreg that it ignores.
inline constexpr const char* kLostSpeed = "Potential Performance Loss";

struct MatrixCase {
  KernelSource source;
  std::string arch;
  int threads = 0;
  int blocks_per_sm = 1;  ///< number of blocks that must be resident together
  std::string kind{};     ///< see SampledKernel
};

inline MatrixCase gemm_case(const KernelConfig& config, const GemmTraits& traits, const std::string& arch,
                            const TemplateBundle& bundle) {
  return {render(config, traits, arch, bundle), arch, threads(config), blocks_per_sm(config)};
}

/// Compiles kernels and checks the report of ptxas: no spills, no warning of lost speed, and few enough registers for
/// the resident blocks of the config.
class CompileMatrix : public NvrtcTest {
 protected:
  void SetUp() override {
    NvrtcTest::SetUp();
    if (IsSkipped()) return;
    BinaryCacheOptions options;
    options.mode = CacheMode::off;
    cache_.emplace(options);
    builder_.emplace(*cache_, bundle_);
    builder_->compile_with([this](const KernelSource& source) {
      std::string log;
      Cubin cubin = Nvrtc::get().compile(source, bundle_, &log);
      const std::lock_guard lock(mutex_);
      logs_[source.symbol + " for " + cubin.arch] = std::move(log);
      return cubin;
    });
  }

  /// The cases that this run compiles; see sample_kernels.
  static std::vector<MatrixCase> sample(const std::vector<MatrixCase>& cases, const SampleShare& share = {}) {
    SampleOptions options = SampleOptions::from_environment();
    options.share = share;
    std::vector<SampledKernel> kernels;
    for (const MatrixCase& one : cases) {
      kernels.push_back({one.source.symbol, one.arch, one.kind});
    }
    std::vector<MatrixCase> sample;
    for (const std::size_t i : sample_kernels(kernels, options)) sample.push_back(cases[i]);
    std::cout << sample.size() << " of " << cases.size() << " kernels; HOTGEMM_TEST_SEED=" << options.seed
              << " repeats the sample, HOTGEMM_TEST_FULL=1 takes all\n";
    return sample;
  }

  void compile(const std::vector<MatrixCase>& all, const SampleShare& share = {}) {
    const std::vector<MatrixCase> cases = sample(all, share);
    std::vector<KernelSource> sources;
    for (const MatrixCase& one : cases) sources.push_back(one.source);
    const auto results = builder_->build_all(sources, default_compile_jobs());
    ASSERT_EQ(results.size(), cases.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      SCOPED_TRACE(cases[i].source.symbol + " for " + cases[i].arch);
      ASSERT_TRUE(results[i].cubin) << results[i].failure;
      check(cases[i], *results[i].cubin);
    }
  }

  void check(const MatrixCase& one, const Cubin& cubin) {
    EXPECT_EQ(cubin.symbol, one.source.symbol);
    EXPECT_EQ(cubin.arch, one.arch);
    EXPECT_EQ(cubin.toolchain, Nvrtc::get().toolchain());
    ASSERT_GE(cubin.image.size(), 64U);
    EXPECT_EQ(std::string(cubin.image.begin() + 1, cubin.image.begin() + 4), "ELF");
    EXPECT_NE(std::search(cubin.image.begin(), cubin.image.end(), one.source.symbol.begin(), one.source.symbol.end()),
              cubin.image.end())
        << "the image has no such kernel";
    EXPECT_LE(cubin.spill_bytes, most_spill_bytes_);
    EXPECT_LE(local_bytes(cubin.image), most_spill_bytes_);
    EXPECT_EQ(cubin.static_smem_bytes, 0);
    EXPECT_GE(cubin.registers, 8);
    EXPECT_LE(cubin.registers, kMaxRegistersPerThread);
    EXPECT_LE((cubin.registers + 7) / 8 * 8 * one.threads * one.blocks_per_sm, arch_limits(one.arch).registers_per_sm);
    const std::string& log = logs_[cubin.symbol + " for " + cubin.arch];
    EXPECT_EQ(log.find(kLostSpeed), std::string::npos) << log;
    EXPECT_LE(least_ms(one, cubin.compile_ms), most_ms_);
    times_.push_back(cubin.compile_ms);
  }

  /// Returns `ms`; if that is too long, the least of five times, each relative to the machine's speed at that moment.
  double least_ms(const MatrixCase& one, double ms) const {
    if (ms > most_ms_) ms /= compile_slowness();
    std::string log;
    for (int again = 0; again < 4 && ms > most_ms_; ++again) {
      const double slowness = compile_slowness();
      ms = std::min(ms, Nvrtc::get().compile(one.source, bundle_, &log).compile_ms / slowness);
    }
    return ms;
  }

  /// The median of all times; if it is above `limit`, relative to the machine's speed.
  double median_ms(double limit = kMedianMs) {
    std::ranges::sort(times_);
    const double ms = times_.empty() ? 0 : times_[times_.size() / 2];
    return ms > limit ? ms / compile_slowness() : ms;
  }

  // Limits for the CPU time of the compiling thread, on a machine whose compile_slowness() is 1.
  static constexpr double kMedianMs = 600;
  double most_ms_ = 1500;
  int most_spill_bytes_ = 0;

  TemplateBundle bundle_ = TemplateBundle::embedded();
  std::optional<BinaryCache> cache_;
  std::optional<KernelBuilder> builder_;
  std::vector<double> times_;

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> logs_;  ///< logs of NVRTC, by symbol and architecture
};

}  // namespace hotgemm
