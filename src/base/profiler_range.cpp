#include "base/profiler_range.hpp"

#include "base/fork_guard.hpp"

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace hotgemm {
namespace {

// NVTX 3 between a program and a profiler, as nvtx3/nvtxDetail/nvtxTypes.h declares it: the profiler asks for tables of
// pointers to functions, one table for each module, and writes its own functions there.
using Function = void (*)();

enum Module : int { kCore2 = 5, kModules = 7 };
enum Core2 : unsigned { kRangePushEx = 4, kRangePop = 5, kDomainCreateA = 12 };
constexpr std::array<unsigned, kModules> kTableSizes{0, 16, 9, 15, 7, 16, 7};
constexpr std::uint32_t kVersion = 3;  // NVTX_VERSION
constexpr std::uint32_t kCallbacks = 1, kVersionInfo = 3;
constexpr std::int32_t kAsciiMessage = 1;

struct EventAttributes {  // nvtxEventAttributes_t
  std::uint16_t version = kVersion;
  std::uint16_t size = sizeof(EventAttributes);
  std::uint32_t category = 0;
  std::int32_t color_type = 0;
  std::uint32_t color = 0;
  std::int32_t payload_type = 0;
  std::int32_t reserved = 0;
  std::uint64_t payload = 0;
  std::int32_t message_type = kAsciiMessage;
  const char* message = nullptr;
};
static_assert(sizeof(EventAttributes) == 48);

struct CallbackTable {  // NvtxExportTableCallbacks
  std::size_t bytes;
  int (*table_of_module)(int module, Function*** table, unsigned* size);
};

struct VersionTable {  // NvtxExportTableVersionInfo
  std::size_t bytes;
  std::uint32_t version;
  std::uint32_t reserved;
  void (*set_profiler_version)(std::uint32_t version);
};

/// The functions of the profiler: those that it does not have are nullptr.
class Profiler {
 public:
  static const Profiler& get() {
    static const Profiler profiler;
    return profiler;
  }

  bool is_there() const { return domain_ != nullptr && push_ != nullptr && pop_ != nullptr; }
  void push(const char* text) const {
    EventAttributes attributes;
    attributes.message = text;
    push_(domain_, &attributes);
  }
  void pop() const { pop_(domain_); }

 private:
  Profiler() {
    const char* path = ::secure_getenv("NVTX_INJECTION64_PATH");
    if (path == nullptr || !initialize(path)) return;
    push_ = reinterpret_cast<int (*)(void*, const EventAttributes*)>(functions[kCore2][kRangePushEx]);
    pop_ = reinterpret_cast<int (*)(void*)>(functions[kCore2][kRangePop]);
    const auto create_domain = reinterpret_cast<void* (*)(const char*)>(functions[kCore2][kDomainCreateA]);
    if (create_domain != nullptr) domain_ = create_domain("hotgemm");
  }

  /// The library is never closed: it keeps pointers to the tables.
  static bool initialize(const char* path) {
    const ForkDelay delay;
    void* library = ::dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) return false;
    using Initialize = int (*)(const void* (*export_table)(std::uint32_t));
    const auto initialize = reinterpret_cast<Initialize>(::dlsym(library, "InitializeInjectionNvtx2"));
    return initialize != nullptr && initialize(export_table) != 0;
  }

  static const void* export_table(std::uint32_t id) {
    static const CallbackTable callbacks{sizeof(CallbackTable), table_of_module};
    static const VersionTable version{sizeof(VersionTable), kVersion, 0, [](std::uint32_t) {}};
    if (id == kCallbacks) return &callbacks;
    return id == kVersionInfo ? &version : nullptr;
  }

  static int table_of_module(int module, Function*** table, unsigned* size) {
    if (module <= 0 || module >= kModules) return 0;
    const auto of = static_cast<std::size_t>(module);
    for (unsigned id = 1; id < kTableSizes[of]; ++id) tables[of][id] = &functions[of][id];
    if (table != nullptr) *table = tables[of].data();
    if (size != nullptr) *size = kTableSizes[of];
    return 1;
  }

  // The first element of each table stays nullptr, as does one behind the last.
  static inline std::array<std::array<Function, 17>, kModules> functions{};
  static inline std::array<std::array<Function*, 17>, kModules> tables{};

  void* domain_ = nullptr;
  int (*push_)(void* domain, const EventAttributes* attributes) = nullptr;
  int (*pop_)(void* domain) = nullptr;
};

}  // namespace

bool ProfilerRange::has_profiler() noexcept { return Profiler::get().is_there(); }
void ProfilerRange::push(const std::string& text) noexcept { Profiler::get().push(text.c_str()); }
void ProfilerRange::pop() noexcept { Profiler::get().pop(); }

}  // namespace hotgemm
