// A library in place of a profiler's. Programs load it through NVTX_INJECTION64_PATH. It appends a line to the file
// that HOTGEMM_FAKE_PROFILER_LOG names, for each range that a thread opens or closes in a domain.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

namespace {

using Function = void (*)();

// The parts of NVTX's tables that it needs, as nvtx3/nvtxDetail/nvtxTypes.h has them.
struct Callbacks {
  std::size_t bytes;
  int (*table_of_module)(int module, Function*** table, unsigned* size);
};

void tell(const std::string& line) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  static std::ofstream log(std::getenv("HOTGEMM_FAKE_PROFILER_LOG"), std::ios::app);
  log << std::hash<std::thread::id>{}(std::this_thread::get_id()) << ' ' << line << std::endl;
}

void* create_domain(const char* name) { return new std::string(name); }

int push(void* domain, const char* attributes) {
  const auto version = *reinterpret_cast<const std::uint16_t*>(attributes);
  const auto bytes = *reinterpret_cast<const std::uint16_t*>(attributes + 2);
  const auto message_type = *reinterpret_cast<const std::int32_t*>(attributes + 32);
  const char* message = *reinterpret_cast<const char* const*>(attributes + 40);
  const bool is_sound = version == 3 && bytes == 48 && message_type == 1;
  tell(*static_cast<std::string*>(domain) + ": " + (is_sound ? message : "attributes that are not those of NVTX 3"));
  return 0;
}

int pop(void*) {
  tell("end");
  return 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(const void* (*export_table)(unsigned)) {
  const auto* callbacks = static_cast<const Callbacks*>(export_table(1));
  Function** table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr || callbacks->table_of_module(5, &table, &size) != 1 || size != 16) return 0;
  *table[12] = reinterpret_cast<Function>(create_domain);
  *table[4] = reinterpret_cast<Function>(push);
  *table[5] = reinterpret_cast<Function>(pop);
  return 1;
}
