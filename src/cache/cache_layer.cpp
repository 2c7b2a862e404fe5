#include "cache/cache_layer.hpp"

#include <hotgemm/error.hpp>

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <tuple>
#include <utility>

namespace hotgemm {
namespace {

constexpr const char* kFormatName = "v1";
constexpr const char* kCubinName = "cubin";
constexpr const char* kTemporaryName = "tmp";
constexpr std::string_view kTemporarySuffix = ".tmp";
constexpr std::size_t kShardDigits = 2;
constexpr std::size_t kRandomDigits = 16;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kTouchIntervalNs = 3600 * kNsPerSecond;
constexpr std::uint64_t kBytesPerBlock = 512;  // unit of st_blocks, whatever block size the file system has

bool is_hex_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

bool is_shard_name(std::string_view name) {
  return name.size() == kShardDigits && std::all_of(name.begin(), name.end(), is_hex_digit);
}

std::string temporary_name() {
  std::array<std::uint8_t, kRandomDigits / 2> random{};
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return std::to_string(::getpid()).append("-").append(to_hex(random)).append(kTemporarySuffix);
}

bool is_temporary_name(std::string_view name) {
  const std::size_t dash = name.find('-');
  if (dash == std::string_view::npos || dash == 0 || !name.ends_with(kTemporarySuffix)) return false;
  const std::string_view random =
      name.substr(dash + 1, name.size() - std::min(name.size(), dash + 1 + kTemporarySuffix.size()));
  return std::all_of(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(dash),
                     [](char c) { return c >= '0' && c <= '9'; }) &&
         random.size() == kRandomDigits && std::all_of(random.begin(), random.end(), is_hex_digit);
}

std::int64_t mtime_ns(const struct ::stat& status) {
  return status.st_mtim.tv_sec * kNsPerSecond + status.st_mtim.tv_nsec;
}

bool is_same_file(const struct ::stat& a, const struct ::stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size && mtime_ns(a) == mtime_ns(b);
}

}  // namespace

std::int64_t wall_clock_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

std::uint64_t CacheLayer::Item::bytes() const {
  // A file system that allocates blocks late reports too few of them for a new file.
  return std::max(static_cast<std::uint64_t>(status.st_blocks) * kBytesPerBlock,
                  static_cast<std::uint64_t>(status.st_size));
}

std::int64_t CacheLayer::Item::used_ns(std::int64_t now_ns) const { return std::min(mtime_ns(status), now_ns); }

CacheLayer::CacheLayer(std::filesystem::path path, DirectoryRules rules, bool may_change, CacheWarnings& warnings)
    : path_(std::move(path)), rules_(rules), may_change_(may_change), warnings_(warnings) {}

std::optional<CacheDirectory> CacheLayer::open_below(const std::vector<std::string>& names, bool create) const {
  auto directory = CacheDirectory::open(path_, rules_, create);
  for (const std::string& name : names) {
    if (!directory) return std::nullopt;
    // No direct assignment: a directory must stay open until the one below it is open.
    auto below = directory->subdirectory(name, create);
    directory = std::move(below);
  }
  return directory;
}

std::optional<CacheDirectory> CacheLayer::open_shard(std::string_view hex) const {
  return open_below({kFormatName, kCubinName, std::string(hex.substr(0, kShardDigits))}, false);
}

std::optional<CacheEntry> CacheLayer::find(const Identity& identity, std::string_view tag) const {
  const std::string hex = identity.hex();
  const auto shard = open_shard(hex);
  return shard ? load(*shard, entry_name(hex, tag), identity) : std::nullopt;
}

std::optional<CacheEntry> CacheLayer::find_newest(const Identity& identity,
                                                  const std::function<bool(const CacheEntry&)>& is_wanted) const {
  const std::string hex = identity.hex();
  const auto shard = open_shard(hex);
  if (!shard) return std::nullopt;
  std::optional<CacheEntry> newest;
  for (const std::string& name : shard->names()) {
    if (!is_entry_name(name) || !name.starts_with(hex)) continue;
    auto entry = load(*shard, name, identity);
    if (!entry || (newest && entry->created_ns <= newest->created_ns)) continue;
    if (is_wanted(*entry)) newest = std::move(entry);
  }
  return newest;
}

std::optional<CacheEntry> CacheLayer::load(const CacheDirectory& shard, const std::string& name,
                                           const Identity& identity) const {
  std::optional<struct ::stat> seen;
  try {
    seen = shard.status(name);
    if (!seen) return std::nullopt;
    const auto file = shard.read(name, kMaxEntryBytes);
    if (!file) return std::nullopt;
    CacheEntry entry = decode_entry(file->bytes);
    if (entry.identity != identity) throw Error(ErrorCode::io_error, "it holds another kernel than its name says");
    if (entry_name(identity.hex(), toolchain_tag(entry.cubin.toolchain)) != name) {
      throw Error(ErrorCode::io_error, "its toolchain is not the one that its name says");
    }
    const std::int64_t age_ns = wall_clock_ns() - mtime_ns(file->status);
    if (may_change_ && (age_ns > kTouchIntervalNs || age_ns < 0)) shard.touch(name);
    return entry;
  } catch (const std::system_error& error) {
    // A system error says nothing about the entry, so the entry stays.
    warnings_.once((shard.path() / name).string(), std::string(error.what()) + "; the entry is not used");
  } catch (const Error& error) {
    reject(shard, name, seen, error.what());
  }
  return std::nullopt;
}

void CacheLayer::reject(const CacheDirectory& shard, const std::string& name, const std::optional<struct ::stat>& seen,
                        const std::string& reason) const {
  bool was_renamed = false;
  if (may_change_) {
    try {
      // Another process may have put a good entry there in the meantime.
      const auto now = shard.status(name);
      if (!now || !seen || !is_same_file(*now, *seen)) return;
      shard.rename(name, shard, name + std::string(kBadSuffix));
      was_renamed = true;
    } catch (const std::system_error&) {
      was_renamed = false;
    }
  }
  warnings_.once((shard.path() / name).string(), "rejected " + (shard.path() / name).string() + ": " + reason +
                                                     (was_renamed ? "; renamed to .bad" : "; not used"));
}

void CacheLayer::quarantine(const Identity& identity, const Cubin& refused) const {
  const std::string hex = identity.hex();
  const std::string name = entry_name(hex, toolchain_tag(refused.toolchain));
  const auto shard = may_change_ ? open_shard(hex) : std::nullopt;
  const auto file = shard ? shard->read(name, kMaxEntryBytes) : std::nullopt;
  if (!file || decode_entry(file->bytes).cubin.image != refused.image) return;
  // Another process may have put a good entry there in the meantime.
  const auto now = shard->status(name);
  if (now && is_same_file(*now, file->status)) shard->rename(name, *shard, name + std::string(kBadSuffix));
}

void CacheLayer::publish(const Identity& identity, std::string_view tag, std::span<const std::uint8_t> bytes,
                         bool durable) const {
  const std::string hex = identity.hex();
  const std::string name = entry_name(hex, tag);
  try {
    publish_once(hex.substr(0, kShardDigits), name, bytes, durable);
  } catch (const std::system_error& error) {
    // ENOENT: directories or the temporary file were removed between two steps. EISDIR: a directory has the entry's
    // name.
    if (error.code().value() == EISDIR) {
      if (const auto shard = open_shard(hex)) shard->rename(name, *shard, name + std::string(kBadSuffix));
    } else if (error.code().value() != ENOENT) {
      throw;
    }
    publish_once(hex.substr(0, kShardDigits), name, bytes, durable);
  }
}

void CacheLayer::publish_once(const std::string& shard_name, const std::string& name,
                              std::span<const std::uint8_t> bytes, bool durable) const {
  const auto top = open_below({kFormatName}, true);
  const auto temporaries = top->subdirectory(kTemporaryName, true);
  const auto cubins = top->subdirectory(kCubinName, true);
  const auto shard = cubins->subdirectory(shard_name, true);
  const std::string temporary = temporary_name();
  temporaries->write_new(temporary, bytes, durable);
  try {
    temporaries->rename(temporary, *shard, name);
  } catch (const std::system_error&) {
    try {
      temporaries->remove(temporary);
    } catch (const std::system_error&) {
      // Report the error of the rename; a later sweep removes the file that is left.
    }
    throw;
  }
  if (durable) {
    shard->sync();
    cubins->sync();
  }
}

std::vector<CacheLayer::Item> CacheLayer::scan() const {
  std::vector<Item> items;
  const auto add = [&](const CacheDirectory& directory, Kind kind, const std::string& shard, const std::string& name) {
    const auto status = directory.status(name);
    if (status && !S_ISDIR(status->st_mode)) items.push_back({kind, shard, name, *status});
  };
  const auto top = open_below({kFormatName}, false);
  if (!top) return items;
  if (const auto temporaries = top->subdirectory(kTemporaryName, false)) {
    for (const std::string& name : temporaries->names()) {
      if (is_temporary_name(name)) add(*temporaries, Kind::temporary, {}, name);
    }
  }
  const auto cubins = top->subdirectory(kCubinName, false);
  if (!cubins) return items;
  for (const std::string& shard_name : cubins->names()) {
    if (!is_shard_name(shard_name)) continue;
    try {
      const auto shard = cubins->subdirectory(shard_name, false);
      if (!shard) continue;
      for (const std::string& name : shard->names()) {
        if (is_entry_name(name)) add(*shard, Kind::entry, shard_name, name);
        if (is_bad_entry_name(name)) add(*shard, Kind::bad, shard_name, name);
      }
    } catch (const std::runtime_error& error) {
      warnings_.once((cubins->path() / shard_name).string(), std::string(error.what()) + "; left out");
    }
  }
  return items;
}

std::filesystem::path CacheLayer::path_of(const Item& entry) const {
  return path_ / kFormatName / kCubinName / entry.shard / entry.name;
}

std::optional<CacheEntry> CacheLayer::check(const Item& item) const {
  const auto shard = open_shard(item.shard);
  const auto file = shard ? shard->read(item.name, kMaxEntryBytes) : std::nullopt;
  if (!file) return std::nullopt;
  CacheEntry entry = decode_entry(file->bytes);
  if (entry_name(entry.identity.hex(), toolchain_tag(entry.cubin.toolchain)) != item.name) {
    throw Error(ErrorCode::io_error, "it holds another kernel or toolchain than its name says");
  }
  return entry;
}

CacheLayer::TrimResult CacheLayer::trim(std::uint64_t max_bytes) const {
  std::vector<Item> items = scan();
  TrimResult result;
  for (const Item& item : items) result.bytes += item.bytes();
  std::erase_if(items, [](const Item& item) { return item.kind == Kind::temporary; });
  const std::int64_t now_ns = wall_clock_ns();
  const auto order = [now_ns](const Item& item) {
    return std::make_tuple(item.kind != Kind::bad, item.used_ns(now_ns), item.name);
  };
  std::sort(items.begin(), items.end(), [&](const Item& a, const Item& b) { return order(a) < order(b); });
  for (const Item& item : items) {
    if (result.bytes <= max_bytes) break;
    if (!remove(item)) continue;
    result.bytes -= item.bytes();
    ++result.removed;
  }
  return result;
}

std::size_t CacheLayer::clear() const {
  const std::vector<Item> items = scan();
  return static_cast<std::size_t>(
      std::count_if(items.begin(), items.end(), [&](const Item& item) { return remove(item); }));
}

void CacheLayer::sweep(std::chrono::seconds age) const {
  const std::int64_t now_ns = wall_clock_ns();
  const std::int64_t age_ns = std::chrono::nanoseconds(age).count();
  const auto temporaries = open_below({kFormatName, kTemporaryName}, false);
  if (!temporaries) return;
  for (const std::string& name : temporaries->names()) {
    if (!is_temporary_name(name)) continue;
    const auto status = temporaries->status(name);
    if (status && S_ISREG(status->st_mode) && now_ns - mtime_ns(*status) > age_ns) temporaries->remove(name);
  }
}

bool CacheLayer::remove(const Item& item) const {
  const auto directory = item.kind == Kind::temporary ? open_below({kFormatName, kTemporaryName}, false)
                                                      : open_below({kFormatName, kCubinName, item.shard}, false);
  if (!directory) return false;
  // An entry that was used or replaced after the scan is no longer the chosen one.
  const auto now = directory->status(item.name);
  return now && is_same_file(*now, item.status) && directory->remove(item.name);
}

}  // namespace hotgemm
