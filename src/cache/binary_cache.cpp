#include "cache/binary_cache.hpp"

#include "base/log.hpp"
#include "base/sha256.hpp"
#include "cache/cache_entry.hpp"
#include "cache/cache_layer.hpp"
#include "cache/cache_warnings.hpp"
#include "cache/memory_cache.hpp"

#include <hotgemm/error.hpp>

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <set>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace hotgemm {
namespace {

constexpr std::chrono::hours kOrphanAge{1};
constexpr std::uint64_t kBlockBytes = 4096;

// True for errors that the next write would meet again, such as a full disk.
bool lasts(const std::error_code& code) {
  constexpr std::array kLasting{ENOSPC, EROFS, EACCES, EPERM, EDQUOT, EIO, EFBIG};
  return std::find(kLasting.begin(), kLasting.end(), code.value()) != kLasting.end();
}

bool is_directory(const std::filesystem::path& path) {
  std::error_code error;
  return path.is_absolute() && std::filesystem::is_directory(path, error);
}

std::vector<std::filesystem::path> lock_directories(const BinaryCacheOptions& options) {
  if (!options.lock_directory.empty()) return {options.lock_directory};
  std::vector<std::filesystem::path> candidates;
  const char* runtime = ::secure_getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && is_directory(runtime)) candidates.push_back(std::filesystem::path(runtime) / "hotgemm");
  if (is_directory("/dev/shm")) candidates.emplace_back("/dev/shm/hotgemm-" + std::to_string(::geteuid()));
  candidates.push_back(options.directory / "v1" / "locks");
  return candidates;
}

/// The key of an entry that must not be used again. The image is in it, because a layer below may hold the same file,
/// while a better one is stored under the same name.
std::string discard_key(const Identity& identity, const Cubin& cubin) {
  return entry_name(identity.hex(), toolchain_tag(cubin.toolchain)) + ":" + to_hex(sha256(cubin.image));
}

}  // namespace

struct BinaryCache::Impl {
  explicit Impl(BinaryCacheOptions given);

  bool may_write() const { return user && options.mode == CacheMode::read_write; }
  std::optional<Cubin> from_memory(const Identity& identity, const std::string& tag);
  std::optional<Cubin> from_disk(const Identity& identity, const std::string& tag);
  std::optional<CacheEntry> from_layer(const CacheLayer& layer, const Identity& identity, const std::string& tag);
  bool is_discarded(const CacheEntry& entry);
  void publish(const CacheEntry& entry);
  void bound_size(std::size_t written);
  void count_new_bytes();
  void set_known_bytes(std::optional<std::uint64_t> bytes);
  void warn(const std::filesystem::path& about, const std::exception& error, const std::string& consequence);
  template <typename Work>
  auto on_user_layer(const char* what, Work work);
  std::string why_not_writable(std::string_view what) const;  // as in why_unchanged
  void require_writable(const std::string& attempt) const;
  void note_store_failure(std::string reason);

  BinaryCacheOptions options;
  std::filesystem::path wanted_directory;  ///< also if the mode is off
  CacheWarnings warnings;
  std::optional<CacheLayer> user;
  std::vector<CacheLayer> read_only;
  std::optional<ShardLocks> locks;
  std::atomic<bool> writing{true};

  MemoryCache memory;
  std::mutex discarded_mutex;
  std::set<std::string> discarded;  // see discard_key

  // Nothing waits for this mutex: in a child of fork(), the thread that locked it may not exist.
  std::mutex size_mutex;
  std::optional<std::uint64_t> known_bytes;  // size of the user's layer, as far as this process knows
  std::atomic<std::uint64_t> new_bytes{0};   // written, and not in known_bytes yet

  mutable std::mutex failure_mutex;
  std::string store_failure;

  std::atomic<std::uint64_t> memory_hits{0}, disk_hits{0}, misses{0}, stores{0};
};

BinaryCache::Impl::Impl(BinaryCacheOptions given)
    : options(std::move(given)), wanted_directory(options.directory), memory(options.max_memory_bytes) {
  if (::getauxval(AT_SECURE) != 0) options.mode = CacheMode::off;
  if (options.mode == CacheMode::off) {
    options.directory.clear();
    options.read_only_layers.clear();
  }
  const DirectoryRules shipped{.writable = false, .trust_shared = options.trust_shared};
  const bool may_change = options.mode == CacheMode::read_write;
  if (!options.directory.empty()) {
    options.directory = clean_path(options.directory);
    user.emplace(options.directory, DirectoryRules{may_change, options.trust_shared}, may_change, warnings);
  }
  for (const auto& path : options.read_only_layers) {
    if (!path.empty()) read_only.emplace_back(clean_path(path), shipped, false, warnings);
  }
  std::vector<std::filesystem::path> lock_candidates;
  if (may_write()) {
    try {
      user->sweep(kOrphanAge);
      lock_candidates = lock_directories(options);
    } catch (const std::exception& error) {
      warn(options.directory, error, "kernels are kept in memory only");
    }
  }
  locks.emplace(lock_candidates);
}

// Warns once for each directory and cause, whichever operation meets it first.
void BinaryCache::Impl::warn(const std::filesystem::path& about, const std::exception& error,
                             const std::string& consequence) {
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  const std::string cause = system != nullptr ? std::to_string(system->code().value()) : "refused";
  warnings.once(about.string() + ":" + cause, std::string(error.what()) + "; " + consequence);
}

std::optional<Cubin> BinaryCache::Impl::from_memory(const Identity& identity, const std::string& tag) {
  std::optional<Cubin> cubin = memory.find(identity, tag);
  if (cubin) ++memory_hits;
  return cubin;
}

bool BinaryCache::Impl::is_discarded(const CacheEntry& entry) {
  {
    const std::lock_guard guard(discarded_mutex);
    if (discarded.empty()) return false;
  }
  const std::string key = discard_key(entry.identity, entry.cubin);
  const std::lock_guard guard(discarded_mutex);
  return discarded.contains(key);
}

std::optional<CacheEntry> BinaryCache::Impl::from_layer(const CacheLayer& layer, const Identity& identity,
                                                        const std::string& tag) {
  try {
    if (tag.empty()) return layer.find_newest(identity, [&](const CacheEntry& entry) { return !is_discarded(entry); });
    auto entry = layer.find(identity, tag);
    if (entry && !is_discarded(*entry)) return entry;
  } catch (const std::exception& error) {
    warn(layer.path(), error, "this layer is not used");
  }
  return std::nullopt;
}

std::optional<Cubin> BinaryCache::Impl::from_disk(const Identity& identity, const std::string& tag) {
  std::optional<CacheEntry> entry;
  if (user) entry = from_layer(*user, identity, tag);
  for (auto layer = read_only.begin(); !entry && layer != read_only.end(); ++layer) {
    entry = from_layer(*layer, identity, tag);
  }
  if (!entry) return std::nullopt;
  ++disk_hits;
  Cubin cubin = entry->cubin;
  memory.keep(std::move(*entry));
  return cubin;
}

std::string BinaryCache::Impl::why_not_writable(std::string_view what) const {
  if (wanted_directory.empty()) return "there is no cache directory";
  return why_unchanged(what, wanted_directory, options.mode);
}

void BinaryCache::Impl::require_writable(const std::string& attempt) const {
  if (!may_write()) throw Error(ErrorCode::io_error, attempt + ": " + why_not_writable("removed from"));
}

void BinaryCache::Impl::note_store_failure(std::string reason) {
  const std::lock_guard guard(failure_mutex);
  store_failure = std::move(reason);
}

void BinaryCache::Impl::publish(const CacheEntry& entry) {
  if (!may_write()) note_store_failure(why_not_writable("written to"));
  if (!may_write() || !writing) return;
  try {
    const std::vector<std::uint8_t> bytes = encode_entry(entry);
    user->publish(entry.identity, toolchain_tag(entry.cubin.toolchain), bytes, options.durable);
    bound_size(bytes.size());
  } catch (const std::runtime_error& error) {
    const auto* system = dynamic_cast<const std::system_error*>(&error);
    if (system != nullptr && lasts(system->code())) writing = false;
    note_store_failure(options.directory.string() + ": " + error.what());
    warn(options.directory, error, "kernels are kept in memory only");
  }
}

void BinaryCache::Impl::bound_size(std::size_t written) {
  new_bytes += (written + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  while (new_bytes != 0) {
    const std::unique_lock guard(size_mutex, std::try_to_lock);
    if (!guard) return;  // the thread that has it counts these bytes too
    count_new_bytes();
  }
}

/// Removes entries if the layer is too large. Needs size_mutex.
void BinaryCache::Impl::count_new_bytes() {
  const std::uint64_t added = new_bytes.exchange(0);
  try {
    if (known_bytes) {
      *known_bytes += added;
    } else {
      std::uint64_t total = 0;
      for (const CacheLayer::Item& item : user->scan()) total += item.bytes();
      known_bytes = total;
    }
    // Trim to four fifths of the limit, so that the next writes need no scan.
    if (*known_bytes <= options.max_bytes) return;
    const CacheLayer::TrimResult trimmed = user->trim(options.max_bytes / 5 * 4);
    known_bytes = trimmed.bytes;
    if (trimmed.removed == 0) return;
    note_store_failure(options.directory.string() + ": kernels were removed to keep it below " +
                       std::to_string(options.max_bytes) + " bytes (HOTGEMM_CACHE_MAX_SIZE)");
  } catch (const std::runtime_error& error) {
    warn(options.directory, error, "the size of the cache is not limited");
  }
}

/// Keeps the size that a trim or a clear left. A thread that is counting meanwhile may count too much; the next trim
/// corrects that.
void BinaryCache::Impl::set_known_bytes(std::optional<std::uint64_t> bytes) {
  const std::unique_lock guard(size_mutex, std::try_to_lock);
  if (guard) known_bytes = bytes;
}

template <typename Work>
auto BinaryCache::Impl::on_user_layer(const char* what, Work work) {
  try {
    return work(*user);
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::io_error,
                std::string(what) + " the cache " + options.directory.string() + ": " + error.what());
  }
}

BinaryCache::BinaryCache(BinaryCacheOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}

BinaryCache::~BinaryCache() = default;

std::optional<Cubin> BinaryCache::find(const Identity& identity, std::string_view preferred_toolchain) {
  std::optional<Cubin> cubin;
  if (!preferred_toolchain.empty()) {
    const std::string tag = toolchain_tag(preferred_toolchain);
    cubin = impl_->from_memory(identity, tag);
    if (!cubin) cubin = impl_->from_disk(identity, tag);
  }
  if (!cubin) cubin = impl_->from_memory(identity, {});
  if (!cubin) cubin = impl_->from_disk(identity, {});
  if (!cubin) ++impl_->misses;
  log(LogLevel::debug, cubin ? "kernel cache: hit: " + cubin->symbol : "kernel cache: miss: " + identity.hex());
  return cubin;
}

void BinaryCache::store(const Identity& identity, const Cubin& cubin) {
  CacheEntry entry{identity, cubin, wall_clock_ns()};
  ++impl_->stores;
  {
    const std::lock_guard guard(impl_->discarded_mutex);
    if (!impl_->discarded.empty()) impl_->discarded.erase(discard_key(identity, cubin));
  }
  impl_->publish(entry);
  impl_->memory.keep(std::move(entry));
}

bool BinaryCache::is_on_disk(const Identity& identity, Layers layers) {
  if (impl_->user && impl_->from_layer(*impl_->user, identity, {})) return true;
  if (layers == Layers::of_user) return false;
  return std::ranges::any_of(
      impl_->read_only, [&](const CacheLayer& layer) { return impl_->from_layer(layer, identity, {}).has_value(); });
}

std::string BinaryCache::store_failure() const {
  const std::lock_guard guard(impl_->failure_mutex);
  return impl_->store_failure;
}

void BinaryCache::discard(const Identity& identity, const Cubin& cubin, std::string_view reason) {
  const std::string tag = toolchain_tag(cubin.toolchain);
  {
    const std::lock_guard guard(impl_->discarded_mutex);
    impl_->discarded.insert(discard_key(identity, cubin));
  }
  impl_->memory.discard(identity, cubin);
  impl_->warnings.once(entry_name(identity.hex(), tag), "dropped " + cubin.symbol + ": " + std::string(reason));
  if (!impl_->may_write()) return;
  try {
    impl_->user->quarantine(identity, cubin);
  } catch (const std::exception& error) {
    impl_->warn(impl_->options.directory, error, "the entry stays where it is");
  }
}

ShardLock BinaryCache::lock(const Identity& identity, std::chrono::milliseconds wait) {
  return impl_->locks->acquire(identity.digest[0], wait);
}

CacheList BinaryCache::list() {
  if (!impl_->user) return {};
  const auto read = [&](const CacheLayer& layer) {
    CacheList list;
    const std::int64_t now_ns = wall_clock_ns();
    for (const CacheLayer::Item& item : layer.scan()) {
      if (item.kind != CacheLayer::Kind::entry) continue;
      try {
        const auto entry = layer.check(item);
        if (!entry) continue;
        const Cubin& cubin = entry->cubin;
        list.entries.push_back({.path = layer.path_of(item),
                                .identity = entry->identity.hex(),
                                .symbol = cubin.symbol,
                                .arch = cubin.arch,
                                .toolchain = cubin.toolchain,
                                .registers = cubin.registers,
                                .spill_bytes = cubin.spill_bytes,
                                .static_smem_bytes = cubin.static_smem_bytes,
                                .compile_ms = cubin.compile_ms,
                                .created_ns = entry->created_ns,
                                .used_ns = item.used_ns(now_ns),
                                .bytes = item.bytes()});
      } catch (const std::runtime_error& error) {
        list.bad.push_back({layer.path_of(item), error.what()});
      }
    }
    std::ranges::sort(list.entries, {}, &CacheEntryInfo::path);
    return list;
  };
  return impl_->on_user_layer("list", read);
}

VerifyReport BinaryCache::verify() {
  if (!impl_->user) return {};
  const auto rehash = [](const CacheLayer& layer) {
    VerifyReport report;
    for (const CacheLayer::Item& item : layer.scan()) {
      if (item.kind != CacheLayer::Kind::entry) continue;
      try {
        if (layer.check(item)) ++report.good;
      } catch (const std::runtime_error& error) {
        report.bad.push_back({layer.path_of(item), error.what()});
      }
    }
    return report;
  };
  return impl_->on_user_layer("verify", rehash);
}

CacheStat BinaryCache::counts() const {
  CacheStat stat;
  stat.max_bytes = impl_->options.max_bytes;
  stat.memory_hits = impl_->memory_hits;
  stat.disk_hits = impl_->disk_hits;
  stat.misses = impl_->misses;
  stat.stores = impl_->stores;
  stat.memory_entries = impl_->memory.entries();
  stat.memory_bytes = impl_->memory.bytes();
  return stat;
}

CacheStat BinaryCache::stat() {
  CacheStat stat = counts();
  if (!impl_->user) return stat;
  for (const auto& item : impl_->on_user_layer("scan", [](const CacheLayer& layer) { return layer.scan(); })) {
    stat.bytes += item.bytes();
    if (item.kind == CacheLayer::Kind::entry) ++stat.entries;
    if (item.kind == CacheLayer::Kind::bad) ++stat.bad_files;
    if (item.kind == CacheLayer::Kind::temporary) ++stat.temporaries;
  }
  return stat;
}

std::size_t BinaryCache::trim(std::uint64_t max_bytes) {
  impl_->require_writable("trim");
  const auto result = impl_->on_user_layer("trim", [&](const CacheLayer& layer) { return layer.trim(max_bytes); });
  impl_->set_known_bytes(result.bytes);
  return result.removed;
}

std::size_t BinaryCache::clear() {
  impl_->require_writable("clear");
  const std::size_t removed = impl_->on_user_layer("clear", [](const CacheLayer& layer) { return layer.clear(); });
  impl_->set_known_bytes(std::nullopt);
  impl_->memory.clear();
  return removed;
}

const std::filesystem::path& BinaryCache::directory() const { return impl_->options.directory; }

const std::filesystem::path& BinaryCache::wanted_directory() const { return impl_->wanted_directory; }

}  // namespace hotgemm
