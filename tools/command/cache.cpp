#include "base/text.hpp"
#include "cache/binary_cache.hpp"
#include "cache/cache_entry.hpp"
#include "command/commands.hpp"
#include "command/table.hpp"
#include "config/problem_text.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>

namespace hotgemm::command {
namespace {

BinaryCache open_cache(const Session& session) {
  BinaryCacheOptions options = BinaryCacheOptions::from_environment();
  if (const std::string directory = context_options(session).cache_directory; !directory.empty()) {
    options.directory = directory;
  }
  return BinaryCache(std::move(options));
}

std::string day(std::int64_t ns) {
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(static_cast<std::time_t>(ns / 1'000'000'000)));
}

int list(Session& session) {
  BinaryCache cache = open_cache(session);
  Table table(
      {{"identity"}, {"arch"}, {"registers", true}, {"spills", true}, {"bytes", true}, {"used (UTC)"}, {"kernel"}});
  session.output["entries"] = Json::array();
  for (const CacheEntryInfo& e : cache.list()) {
    table.add({e.identity.substr(0, 12), e.arch, std::to_string(e.registers), std::to_string(e.spill_bytes),
               std::to_string(e.bytes), day(e.used_ns), e.symbol});
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
                                         {"path", e.path.string()}});
  }
  session.print(table.empty() ? "the cache is empty" : table.text());
  return kGood;
}

int stat(Session& session) {
  BinaryCache cache = open_cache(session);
  const CacheStat s = cache.stat();
  session.output = Json{{"directory", cache.directory().string()},
                        {"entries", s.entries},
                        {"bad_files", s.bad_files},
                        {"temporaries", s.temporaries},
                        {"bytes", s.bytes},
                        {"max_bytes", s.max_bytes}};
  session.print(fmt::format("{}\n{} kernels, {} bad files, {} temporary files: {} of {}",
                            cache.directory().empty() ? "in memory only" : cache.directory().string(), s.entries,
                            s.bad_files, s.temporaries, readable_bytes(static_cast<double>(s.bytes)),
                            readable_bytes(static_cast<double>(s.max_bytes))));
  return kGood;
}

int verify(Session& session) {
  BinaryCache cache = open_cache(session);
  const VerifyReport report = cache.verify();
  session.output["good"] = report.good;
  session.output["bad"] = Json::array();
  for (const VerifyReport::Bad& bad : report.bad) {
    session.output["bad"].push_back({{"path", bad.path.string()}, {"reason", bad.reason}});
    fmt::print(stderr, "hotgemm: {}: {}\n", bad.path.string(), bad.reason);
  }
  session.print(fmt::format("{} good, {} bad", report.good, report.bad.size()));
  return report.bad.empty() ? kGood : kSomeFailed;
}

int removed(Session& session, std::size_t count) {
  session.output["removed"] = count;
  session.print(fmt::format("{} file{} removed", count, count == 1 ? "" : "s"));
  return kGood;
}

int path(Session& session) {
  BinaryCache cache = open_cache(session);
  session.output["directory"] = cache.directory().string();
  session.print(cache.directory().string());
  return kGood;
}

CacheEntryInfo find_entry(BinaryCache& cache, const std::string& identity) {
  std::vector<CacheEntryInfo> found;
  for (CacheEntryInfo& entry : cache.list()) {
    if (entry.identity.starts_with(identity)) found.push_back(std::move(entry));
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
  BinaryCache cache = open_cache(session);
  const CacheEntryInfo info = find_entry(cache, identity);
  std::ifstream in(info.path, std::ios::binary);
  const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(in), {}};
  if (!in.good() && !in.eof()) throw Error(ErrorCode::io_error, "cannot read " + info.path.string());
  const CacheEntry entry = decode_entry(bytes);
  std::ofstream out(file_name, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(entry.cubin.image.data()),
            static_cast<std::streamsize>(entry.cubin.image.size()));
  out.close();
  if (!out) throw Error(ErrorCode::io_error, fmt::format("cannot write {}: {}", file_name, std::strerror(errno)));
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
  CLI::App& group = *app.add_subcommand("cache", "look at, verify and clean the cache of compiled kernels");
  group.require_subcommand(1);
  add_subcommand(group, session, "ls", "list the kernels", [&session] { return list(session); });
  add_subcommand(group, session, "stat", "print the number of kernels and their size",
                 [&session] { return stat(session); });
  add_subcommand(group, session, "verify", "check every entry; list the bad ones and exit with 2 if there are any",
                 [&session] { return verify(session); });
  add_subcommand(group, session, "clear", "remove all kernels; tuning records stay",
                 [&session] { return removed(session, open_cache(session).clear()); });
  add_subcommand(group, session, "path", "print the cache directory", [&session] { return path(session); });

  const auto max_size = std::make_shared<std::string>();
  CLI::App& trim = add_subcommand(
      group, session, "trim", "remove the least recently used kernels",
      [&session, max_size] { return removed(session, open_cache(session).trim(parse_size(*max_size))); });
  trim.add_option("--max-size", *max_size, "size to keep at most, as in 64M")->required();

  const auto identity = std::make_shared<std::string>();
  const auto file = std::make_shared<std::string>();
  CLI::App& out = add_subcommand(group, session, "extract", "write a kernel's cubin to a file, for cuobjdump",
                                 [&session, identity, file] { return extract(session, *identity, *file); });
  out.add_option("identity", *identity, "identity that `cache ls` prints, or its first digits")->required();
  out.add_option("file", *file, "the file to write")->required();
}

}  // namespace hotgemm::command
