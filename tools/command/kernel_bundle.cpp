#include "command/kernel_bundle.hpp"

#include "base/sha256.hpp"
#include "cache/cache_entry.hpp"
#include "command/session.hpp"
#include "command/tar.hpp"

#include <hotgemm/error.hpp>
#include <hotgemm/version.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace hotgemm::command {
namespace {

constexpr const char* kManifest = "manifest.json";
constexpr int kFormat = 1;

std::string path_of(const CacheEntry& entry) {
  const std::string hex = entry.identity.hex();
  return "v1/cubin/" + hex.substr(0, 2) + "/" + entry_name(hex, toolchain_tag(entry.cubin.toolchain));
}

Json row_of(const CacheEntry& entry, const TarFile& file) {
  return {{"file", file.name},           {"identity", entry.identity.hex()}, {"sha256", to_hex(sha256(file.bytes))},
          {"bytes", file.bytes.size()},  {"arch", entry.cubin.arch},         {"toolchain", entry.cubin.toolchain},
          {"symbol", entry.cubin.symbol}};
}

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorCode::io_error, "the bundle is refused: " + why); }

Json manifest_of(const std::vector<TarFile>& files) {
  if (files.empty() || files.front().name != kManifest) refuse("it does not begin with manifest.json");
  const std::vector<std::uint8_t>& text = files.front().bytes;
  Json manifest = Json::parse(text.begin(), text.end(), nullptr, false);
  const bool is_known = manifest.is_object() && manifest.contains("bundle") && manifest.contains("kernels") &&
                        manifest["bundle"] == kFormat && manifest["kernels"].is_array();
  if (!is_known) refuse(fmt::format("its manifest is not one of format {}", kFormat));
  return manifest;
}

/// Throws unless `file` is whole, and what `row` says of it.
CacheEntry checked_entry(const TarFile& file, const Json& row) {
  if (!row.is_object() || !row.contains("sha256") || row["sha256"] != to_hex(sha256(file.bytes))) {
    refuse(file.name + " has another SHA-256 than the manifest says");
  }
  CacheEntry entry;
  try {
    entry = decode_entry(file.bytes);
  } catch (const Error& error) {
    refuse(file.name + ": " + error.what());
  }
  if (row != row_of(entry, file) || file.name != path_of(entry)) {
    refuse(file.name + " holds another kernel than the manifest says");
  }
  return entry;
}

}  // namespace

std::size_t export_kernels(BinaryCache& cache, std::span<const Identity> kernels, const std::filesystem::path& path) {
  std::vector<TarFile> files{{kManifest, {}}};
  Json manifest{{"bundle", kFormat}, {"hotgemm", HOTGEMM_VERSION}, {"kernels", Json::array()}};
  for (const Identity& identity : kernels) {
    std::optional<Cubin> cubin = cache.find(identity);
    if (!cubin) throw Error(ErrorCode::io_error, "export: the kernel " + identity.hex() + " is not in the cache");
    const CacheEntry entry{identity, *std::move(cubin), 0};  // no time: equal kernels give equal bundles
    files.push_back({path_of(entry), encode_entry(entry)});
    manifest["kernels"].push_back(row_of(entry, files.back()));
  }
  const std::string text = manifest.dump(1) + "\n";
  files.front().bytes.assign(text.begin(), text.end());
  write_tar(path, files);
  return kernels.size();
}

std::map<std::string, std::size_t> import_kernels(BinaryCache& cache, const std::filesystem::path& path) {
  const std::vector<TarFile> files = read_tar(path);
  const Json manifest = manifest_of(files);
  const Json& rows = manifest["kernels"];
  if (rows.size() != files.size() - 1) {
    refuse(fmt::format("it holds {} kernels, and its manifest names {}", files.size() - 1, rows.size()));
  }
  std::vector<CacheEntry> entries;
  for (std::size_t i = 0; i < rows.size(); ++i) entries.push_back(checked_entry(files[i + 1], rows[i]));
  std::map<std::string, std::size_t> of_arch;
  for (const CacheEntry& entry : entries) {
    cache.store(entry.identity, entry.cubin);
    ++of_arch[entry.cubin.arch];
  }
  // Only now, because a store may push out what was stored before: the cache has a size limit.
  const auto missing =
      std::ranges::count_if(entries, [&](const CacheEntry& entry) { return !cache.is_on_disk(entry.identity); });
  if (missing == 0) return of_arch;
  throw Error(ErrorCode::io_error, fmt::format("import: {} of {} kernels were not stored: {}", missing, entries.size(),
                                               cache.store_failure()));
}

}  // namespace hotgemm::command
