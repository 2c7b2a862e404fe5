#include "command/compile_jobs.hpp"

#include "base/cores.hpp"
#include "worker/compile_pool.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>

namespace hotgemm::command {
namespace {

std::filesystem::path this_program() {
  std::error_code error;
  std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw Error(ErrorCode::io_error, "find this program by /proc/self/exe: " + error.message());
  return path;
}

}  // namespace

void add_jobs_option(CLI::App& app, int& jobs) {
  app.add_option("-j,--jobs", jobs,
                 "kernels to compile at once (default: as many as there are cores; tune leaves one per GPU free)")
      ->check(CLI::Range(1, 1024));
}

int jobs_or_default(int jobs, int spare) { return jobs > 0 ? jobs : std::max(available_cores() - spare, 1); }

void use_workers_for(Engine& engine, int jobs) {
  if (jobs <= kThreadsPerCompiler) return;
  const auto pool = std::make_shared<CompilePool>(
      CompilePoolOptions{.program = this_program(), .arguments = {"compile-worker"}, .workers = jobs}, engine.bundle);
  engine.builder.compile_with([pool](const KernelSource& source) { return pool->compile(source); });
}

}  // namespace hotgemm::command
