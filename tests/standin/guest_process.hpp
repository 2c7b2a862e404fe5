#pragma once

#include "records/attempt_mark.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>

namespace hotgemm::standin {

struct GuestArguments {
  std::filesystem::path cache;
  std::string problem;
  int candidates = 0;
  std::int64_t scratch_bytes = 1 << 20;
};

/// guest_program with its output. It has the environment of this process, and ends with this object at the latest.
class GuestProcess {
 public:
  explicit GuestProcess(const GuestArguments& a) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("pipe");
    const std::string program = std::string(HOTGEMM_TEST_BIN_DIR) + "/guest_program";
    const std::string candidates = std::to_string(a.candidates), scratch = std::to_string(a.scratch_bytes);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::execl(program.c_str(), program.c_str(), a.cache.c_str(), a.problem.c_str(), candidates.c_str(), scratch.c_str(),
              nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    output_ = ::fdopen(ends[0], "r");
  }
  ~GuestProcess() {
    if (!is_reaped_) {
      kill();
      wait();
    }
    ::fclose(output_);
  }
  GuestProcess(const GuestProcess&) = delete;
  GuestProcess& operator=(const GuestProcess&) = delete;

  void kill() const { ::kill(pid_, SIGKILL); }
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    is_reaped_ = true;
    return status;
  }
  /// The status, if the process has ended. Do not call `wait` or `kill` after that.
  std::optional<int> status_if_ended() {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
    is_reaped_ = true;
    return status;
  }
  /// "" if the process ends without them.
  std::string origin_and_config() {
    char line[512] = {};
    return std::fgets(line, sizeof line, output_) != nullptr ? line : "";
  }

 private:
  pid_t pid_ = -1;
  bool is_reaped_ = false;
  std::FILE* output_ = nullptr;
};

/// The texts of all marks on disk.
inline std::string attempt_marks(const std::filesystem::path& cache) {
  std::ostringstream text;
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator(cache / "v1" / kAttempts, none)) {
    text << std::ifstream(file.path()).rdbuf();
  }
  return text.str();
}

}  // namespace hotgemm::standin
