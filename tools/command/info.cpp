#include "base/environment.hpp"
#include "cache/cache_options.hpp"
#include "command/build_commit.hpp"
#include "command/commands.hpp"
#include "command/table.hpp"
#include "context_impl.hpp"
#include "gpu/nvrtc.hpp"
#include "gpu/shared_library.hpp"
#include "runtime/shipped_records.hpp"

#include <hotgemm/version.hpp>

#include <fmt/format.h>

#include <array>

namespace hotgemm::command {
namespace {

struct Variable {
  const char* name;
  const char* usual;  ///< effective value if the variable is not set
  const char* meaning;
};

constexpr std::array kVariables{
    Variable{"HOTGEMM_CACHE_DIR", "the user's cache directory", "the directory of kernels and tuning records"},
    Variable{"HOTGEMM_CACHE_PATH", "none", "further read-only cache directories, separated by colons"},
    Variable{"HOTGEMM_SHIPPED_RECORDS", "on", "on, or off: the tuning records that ship with hotgemm are not read"},
    Variable{"HOTGEMM_CACHE", "rw", "rw, ro (no changes on disk) or off (no disk)"},
    Variable{"HOTGEMM_CACHE_MAX_SIZE", "1G", "size limit; the least recently used kernels are removed"},
    Variable{"HOTGEMM_CACHE_MAX_MEMORY", "256M", "limit for kernels in memory, before the GPU has them"},
    Variable{"HOTGEMM_CACHE_TRUST", "this user's files only", "shared: use directories that other users can write"},
    Variable{"HOTGEMM_CACHE_DURABLE", "0", "1: stored kernels survive a power cut"},
    Variable{"HOTGEMM_TUNE", "background",
             "the policy. background: problems that recur and have no record are measured beside the program's work; "
             "tune, or "
             "missing: the first call measures them; estimate, or never: nothing is measured; cached_only: nothing is "
             "compiled"},
    Variable{"HOTGEMM_OBJECTIVE", "speed", "speed or energy: which records are used where there are both"},
    Variable{"HOTGEMM_WORKER", "the installed command",
             "the hotgemm command whose processes measure kernels for programs that tune; none: the program measures"},
    Variable{"HOTGEMM_WORKSPACE_BYTES", "1G", "the most device memory that is kept for kernels' workspace"},
    Variable{"HOTGEMM_MAX_PLANS", "10000", "the most plans that are kept in each CUDA context"},
    Variable{"HOTGEMM_PROBLEM_LOG", "none",
             "a directory: each program writes the problems that it meets to a file there, for `tune --shapes`"},
    Variable{"HOTGEMM_JOB_SIZE", "none", "the processes of an indexed job of Kubernetes, for --shard auto"},
    Variable{"HOTGEMM_CUBLAS", "on", "on, or off: libhotgemm_cublas.so passes every call on to cuBLAS"},
    Variable{
        "HOTGEMM_CUBLAS_SERVE", "as_fast",
        "as_fast, or prepared: libhotgemm_cublas.so serves with any kernel that is loaded, whatever its record says"},
    Variable{"HOTGEMM_CUBLAS_SGEMM", "0", "1: libhotgemm_cublas.so serves products of f32 too"},
    Variable{"HOTGEMM_CUBLAS_REPORT", "none",
             "1 or a path: libhotgemm_cublas.so reports to stderr or there at the end"},
    Variable{"HOTGEMM_LIBRARY", "found by the loader", "the libhotgemm.so that libhotgemm_cublas.so opens"},
    Variable{"HOTGEMM_LOG", "warn", "debug, info, warn, error or off"},
    Variable{"HOTGEMM_TEMPLATE_DIR", "built in", "the directory of the kernel templates"},
    Variable{"HOTGEMM_LIBCUDA", "libcuda.so.1", "the driver's library"},
    Variable{"HOTGEMM_LIBNVRTC", "libnvrtc.so.13 or .12", "the compiler's library"},
    Variable{"HOTGEMM_LIBCUBLAS", "libcublas.so.13 or .12", "the cuBLAS that bench compares with"},
    Variable{"HOTGEMM_LIBCUBLASLT", "libcublasLt of the same version", "the cuBLASLt that bench compares with"},
};

/// Collects "name: value" lines and the same values as JSON. An exception is reported as a missing part.
class Report {
 public:
  explicit Report(Session& session) : session_(session) {}

  template <class Fill>
  void section(const std::string& key, Fill fill) {
    try {
      fill(session_.output[key]);
    } catch (const std::exception& error) {
      const std::string reason = one_line(error.what());
      session_.output[key] = Json{{"missing", reason}};
      line(key, "not available: " + reason);
    }
  }
  void line(std::string_view name, std::string_view value) { session_.print(fmt::format("{:<11} {}", name, value)); }

 private:
  Session& session_;
};

void describe_gpus(Report& report, Json& json) {
  const Driver& driver = Driver::get();
  json = {{"path", driver.path}, {"cuda", driver_version(driver)}, {"gpus", Json::array()}};
  report.line("driver", fmt::format("CUDA {}, {}", driver_version(driver), driver.path));
  int count = 0;
  driver.check(driver.cuDeviceGetCount(&count), "count the GPUs");
  if (count == 0) report.line("gpu", "none");
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    driver.check(driver.cuDeviceGet(&device, i), fmt::format("open GPU {}", i));
    const DeviceInfo info = query_device(driver, device);
    json["gpus"].push_back({{"name", info.name},
                            {"arch", info.arch},
                            {"sm_count", info.sm_count},
                            {"l2_bytes", info.l2_bytes},
                            {"memory_bytes", info.memory_bytes},
                            {"clock_mhz", info.clock_mhz},
                            {"dram_gbps", info.dram_gbps}});
    report.line(fmt::format("gpu {}", i),
                fmt::format("{}, {}, {} SMs at up to {} MHz, L2 {}, memory {} at {} GB/s", info.name, info.arch,
                            info.sm_count, info.clock_mhz, readable_bytes(static_cast<double>(info.l2_bytes)),
                            readable_bytes(static_cast<double>(info.memory_bytes)), info.dram_gbps));
  }
}

void describe_nvrtc(Report& report, Json& json) {
  const Nvrtc& nvrtc = Nvrtc::get();
  json = {{"toolchain", nvrtc.toolchain()}, {"path", nvrtc.path()}};
  report.line("nvrtc", fmt::format("{}, {}", nvrtc.toolchain(), nvrtc.path()));
}

std::string cublas_version(const SharedLibrary& library) {
  using GetProperty = int (*)(int property, int* value);
  const auto get_property = reinterpret_cast<GetProperty>(library.find("cublasGetProperty"));
  std::array<int, 3> version{};  // major, minor, patch: properties 0, 1, 2
  for (int property = 0; get_property != nullptr && property < 3; ++property) {
    if (get_property(property, &version.at(static_cast<std::size_t>(property))) != 0) return "unknown";
  }
  return get_property == nullptr ? "unknown" : fmt::format("{}", fmt::join(version, "."));
}

void describe_cublas(Report& report, Json& json) {
  const SharedLibrary library = SharedLibrary::open(environment_variable("HOTGEMM_LIBCUBLAS"),
                                                    {"libcublas.so.13", "libcublas.so.12"}, ErrorCode::io_error);
  json = {{"version", cublas_version(library)}, {"path", library.path()}};
  report.line("cublas", fmt::format("{}, {}", cublas_version(library), library.path()));
}

void describe_cache(Report& report, Json& json, const Session& session, Engine& engine) {
  BinaryCache& cache = engine.cache;
  const BinaryCacheOptions options = BinaryCacheOptions::from_environment();
  const CacheStat stat = cache.stat();
  json = {{"directory", cache.directory().string()},
          {"entries", stat.entries},
          {"bytes", stat.bytes},
          {"max_bytes", stat.max_bytes},
          {"bad_files", stat.bad_files},
          {"read_only_layers", Json::array()}};
  report.line("cache", cache.directory().empty() ? "in memory only" : cache.directory().string());
  report.line("", fmt::format("{} kernels, {} of {}{}", stat.entries, readable_bytes(static_cast<double>(stat.bytes)),
                              readable_bytes(static_cast<double>(stat.max_bytes)),
                              stat.bad_files > 0 ? fmt::format(", {} bad files", stat.bad_files) : ""));
  for (const auto& layer : options.read_only_layers) {
    json["read_only_layers"].push_back(layer.string());
    const std::string absent = is_absent(layer) ? ": there is no such directory" : "";
    if (!session.json) report.line("", "read-only layer " + layer.string() + absent);
  }
}

void describe_records(Report& report, Json& json, Engine& engine) {
  const std::size_t count = engine.database.all().size();
  const std::filesystem::path shipped = shipped_records().directory;
  json = {{"count", count}, {"unreadable_lines", engine.database.dropped()}, {"shipped", shipped.string()}};
  report.line(
      "records",
      fmt::format("{} tuning records{}; shipped with hotgemm: {}", count,
                  engine.database.dropped() > 0 ? fmt::format(" ({} lines ignored)", engine.database.dropped()) : "",
                  shipped.empty() ? "none" : shipped.string()));
}

void describe_variables(Session& session) {
  Table table({{"variable"}, {"value"}, {"meaning"}});
  session.output["variables"] = Json::array();
  for (const Variable& variable : kVariables) {
    const std::string value = environment_variable(variable.name);
    table.add({variable.name, !value.empty() ? value : fmt::format("({})", variable.usual), variable.meaning});
    session.output["variables"].push_back({{"name", variable.name},
                                           {"value", !value.empty() ? Json(value) : Json()},
                                           {"default", variable.usual},
                                           {"meaning", variable.meaning}});
  }
  session.print("\n" + table.text());
}

int run_info(Session& session) {
  Report report(session);
  session.output["version"] = HOTGEMM_VERSION;
  session.output["commit"] = build_commit();
  report.line("hotgemm", fmt::format("{}, commit {}", HOTGEMM_VERSION, build_commit()));
  report.section("driver", [&](Json& json) { describe_gpus(report, json); });
  report.section("nvrtc", [&](Json& json) { describe_nvrtc(report, json); });
  report.section("cublas", [&](Json& json) { describe_cublas(report, json); });
  report.section("library", [&](Json& json) {
    Context context(context_options(session));
    Engine& engine = impl_of(context).engine();
    json = {{"templates", engine.bundle.origin()}};
    report.line("templates", engine.bundle.origin());
    report.section("cache", [&](Json& cache) { describe_cache(report, cache, session, engine); });
    report.section("records", [&](Json& records) { describe_records(report, records, engine); });
  });
  describe_variables(session);
  return kGood;
}

}  // namespace

void add_info_command(CLI::App& app, Session& session) {
  add_subcommand(app, session, "info",
                 "print what hotgemm finds: GPUs, driver, compiler, caches, environment variables",
                 [&session] { return run_info(session); }, {.device = false, .progress = false});
}

}  // namespace hotgemm::command
