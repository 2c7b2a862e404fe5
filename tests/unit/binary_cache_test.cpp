#include "cache/binary_cache.hpp"

#include "unit/cache_fixture.hpp"

#include <hotgemm/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace hotgemm {
namespace {

using namespace std::chrono_literals;

class BinaryCacheTest : public CacheTest {};

void put(const std::filesystem::path& path, const CacheEntry& entry) {
  std::filesystem::create_directories(path.parent_path());
  write_file(path, encode_entry(entry));
}

TEST_F(BinaryCacheTest, RoundTripsThroughMemoryAndDisk) {
  BinaryCache cache(options());
  EXPECT_FALSE(cache.find(identity_of(1)));
  cache.store(identity_of(1), cubin_of(1));
  EXPECT_EQ(cache.find(identity_of(1)), cubin_of(1));
  EXPECT_EQ(find_afresh(identity_of(1)), cubin_of(1));
  EXPECT_EQ(find_afresh(identity_of(1), "nvrtc-13.0-aa"), cubin_of(1));
  EXPECT_FALSE(find_afresh(identity_of(2)));
  EXPECT_TRUE(warnings_.take().empty());
  const CacheStat stat = cache.stat();
  EXPECT_EQ(stat.entries, 1U);
  EXPECT_EQ(stat.temporaries, 0U);
  EXPECT_EQ(stat.memory_hits, 1U);
  EXPECT_EQ(stat.misses, 1U);
}

TEST_F(BinaryCacheTest, MemoryKeepsTheLatestKernelsWithinItsLimit) {
  BinaryCacheOptions few = options();
  few.max_memory_bytes = 100'000;
  BinaryCache cache(few);
  for (int i = 0; i < 40; ++i) {
    cache.store(identity_of(i), cubin_of(i, kToolchain, kKernelBytes));
    EXPECT_TRUE(cache.find(identity_of(0))) << "used all the time";
    EXPECT_LE(cache.stat().memory_bytes, few.max_memory_bytes);
  }
  EXPECT_EQ(cache.stat().disk_hits, 0U) << "a use keeps a kernel in memory";
  EXPECT_EQ(cache.stat().memory_entries, 5U);
  const std::uint64_t hits = cache.stat().memory_hits;
  EXPECT_EQ(cache.find(identity_of(1)), cubin_of(1, kToolchain, kKernelBytes)) << "from disk";
  EXPECT_EQ(cache.stat().memory_hits, hits);
  EXPECT_EQ(cache.find(identity_of(1)), cubin_of(1, kToolchain, kKernelBytes));
  EXPECT_EQ(cache.stat().memory_hits, hits + 1);
  EXPECT_EQ(cache.stat().entries, 40U);
}

TEST_F(BinaryCacheTest, OneKernelIsKeptInMemoryWhateverItsSize) {
  BinaryCacheOptions none = options();
  none.mode = CacheMode::off;
  none.max_memory_bytes = 1;
  BinaryCache cache(none);
  cache.store(identity_of(1), cubin_of(1));
  cache.store(identity_of(1), cubin_of(1, "other"));
  EXPECT_EQ(cache.stat().memory_entries, 1U);
  EXPECT_EQ(cache.find(identity_of(1)), cubin_of(1, "other"));
  cache.store(identity_of(2), cubin_of(2));
  EXPECT_FALSE(cache.find(identity_of(1)));
  cache.discard(identity_of(2), cubin_of(2), "refused");
  EXPECT_EQ(cache.stat().memory_bytes, 0U);
}

TEST_F(BinaryCacheTest, WhatWasBuiltIsNotReadBack) {
  BinaryCache cache(options());
  cache.store(identity_of(1), cubin_of(1));
  std::filesystem::remove_all(directory_);
  EXPECT_EQ(cache.find(identity_of(1)), cubin_of(1));
}

TEST_F(BinaryCacheTest, FindsNothingWithoutMakingDirectories) {
  EXPECT_FALSE(find_afresh(identity_of(1)));
  EXPECT_FALSE(std::filesystem::exists(directory_));
}

TEST_F(BinaryCacheTest, EveryTruncationIsAMiss) {
  store_one(1);
  const auto path = entry_path(identity_of(1));
  const auto good = read_bytes(path);
  ASSERT_LT(good.size(), 1000U);
  for (std::size_t length = 0; length < good.size(); ++length) {
    write_file(path, {good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length)});
    ASSERT_FALSE(find_afresh(identity_of(1))) << "cut to " << length << " bytes";
    ASSERT_EQ(warnings_.take().size(), 1U) << "cut to " << length << " bytes";
    std::filesystem::remove(path.string() + ".bad");
  }
  auto longer = good;
  longer.push_back(0);
  write_file(path, longer);
  EXPECT_FALSE(find_afresh(identity_of(1)));
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(read_bytes(path.string() + ".bad"), longer);
  write_file(path, good);
  EXPECT_EQ(find_afresh(identity_of(1)), cubin_of(1));
}

TEST_F(BinaryCacheTest, EveryFlippedBitIsAMiss) {
  store_one(1);
  const auto path = entry_path(identity_of(1));
  auto bytes = read_bytes(path);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    const auto flip = static_cast<std::uint8_t>(1U << (bit % 8));
    bytes[bit / 8] ^= flip;
    write_file(path, bytes);
    ASSERT_FALSE(find_afresh(identity_of(1))) << "bit " << bit % 8 << " of byte " << bit / 8;
    bytes[bit / 8] ^= flip;
    std::filesystem::remove(path.string() + ".bad");
  }
  EXPECT_EQ(warnings_.take().size(), 8 * bytes.size());
}

TEST_F(BinaryCacheTest, AGoodEntryUnderAnothersNameIsAMiss) {
  const auto path = entry_path(identity_of(1));
  put(path, {identity_of(2), cubin_of(1), 1});
  EXPECT_FALSE(find_afresh(identity_of(1)));
  EXPECT_TRUE(std::filesystem::exists(path.string() + ".bad"));
  // The requested digest with other fields, like a collision.
  Identity impostor = identity_of(1);
  impostor.text += "unit:1=x\n";
  put(path, {impostor, cubin_of(1), 1});
  EXPECT_FALSE(find_afresh(identity_of(1)));
  put(path, {identity_of(1), cubin_of(1, "nvrtc-12.9-bb"), 1});
  EXPECT_FALSE(find_afresh(identity_of(1)));
  put(path, {identity_of(1), cubin_of(1), 1});
  EXPECT_TRUE(find_afresh(identity_of(1)));
}

TEST_F(BinaryCacheTest, PrefersTheToolchainElseTakesTheNewestGoodOne) {
  const Identity identity = identity_of(1);
  put(entry_path(identity, "old"), {identity, cubin_of(1, "old"), 100});
  put(entry_path(identity, "newest"), {identity, cubin_of(1, "newest"), 300});
  put(entry_path(identity, "middle"), {identity, cubin_of(1, "middle"), 200});
  EXPECT_EQ(find_afresh(identity, "old")->toolchain, "old");
  EXPECT_EQ(find_afresh(identity, "absent")->toolchain, "newest");
  EXPECT_EQ(find_afresh(identity)->toolchain, "newest");
  write_file(entry_path(identity, "newest"), {1, 2, 3});
  EXPECT_EQ(find_afresh(identity)->toolchain, "middle");
  // An entry in memory from another toolchain does not hide the preferred entry on disk.
  BinaryCache cache(options());
  EXPECT_EQ(cache.find(identity)->toolchain, "middle");
  EXPECT_EQ(cache.find(identity, "old")->toolchain, "old");
  EXPECT_EQ(cache.find(identity)->toolchain, "middle") << "the newest in memory";
}

TEST_F(BinaryCacheTest, ModesAndPermissionsAreIndependentOfTheUmask) {
  for (const mode_t mask : {0000, 0077, 0777}) {
    const mode_t before = ::umask(mask);
    store_one(1);
    ::umask(before);
    const auto path = entry_path(identity_of(1));
    EXPECT_EQ(mode_of(path), 0600U);
    for (auto parent = path.parent_path(); parent != base_; parent = parent.parent_path()) {
      EXPECT_EQ(mode_of(parent), 0700U) << parent;
    }
    EXPECT_EQ(mode_of(directory_ / "v1" / "tmp"), 0700U);
    std::filesystem::remove_all(directory_);
  }
}

TEST_F(BinaryCacheTest, EvictsTheLeastRecentlyUsed) {
  auto small = options();
  small.max_bytes = 20 * 4096;
  BinaryCache cache(small);
  for (int i = 0; i < 20; ++i) {
    cache.store(identity_of(i), cubin_of(i));
    set_mtime(entry_path(identity_of(i)), std::chrono::seconds(-100'000 + i));
  }
  ASSERT_EQ(cache.stat().entries, 20U);
  EXPECT_TRUE(find_afresh(identity_of(0)));  // the oldest entry, used again
  cache.store(identity_of(20), cubin_of(20));
  EXPECT_EQ(cache.stat().entries, 16U);  // 80 %
  EXPECT_LE(cache.stat().bytes, small.max_bytes);
  EXPECT_TRUE(find_afresh(identity_of(0)));
  EXPECT_TRUE(find_afresh(identity_of(20)));
  for (int i = 1; i <= 5; ++i) EXPECT_FALSE(find_afresh(identity_of(i))) << i;
  for (int i = 6; i < 20; ++i) EXPECT_TRUE(find_afresh(identity_of(i))) << i;
}

TEST_F(BinaryCacheTest, AHitTouchesItsStampAtMostHourly) {
  store_one(1);
  const auto path = entry_path(identity_of(1));
  set_mtime(path, -1800s);
  const auto recent = std::filesystem::last_write_time(path);
  ASSERT_TRUE(find_afresh(identity_of(1)));
  EXPECT_EQ(std::filesystem::last_write_time(path), recent);
  set_mtime(path, -7200s);
  ASSERT_TRUE(find_afresh(identity_of(1)));
  EXPECT_GT(std::filesystem::last_write_time(path), recent);
}

TEST_F(BinaryCacheTest, StampsToComeCountAsNow) {
  BinaryCache cache(options());
  for (int i = 0; i < 4; ++i) cache.store(identity_of(i), cubin_of(i));
  // An entry with a time stamp in the far past is removed first. A time stamp in the far future counts like a fresh
  // one.
  set_mtime(entry_path(identity_of(0)), std::chrono::hours(-24 * 3650));
  set_mtime(entry_path(identity_of(1)), std::chrono::hours(24 * 3650));
  EXPECT_EQ(cache.trim(3 * 4096), 1U);
  EXPECT_FALSE(std::filesystem::exists(entry_path(identity_of(0))));
  for (const auto& info : cache.list().entries) {
    EXPECT_LE(info.used_ns, std::chrono::system_clock::now().time_since_epoch() / 1ns);
  }
  // A use sets the time stamp back to now.
  ASSERT_TRUE(find_afresh(identity_of(1)));
  EXPECT_LT(std::filesystem::last_write_time(entry_path(identity_of(1))).time_since_epoch() -
                std::filesystem::file_time_type::clock::now().time_since_epoch(),
            std::chrono::hours(1));
}

TEST_F(BinaryCacheTest, LeavesForeignFilesAlone) {
  store_one(1);
  const auto shard = entry_path(identity_of(1)).parent_path();
  const std::vector<std::filesystem::path> foreign{
      directory_ / "README",
      directory_ / "v1" / "notes",
      directory_ / "v1" / "tmp" / "mine.tmp",
      directory_ / "v1" / "tmp" / "123-xyz.tmp",
      directory_ / "v1" / "cubin" / "00-not-a-shard",
      directory_ / "v1" / "cubin" / "zz",
      shard / "photo.jpg",
      shard / (std::string(64, 'g') + "-0123456789ab.hgk"),
      shard / (identity_of(1).hex() + ".hgk"),
  };
  for (const auto& path : foreign) {
    write_file(path, {1, 2, 3});
    set_mtime(path, -100'000s);
  }
  BinaryCache cache(options());
  EXPECT_TRUE(cache.find(identity_of(1)));
  EXPECT_EQ(cache.verify().bad.size(), 0U);
  EXPECT_EQ(cache.stat().entries, 1U);
  EXPECT_EQ(cache.trim(0), 1U);
  EXPECT_EQ(cache.clear(), 0U);
  for (const auto& path : foreign) EXPECT_EQ(read_bytes(path).size(), 3U) << path;
}

TEST_F(BinaryCacheTest, ServesReadOnlyLayersAndNeverWritesThem) {
  const auto layer = base_ / "site";
  auto site = options();
  site.directory = layer;
  BinaryCache(site).store(identity_of(1), cubin_of(1));
  BinaryCache(site).store(identity_of(2), cubin_of(2));
  const auto path = layer / "v1" / "cubin" / identity_of(1).hex().substr(0, 2) /
                    entry_name(identity_of(1).hex(), toolchain_tag("nvrtc-13.0-aa"));
  set_mtime(path, -100'000s);
  const auto bad_path = layer / "v1" / "cubin" / identity_of(2).hex().substr(0, 2) /
                        entry_name(identity_of(2).hex(), toolchain_tag("nvrtc-13.0-aa"));
  write_file(bad_path, {1, 2, 3});
  const auto stamp = std::filesystem::last_write_time(path);

  auto layered = options();
  layered.read_only_layers = {base_ / "absent", layer};
  BinaryCache cache(layered);
  EXPECT_EQ(cache.find(identity_of(1)), cubin_of(1));
  EXPECT_FALSE(cache.find(identity_of(2)));
  EXPECT_EQ(warnings_.take().size(), 1U);
  cache.store(identity_of(3), cubin_of(3));
  EXPECT_EQ(cache.clear(), 1U);
  EXPECT_EQ(std::filesystem::last_write_time(path), stamp);
  EXPECT_EQ(read_bytes(bad_path).size(), 3U);
  EXPECT_EQ(files_below(layer, ""), 2U);
  EXPECT_FALSE(std::filesystem::exists(base_ / "absent"));
}

TEST_F(BinaryCacheTest, TheUsersLayerComesBeforeTheOthers) {
  auto site = options();
  site.directory = base_ / "site";
  BinaryCache(site).store(identity_of(1), cubin_of(1, "newer"));
  put(entry_path(identity_of(1), "older"), {identity_of(1), cubin_of(1, "older"), 1});
  auto layered = options();
  layered.read_only_layers = {site.directory};
  EXPECT_EQ(BinaryCache(layered).find(identity_of(1))->toolchain, "older");
  EXPECT_EQ(BinaryCache(layered).find(identity_of(1), "newer")->toolchain, "newer");
}

TEST_F(BinaryCacheTest, ReadOnlyModeChangesNothing) {
  store_one(1);
  store_one(2);
  set_mtime(entry_path(identity_of(1)), -100'000s);
  write_file(entry_path(identity_of(2)), {1});
  const auto stamp = std::filesystem::last_write_time(entry_path(identity_of(1)));
  auto read_only = options();
  read_only.mode = CacheMode::read_only;
  BinaryCache cache(read_only);
  EXPECT_TRUE(cache.find(identity_of(1)));
  EXPECT_FALSE(cache.find(identity_of(2)));
  cache.store(identity_of(3), cubin_of(3));
  EXPECT_EQ(cache.find(identity_of(3)), cubin_of(3));
  EXPECT_FALSE(cache.lock(identity_of(3)).held_on_node());
  EXPECT_EQ(std::filesystem::last_write_time(entry_path(identity_of(1))), stamp);
  EXPECT_EQ(files_below(directory_, ".hgk"), 2U);
  EXPECT_EQ(files_below(directory_, ""), 2U);
  EXPECT_THROW(cache.clear(), Error);
  EXPECT_THROW(cache.trim(0), Error);
}

TEST_F(BinaryCacheTest, OffTouchesNoDiskButRemembers) {
  store_one(1);
  auto off = options();
  off.mode = CacheMode::off;
  BinaryCache cache(off);
  EXPECT_FALSE(cache.find(identity_of(1)));
  cache.store(identity_of(2), cubin_of(2));
  EXPECT_EQ(cache.find(identity_of(2)), cubin_of(2));
  EXPECT_FALSE(std::filesystem::exists(entry_path(identity_of(2))));
  EXPECT_TRUE(cache.directory().empty());
}

TEST_F(BinaryCacheTest, ListVerifyTrimAndClear) {
  BinaryCache cache(options());
  for (int i = 0; i < 3; ++i) cache.store(identity_of(i), cubin_of(i));
  const auto list = cache.list().entries;
  ASSERT_EQ(list.size(), 3U);
  const auto first = std::find_if(list.begin(), list.end(), [](const auto& info) { return info.symbol == "kernel_0"; });
  ASSERT_NE(first, list.end());
  EXPECT_EQ(first->identity, identity_of(0).hex());
  EXPECT_EQ(first->path, entry_path(identity_of(0)));
  EXPECT_EQ(first->toolchain, "nvrtc-13.0-aa");
  EXPECT_EQ(first->registers, 128);
  EXPECT_EQ(first->compile_ms, 12.5);
  EXPECT_NEAR(static_cast<double>(first->created_ns) * 1e-9, static_cast<double>(::time(nullptr)), 60.0);

  const auto path = entry_path(identity_of(1));
  auto bytes = read_bytes(path);
  bytes.back() ^= 1U;
  write_file(path, bytes);
  const VerifyReport report = cache.verify();
  EXPECT_EQ(report.good, 2U);
  ASSERT_EQ(report.bad.size(), 1U);
  EXPECT_EQ(report.bad[0].path, path);
  EXPECT_FALSE(report.bad[0].reason.empty());
  EXPECT_TRUE(std::filesystem::exists(path)) << "verify changes nothing";
  EXPECT_EQ(cache.list().entries.size(), 2U);
  ASSERT_EQ(cache.list().bad.size(), 1U);
  EXPECT_EQ(cache.list().bad[0].path, path);

  EXPECT_FALSE(find_afresh(identity_of(1)));
  EXPECT_EQ(cache.stat().bad_files, 1U);
  set_mtime(entry_path(identity_of(0)), -50'000s);
  EXPECT_EQ(cache.trim(2 * 4096), 1U) << "a bad file goes before any entry";
  EXPECT_EQ(cache.stat().bad_files, 0U);
  EXPECT_EQ(cache.trim(4096), 1U);
  EXPECT_FALSE(std::filesystem::exists(entry_path(identity_of(0))));
  EXPECT_EQ(cache.clear(), 1U);
  EXPECT_FALSE(cache.find(identity_of(2)));
  EXPECT_EQ(cache.stat().bytes, 0U);
}

TEST_F(BinaryCacheTest, ADiscardedEntryStaysAwayUntilStoredAgain) {
  auto site = options();
  site.directory = base_ / "site";
  BinaryCache(site).store(identity_of(1), cubin_of(1));
  store_one(1);
  auto layered = options();
  layered.read_only_layers = {site.directory};
  layered.max_memory_bytes = 1;
  BinaryCache cache(layered);
  ASSERT_TRUE(cache.find(identity_of(1)));
  cache.discard(identity_of(1), cubin_of(1), "the driver refused it");
  EXPECT_FALSE(cache.find(identity_of(1)));
  EXPECT_FALSE(find_afresh(identity_of(1)));
  EXPECT_EQ(warnings_.take().size(), 1U);
  cache.store(identity_of(1), cubin_of(1));
  EXPECT_TRUE(cache.find(identity_of(1)));
  cache.store(identity_of(2), cubin_of(2));  // takes the only place in memory
  EXPECT_TRUE(cache.find(identity_of(1))) << "on disk";
  EXPECT_TRUE(find_afresh(identity_of(1)));
}

TEST_F(BinaryCacheTest, DiscardingAnImageLeavesAGoodFileOfItsName) {
  Cubin refused = cubin_of(1);
  refused.image.assign(100, 0x5a);
  BinaryCache slow(options());
  slow.store(identity_of(1), refused);
  BinaryCache(options()).store(identity_of(1), cubin_of(1));  // by another process that was refused first
  slow.discard(identity_of(1), refused, "the driver refused it");
  EXPECT_EQ(find_afresh(identity_of(1)), cubin_of(1));
  EXPECT_EQ(slow.find(identity_of(1)), cubin_of(1));
  EXPECT_EQ(slow.stat().bad_files, 0U);
  EXPECT_EQ(warnings_.take().size(), 1U);
}

TEST_F(BinaryCacheTest, ADiscardedEntryDoesNotHideAnOlderOneOfItsLayer) {
  auto site = options();
  site.directory = base_ / "site";
  BinaryCache(site).store(identity_of(1), cubin_of(1, "older"));
  BinaryCache(site).store(identity_of(1), cubin_of(1, "newer"));
  auto layered = options();
  layered.read_only_layers = {site.directory};
  BinaryCache cache(layered);
  ASSERT_EQ(cache.find(identity_of(1)), cubin_of(1, "newer"));
  cache.discard(identity_of(1), cubin_of(1, "newer"), "the driver refused it");
  EXPECT_EQ(cache.find(identity_of(1)), cubin_of(1, "older"));
  EXPECT_EQ(warnings_.take().size(), 1U);
}

TEST_F(BinaryCacheTest, ServesManyThreads) {
  BinaryCache cache(options());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        if (const auto found = cache.find(identity_of(i))) {
          EXPECT_EQ(*found, cubin_of(i));
        } else {
          const ShardLock lock = cache.lock(identity_of(i));
          cache.store(identity_of(i), cubin_of(i));
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(cache.verify().good, 20U);
  EXPECT_TRUE(warnings_.take().empty());
}

TEST_F(BinaryCacheTest, DurableEntriesAreTheSame) {
  auto durable = options();
  durable.durable = true;
  BinaryCache(durable).store(identity_of(1), cubin_of(1));
  EXPECT_EQ(find_afresh(identity_of(1)), cubin_of(1));
  EXPECT_TRUE(warnings_.take().empty());
}

}  // namespace
}  // namespace hotgemm
