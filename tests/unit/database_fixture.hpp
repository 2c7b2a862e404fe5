#pragma once

#include "config/traits.hpp"
#include "records/database.hpp"

#include <hotgemm/types.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {

/// A directory that is removed with this object.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hotgemm-database-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "mkdtemp " << pattern;
    path_ = pattern;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path segments() const { return path_ / "v1" / "db"; }

 private:
  std::filesystem::path path_;
};

inline TuningRecord sample_record(std::string_view problem = "4096 4096 512 nt f16 align=16") {
  TuningRecord record;
  record.problem = parse_workload(problem);
  record.config = MmaConfig{};
  record.launch = {4, true};
  record.timing = {123.25, 0.5, 21, 1.0625};
  record.environment = {"Fictional FX-1000", "sm_90a", 99, "580.159", "nvrtc-13.0-0123abcd"};
  record.template_digest = std::string(64, 'a');
  return record;
}

/// The GPU and the software of sample_record.
inline GpuQuery sample_query() {
  GpuQuery query;
  query.environment = sample_record().environment;
  query.template_digest = [](const KernelConfig&) { return std::string(64, 'a'); };
  return query;
}

inline void write_file(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::vector<std::filesystem::path> files_in(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::exists(directory)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) files.push_back(entry.path());
  return files;
}

/// Collects warnings.
class Warnings {
 public:
  Report sink() {
    return [this](const std::string& message) {
      const std::lock_guard lock(mutex_);
      messages_.push_back(message);
    };
  }
  const std::vector<std::string>& messages() const { return messages_; }

 private:
  std::mutex mutex_;
  std::vector<std::string> messages_;
};

/// Computed bit by bit, so that it shares nothing with the table under test.
inline std::uint32_t plain_crc32(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? (crc >> 1) ^ 0xEDB88320u : crc >> 1;
  }
  return ~crc;
}

inline constexpr std::size_t kChecksumTail = 18;  // ,"crc":"01234567"}

/// `line` with a correct checksum.
inline std::string with_checksum(const std::string& line) {
  const std::string body = line.substr(0, line.size() - kChecksumTail);
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08x", plain_crc32(body));
  return body + ",\"crc\":\"" + digits + "\"}";
}

/// `line` with the first `from` replaced, and with a correct checksum.
inline std::string edited(std::string line, std::string_view from, std::string_view to) {
  const std::size_t at = line.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return with_checksum(line.replace(at, from.size(), to));
}

/// Legal configs of both families, for sm_90a and f16.
inline std::vector<KernelConfig> some_legal_configs(const Workload& problem) {
  const ArchLimits& limits = arch_limits("sm_90a");
  std::vector<KernelConfig> configs;
  std::mt19937 random(7);
  const auto pick = [&](std::initializer_list<int> values) { return *(values.begin() + random() % values.size()); };
  while (configs.size() < 300) {
    KernelConfig config;
    if (random() % 4 == 0) {
      config =
          SimtConfig{pick({32, 64, 128}), pick({32, 64, 128}), pick({8, 16, 32}), pick({2, 4, 8}), pick({2, 4, 8})};
    } else {
      config = MmaConfig{
          pick({32, 64, 128, 256}), pick({32, 64, 128, 256}), pick({32, 64}), pick({1, 2, 4}),   pick({1, 2, 4}),
          pick({2, 3, 4, 5}),       random() % 2 == 0,        pick({1, 2}),   random() % 2 == 0, pick({1, 2})};
    }
    if (is_legal(config, traits_of(problem), limits)) configs.push_back(config);
  }
  return configs;
}

inline DatabaseOptions user_layer(const TemporaryDirectory& directory, Warnings* warnings = nullptr) {
  DatabaseOptions options;
  options.user_directory = directory.path();
  if (warnings != nullptr) options.warn = warnings->sink();
  return options;
}

/// A median makes records distinguishable.
inline TuningRecord with_median(TuningRecord record, double median_us) {
  record.timing.median_us = median_us;
  return record;
}

inline TuningRecord on_gpu(TuningRecord record, const char* gpu, int sm_count) {
  record.environment.gpu = gpu;
  record.environment.sm_count = sm_count;
  return record;
}

inline std::string lines_of(std::initializer_list<StoredRecord> records) {
  std::string text;
  for (const StoredRecord& stored : records) text += to_line(stored) + "\n";
  return text;
}

inline double median_found(const Database& database, const GpuQuery& query = sample_query()) {
  const auto found = database.find(sample_record().problem, query);
  return found ? found->record.timing.median_us : -1;
}

}  // namespace hotgemm
