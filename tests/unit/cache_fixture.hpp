#pragma once

#include "base/log.hpp"
#include "cache/binary_cache.hpp"
#include "cache/cache_entry.hpp"
#include "config/identity.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm {

/// Collects warnings during its lifetime.
class WarningCapture {
 public:
  WarningCapture() {
    set_logger_level(LogLevel::warn);
    set_logger_sink([this](LogLevel level, std::string_view message) {
      if (level != LogLevel::warn) return;
      const std::lock_guard guard(mutex_);
      warnings_.emplace_back(message);
    });
  }
  ~WarningCapture() { set_logger_sink({}); }
  std::vector<std::string> take() {
    const std::lock_guard guard(mutex_);
    return std::exchange(warnings_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> warnings_;
};

inline constexpr const char* kToolchain = "nvrtc-13.0-aa";
inline constexpr std::size_t kKernelBytes = 17'000;  ///< size of a typical GEMM kernel

inline Identity identity_of(int number) {
  return IdentityBuilder{}.field("unit", "kernel " + std::to_string(number)).field("arch", "sm_90a").build();
}

/// A cubin with an image that only `number` and `toolchain` have.
inline Cubin cubin_of(int number, const std::string& toolchain = kToolchain, std::size_t bytes = 300) {
  Cubin cubin;
  cubin.image.resize(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    cubin.image[i] = static_cast<std::uint8_t>(i * 7 + static_cast<std::size_t>(number) * 13 + toolchain.size());
  }
  cubin.symbol = "kernel_" + std::to_string(number);
  cubin.arch = "sm_90a";
  cubin.toolchain = toolchain;
  cubin.registers = 128;
  cubin.spill_bytes = 8;
  cubin.static_smem_bytes = 1024;
  cubin.compile_ms = 12.5;
  return cubin;
}

inline std::vector<std::uint8_t> read_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_file(const std::filesystem::path& path, const std::vector<std::uint8_t>& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  out.close();
  std::filesystem::permissions(path, std::filesystem::perms(0600));
}

inline void set_mtime(const std::filesystem::path& path, std::chrono::seconds from_now) {
  timespec times[2] = {{0, UTIME_OMIT}, {0, 0}};
  times[1].tv_sec = ::time(nullptr) + from_now.count();
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
}

inline mode_t mode_of(const std::filesystem::path& path) {
  struct ::stat status {};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777U;
}

inline std::size_t files_below(const std::filesystem::path& path, const std::string& suffix) {
  std::size_t count = 0;
  if (!std::filesystem::exists(path)) return 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    if (!entry.is_directory() && entry.path().native().ends_with(suffix)) ++count;
  }
  return count;
}

/// Runs `body` in a forked child. The child exits with the result of `body` and runs no destructors.
template <typename Body>
pid_t fork_child(Body body) {
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) ::_exit(body());
  return child;
}

inline int exit_code(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class CacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "hotgemm-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
    directory_ = base_ / "cache";
  }
  void TearDown() override { std::filesystem::remove_all(base_); }

  BinaryCacheOptions options() const {
    BinaryCacheOptions options;
    options.directory = directory_;
    options.lock_directory = base_ / "locks";
    return options;
  }
  std::filesystem::path entry_path(const Identity& identity, const std::string& toolchain = kToolchain) const {
    return directory_ / "v1" / "cubin" / identity.hex().substr(0, 2) /
           entry_name(identity.hex(), toolchain_tag(toolchain));
  }
  /// The result of find in a process that starts now; nothing comes from memory.
  std::optional<Cubin> find_afresh(const Identity& identity, const std::string& toolchain = {}) const {
    return BinaryCache(options()).find(identity, toolchain);
  }
  void store_one(int number) const { BinaryCache(options()).store(identity_of(number), cubin_of(number)); }

  std::filesystem::path base_;
  std::filesystem::path directory_;
  WarningCapture warnings_;
};

}  // namespace hotgemm
