#include "base/text.hpp"
#include "cache/binary_cache.hpp"
#include "cache/cache_entry.hpp"
#include "command/commands.hpp"
#include "command/output_file.hpp"
#include "command/table.hpp"
#include "config/problem_text.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>

namespace hotgemm::command {
namespace {

BinaryCacheOptions cache_options(const Session& session) {
  BinaryCacheOptions options = BinaryCacheOptions::from_environment();
  if (const std::string directory = context_options(session).cache_directory; !directory.empty()) {
    options.directory = directory;
  }
  return options;
}

BinaryCache open_cache(const Session& session) {
  require_cache_directory(session);
  return BinaryCache(cache_options(session));
}

void note_refused(const std::filesystem::path& layer, const std::string& reason) {
  print_err("hotgemm: the layer {} is not used: {}\n", layer.string(), reason);
}

/// Calls `visit` with the cache of the user's layer, then with that of each layer below it, which only reads. A layer
/// below that cannot be used is given to `refused` with the reason. One that is not there is only noted, because it may
/// still come.
template <class Visit, class Refused>
void for_each_layer(const Session& session, const Visit& visit, const Refused& refused) {
  require_cache_directory(session);
  const BinaryCacheOptions options = cache_options(session);
  BinaryCache user(options);
  visit(user);
  if (options.mode == CacheMode::off) return;
  for (const std::filesystem::path& layer : options.read_only_layers) {
    if (is_absent(layer)) {
      note_refused(layer, "there is no such directory");
      continue;
    }
    BinaryCacheOptions lower = options;
    lower.directory = layer;
    lower.read_only_layers.clear();
    lower.mode = CacheMode::read_only;
    try {
      BinaryCache cache(lower);
      visit(cache);
    } catch (const Error& error) {
      refused(layer, std::string(error.what()));
    }
  }
}

std::string day(std::int64_t ns) {
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(static_cast<std::time_t>(ns / 1'000'000'000)));
}

int list(Session& session) {
  Table table({{"identity"},
               {"arch"},
               {"registers", true},
               {"spills", true},
               {"bytes", true},
               {"used (UTC)"},
               {"kernel"},
               {"layer"}});
  session.output["entries"] = Json::array();
  std::size_t bad = 0;
  const auto add = [&](BinaryCache& cache) {
    const std::string layer = cache.directory().string();
    const CacheList listed = cache.list();
    bad += listed.bad.size();
    for (const CacheEntryInfo& e : listed.entries) {
      table.add({e.identity.substr(0, 12), e.arch, std::to_string(e.registers), std::to_string(e.spill_bytes),
                 std::to_string(e.bytes), day(e.used_ns), e.symbol, layer});
      session.output["entries"].push_back({{"identity", e.identity},
                                           {"symbol", e.symbol},
                                           {"arch", e.arch},
                                           {"toolchain", e.toolchain},
                                           {"registers", e.registers},
                                           {"spill_bytes", e.spill_bytes},
                                           {"compile_ms", e.compile_ms},
                                           {"bytes", e.bytes},
                                           {"created_ns", e.created_ns},
                                           {"used_ns", e.used_ns},
                                           {"path", e.path.string()},
                                           {"layer", layer}});
    }
  };
  for_each_layer(session, add, note_refused);
  session.print(!table.empty() ? table.text() : bad == 0 ? "the cache is empty" : "no kernel in the cache is usable");
  if (bad > 0) {
    print_err("hotgemm: {} {} not usable; `hotgemm cache verify` names {}\n", in_words(bad, "file"),
              bad == 1 ? "is" : "are", bad == 1 ? "it" : "them");
  }
  return kGood;
}

/// The numbers of the user's layer, and under "layers" those of each.
int stat(Session& session) {
  Json layers = Json::array();
  const auto add = [&](BinaryCache& cache) {
    const CacheStat s = cache.stat();
    const bool is_user = layers.empty();
    Json json{{"directory", cache.directory().string()},
              {"entries", s.entries},
              {"bad_files", s.bad_files},
              {"temporaries", s.temporaries},
              {"bytes", s.bytes}};
    if (is_user) json["max_bytes"] = s.max_bytes;
    if (is_user) session.output = json;
    layers.push_back(json);
    session.print(fmt::format(
        "{}\n{} kernels, {} bad files set aside, {} temporary files: {}{}",
        cache.directory().empty() ? "in memory only" : cache.directory().string(), s.entries, s.bad_files,
        s.temporaries, readable_bytes(static_cast<double>(s.bytes)),
        is_user ? " of " + readable_bytes(static_cast<double>(s.max_bytes)) : ", a layer that is only read"));
  };
  for_each_layer(session, add, note_refused);
  session.output["layers"] = layers;
  return kGood;
}

int verify(Session& session) {
  std::size_t good = 0;
  Json all_bad = Json::array();
  const auto add_bad = [&](const std::filesystem::path& path, const std::string& reason) {
    all_bad.push_back({{"path", path.string()}, {"reason", reason}});
    print_err("hotgemm: {}: {}\n", path.string(), reason);
  };
  const auto add = [&](BinaryCache& cache) {
    const VerifyReport report = cache.verify();
    good += report.good;
    for (const VerifyReport::Bad& bad : report.bad) add_bad(bad.path, bad.reason);
  };
  for_each_layer(session, add, add_bad);
  session.output["good"] = good;
  session.output["bad"] = all_bad;
  session.print(fmt::format("{} good, {} bad", good, all_bad.size()));
  return all_bad.empty() ? kGood : kSomeFailed;
}

int removed(Session& session, std::size_t count) {
  session.output["removed"] = count;
  session.print(fmt::format("{} file{} removed", count, count == 1 ? "" : "s"));
  return kGood;
}

int path(Session& session) {
  BinaryCache cache(cache_options(session));
  session.output["directory"] = cache.directory().string();
  session.print(cache.directory().string());
  return kGood;
}

CacheEntryInfo find_entry(const Session& session, const std::string& identity) {
  std::vector<CacheEntryInfo> found;
  std::vector<VerifyReport::Bad> bad;
  const auto search = [&](BinaryCache& cache) {
    CacheList listed = cache.list();
    for (CacheEntryInfo& entry : listed.entries) {
      if (entry.identity.starts_with(identity)) found.push_back(std::move(entry));
    }
    for (VerifyReport::Bad& file : listed.bad) {
      if (file.path.filename().string().starts_with(identity)) bad.push_back(std::move(file));
    }
  };
  for_each_layer(session, search, note_refused);
  if (found.empty() && !bad.empty()) {
    throw Error(ErrorCode::io_error,
                fmt::format("the kernel with an identity that begins with {} is not usable: {}: {}",
                            in_quotes(identity), bad[0].path.string(), bad[0].reason));
  }
  if (found.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "no kernel in the cache has an identity that begins with " + in_quotes(identity));
  }
  for (const CacheEntryInfo& entry : found) {
    if (entry.identity != found.front().identity) {
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("the identities of several kernels begin with {}: give more digits", in_quotes(identity)));
    }
  }
  // Several toolchains may have built the same kernel: take the newest.
  return *std::ranges::max_element(found, {}, &CacheEntryInfo::created_ns);
}

int extract(Session& session, const std::string& identity, const std::string& file_name) {
  const CacheEntryInfo info = find_entry(session, identity);
  std::ifstream in(info.path, std::ios::binary);
  const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(in), {}};
  if (!in.good() && !in.eof()) throw Error(ErrorCode::io_error, "cannot read " + info.path.string());
  const CacheEntry entry = decode_entry(bytes);
  write_file(file_name, {reinterpret_cast<const char*>(entry.cubin.image.data()), entry.cubin.image.size()});
  session.output = Json{{"identity", info.identity},
                        {"symbol", info.symbol},
                        {"arch", info.arch},
                        {"bytes", entry.cubin.image.size()},
                        {"file", file_name}};
  session.print(
      fmt::format("{} for {}: {} bytes written to {}", info.symbol, info.arch, entry.cubin.image.size(), file_name));
  return kGood;
}

}  // namespace

void add_cache_command(CLI::App& app, Session& session) {
  constexpr CommonOptions kCommon{.device = false, .progress = false};
  CLI::App& group = *app.add_subcommand("cache", "look at, verify and clean the cache of compiled kernels");
  group.require_subcommand(1);
  add_subcommand(
      group, session, "ls", "list the kernels of all layers", [&session] { return list(session); }, kCommon);
  add_subcommand(
      group, session, "stat", "print the number of kernels and their size, for each layer",
      [&session] { return stat(session); }, kCommon);
  add_subcommand(
      group, session, "verify", "check every entry of all layers; list the bad ones and exit with 2 if there are any",
      [&session] { return verify(session); }, kCommon);
  add_subcommand(
      group, session, "clear", "remove all kernels of the user's layer; tuning records stay",
      [&session] { return removed(session, open_cache(session).clear()); }, kCommon);
  add_subcommand(
      group, session, "path", "print the cache directory", [&session] { return path(session); }, kCommon);

  const auto max_size = std::make_shared<std::string>();
  CLI::App& trim = add_subcommand(
      group, session, "trim",
      "remove the least recently used kernels of the user's layer, or of the one that --cache-dir names",
      [&session, max_size] { return removed(session, open_cache(session).trim(parse_size(*max_size))); }, kCommon);
  trim.add_option("--max-size", *max_size, "size to keep at most, as in 64M")
      ->type_name("SIZE")
      ->check(size_check())
      ->required();

  const auto identity = std::make_shared<std::string>();
  const auto file = std::make_shared<std::string>();
  CLI::App& out = add_subcommand(
      group, session, "extract", "write a kernel's cubin to a file, for cuobjdump",
      [&session, identity, file] { return extract(session, *identity, *file); }, kCommon);
  out.add_option("identity", *identity, "identity that `cache ls` prints, or its first digits")->required();
  out.add_option("file", *file, "the file to write")->type_name("FILE")->required();
}

}  // namespace hotgemm::command
