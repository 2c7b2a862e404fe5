// A prewarm asks the cache whether kernels lie on disk, and that all users can read a layer.

#include "cache/binary_cache.hpp"
#include "cache/shared_layer.hpp"
#include "unit/cache_fixture.hpp"

#include <hotgemm/error.hpp>

#include <gmock/gmock.h>

namespace hotgemm {
namespace {

using testing::HasSubstr;

class PrewarmedLayerTest : public CacheTest {};

TEST_F(PrewarmedLayerTest, WhatIsInMemoryAloneIsNotOnDisk) {
  BinaryCache cache(options());
  EXPECT_FALSE(cache.is_on_disk(identity_of(1)));
  cache.store(identity_of(1), cubin_of(1));
  EXPECT_TRUE(cache.is_on_disk(identity_of(1)));
  EXPECT_EQ(cache.store_failure(), "");
  std::filesystem::remove(entry_path(identity_of(1)));
  EXPECT_TRUE(cache.find(identity_of(1)));
  EXPECT_FALSE(cache.is_on_disk(identity_of(1)));
}

TEST_F(PrewarmedLayerTest, ADamagedEntryIsNotOnDisk) {
  store_one(1);
  auto bytes = read_bytes(entry_path(identity_of(1)));
  bytes.back() ^= 1U;
  write_file(entry_path(identity_of(1)), bytes);
  EXPECT_FALSE(BinaryCache(options()).is_on_disk(identity_of(1)));
}

TEST_F(PrewarmedLayerTest, ALowerLayerCountsUnlessTheUsersIsAskedFor) {
  store_one(1);
  auto upper = options();
  upper.directory = base_ / "upper";
  upper.read_only_layers = {directory_};
  BinaryCache cache(upper);
  EXPECT_TRUE(cache.is_on_disk(identity_of(1)));
  EXPECT_FALSE(cache.is_on_disk(identity_of(1), BinaryCache::Layers::of_user));
}

TEST_F(PrewarmedLayerTest, AFailureNamesTheDirectoryAndTheCause) {
  for (const CacheMode mode : {CacheMode::off, CacheMode::read_only}) {
    auto other = options();
    other.mode = mode;
    BinaryCache cache(other);
    cache.store(identity_of(1), cubin_of(1));
    EXPECT_FALSE(cache.is_on_disk(identity_of(1)));
    EXPECT_THAT(cache.store_failure(), HasSubstr(directory_.string()));
    EXPECT_THAT(cache.store_failure(), HasSubstr("HOTGEMM_CACHE"));
    EXPECT_EQ(cache.wanted_directory(), directory_);
  }
  write_file(directory_, {});
  BinaryCache cache(options());
  cache.store(identity_of(1), cubin_of(1));
  EXPECT_THAT(cache.store_failure(), HasSubstr(directory_.string()));
  EXPECT_THAT(cache.store_failure(), HasSubstr("Not a directory"));
}

TEST_F(PrewarmedLayerTest, ASizeLimitIsACause) {
  auto small = options();
  small.max_bytes = 20'000;
  BinaryCache cache(small);
  for (int i = 0; i < 4; ++i) cache.store(identity_of(i), cubin_of(i));
  EXPECT_EQ(cache.store_failure(), "") << "they have room";
  for (int i = 4; i < 8; ++i) cache.store(identity_of(i), cubin_of(i));
  EXPECT_THAT(cache.store_failure(), HasSubstr("HOTGEMM_CACHE_MAX_SIZE"));
}

TEST_F(PrewarmedLayerTest, ASharedLayerIsOpenToReadersWhateverTheUmask) {
  const mode_t old = ::umask(0077);
  const auto layer = base_ / "a" / "b";
  make_shared_layer(layer);
  ::umask(old);
  EXPECT_EQ(mode_of(base_), 0700U) << "what was there stays as it is";
  EXPECT_EQ(mode_of(base_ / "a"), 0755U);
  auto there = options();
  there.directory = layer;
  BinaryCache(there).store(identity_of(1), cubin_of(1));
  write_file(layer / "records.jsonl", {});
  write_file(layer / "notes.txt", {});
  write_file(base_ / "outside", {});
  std::filesystem::create_symlink(base_ / "outside", layer / "v1" / "link");
  let_all_read(layer);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(layer / "v1")) {
    if (entry.is_symlink()) continue;
    EXPECT_EQ(mode_of(entry.path()), entry.is_directory() ? 0755U : 0644U) << entry.path();
  }
  EXPECT_EQ(mode_of(layer), 0755U);
  EXPECT_EQ(mode_of(layer / "records.jsonl"), 0644U);
  EXPECT_EQ(mode_of(layer / "notes.txt"), 0600U) << "no file of the cache";
  EXPECT_EQ(mode_of(base_ / "outside"), 0600U) << "links are left alone";
  EXPECT_TRUE(BinaryCache(there).find(identity_of(1)));
}

TEST_F(PrewarmedLayerTest, ALayerThatCannotBeMadeIsNamed) {
  write_file(base_ / "file", {});
  for (const auto& call : {make_shared_layer, let_all_read}) {
    try {
      call(base_ / "file" / "layer");
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::io_error);
      EXPECT_THAT(error.what(), HasSubstr((base_ / "file" / "layer").string()));
    }
  }
}

}  // namespace
}  // namespace hotgemm
