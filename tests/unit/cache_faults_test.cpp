// Faults around the cache: bad disks, planted files, untrusted directories.

#include "cache/binary_cache.hpp"
#include "unit/cache_fixture.hpp"

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/auxv.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <functional>

namespace hotgemm {
namespace {

class CacheFaultsTest : public CacheTest {
 protected:
  // Expects that kernels come from memory only, not from disk, and that there is exactly one warning.
  void expect_memory_only(BinaryCache& cache) {
    for (int i = 0; i < 3; ++i) {
      cache.find(identity_of(i));
      cache.store(identity_of(i), cubin_of(i));
      EXPECT_EQ(cache.find(identity_of(i)), cubin_of(i));
    }
    EXPECT_EQ(warnings_.take().size(), 1U);
  }
};

/// A small file system that is unmounted at the end.
class Tmpfs {
 public:
  Tmpfs(std::filesystem::path path, const std::string& settings) : path_(std::move(path)) {
    std::filesystem::create_directories(path_);
    mounted_ = ::mount("tmpfs", path_.c_str(), "tmpfs", 0, ("mode=0700," + settings).c_str()) == 0;
  }
  ~Tmpfs() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  bool make_read_only() const { return ::mount(nullptr, path_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0; }

 private:
  std::filesystem::path path_;
  bool mounted_ = false;
};

TEST_F(CacheFaultsTest, PlantedThingsAtAnEntrysNameAreNeitherReadNorFollowed) {
  store_one(1);
  const auto path = entry_path(identity_of(1));
  const auto victim = base_ / "victim";
  const auto good = read_bytes(path);
  const std::vector<std::function<void()>> plants{
      [&] { std::filesystem::create_symlink(victim, path); },
      [&] { std::filesystem::create_hard_link(victim, path); },
      [&] { ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0); },
      [&] { std::filesystem::create_directories(path / "inside"); },
      [&] {
        write_file(path, good);
        std::filesystem::permissions(path, std::filesystem::perms(0666));
      },
  };
  for (std::size_t i = 0; i < plants.size(); ++i) {
    write_file(victim, good);  // valid bytes, so that only the owner, mode or type is wrong
    std::filesystem::remove_all(path);
    std::filesystem::remove_all(path.string() + ".bad");
    plants[i]();
    EXPECT_FALSE(find_afresh(identity_of(1))) << "plant " << i;
    EXPECT_EQ(warnings_.take().size(), 1U) << "plant " << i;
    EXPECT_TRUE(std::filesystem::is_symlink(std::filesystem::symlink_status(path.string() + ".bad")) ||
                std::filesystem::exists(path.string() + ".bad"))
        << "plant " << i;

    std::filesystem::remove_all(path);
    std::filesystem::remove_all(path.string() + ".bad");
    plants[i]();
    store_one(1);
    EXPECT_EQ(find_afresh(identity_of(1)), cubin_of(1)) << "plant " << i << " is replaced by a store";
    EXPECT_EQ(read_bytes(victim), good) << "plant " << i;
    warnings_.take();
  }
}

TEST_F(CacheFaultsTest, LinkedDirectoriesAreNotFollowed) {
  const auto elsewhere = base_ / "elsewhere";
  store_one(1);
  std::filesystem::create_directory(elsewhere);
  std::filesystem::permissions(elsewhere, std::filesystem::perms(0700));
  const auto shard = entry_path(identity_of(1)).parent_path();
  for (const auto& link :
       {directory_ / "v1" / "tmp", shard, directory_ / "v1" / "cubin", directory_ / "v1", directory_}) {
    std::filesystem::remove_all(link);
    std::filesystem::create_directory_symlink(elsewhere, link);
    BinaryCache cache(options());
    cache.find(identity_of(1));
    cache.store(identity_of(1), cubin_of(1));
    EXPECT_EQ(cache.find(identity_of(1)), cubin_of(1));
    EXPECT_TRUE(std::filesystem::is_empty(elsewhere)) << link;
    EXPECT_EQ(warnings_.take().size(), 1U) << link;
    std::filesystem::remove(link);
  }
}

TEST_F(CacheFaultsTest, ADirectoryThatOthersCanWriteIsRefused) {
  store_one(1);
  for (const auto& open : {directory_, directory_ / "v1", entry_path(identity_of(1)).parent_path()}) {
    for (const unsigned mode : {0777U, 0770U, 01777U}) {
      std::filesystem::permissions(open, std::filesystem::perms(mode));
      BinaryCache cache(options());
      EXPECT_FALSE(cache.find(identity_of(1))) << open;
      cache.store(identity_of(1), cubin_of(1, "other"));
      EXPECT_TRUE(cache.find(identity_of(1)));
      EXPECT_EQ(warnings_.take().size(), 1U) << open;
      EXPECT_EQ(mode_of(open), mode) << "what we did not make is not changed";
    }
    std::filesystem::permissions(open, std::filesystem::perms(0700));
  }
  EXPECT_EQ(files_below(directory_, ".hgk"), 1U);
  auto layered = options();
  layered.directory.clear();
  layered.read_only_layers = {directory_};
  EXPECT_TRUE(BinaryCache(layered).find(identity_of(1)));
  std::filesystem::permissions(directory_, std::filesystem::perms(0777));
  EXPECT_FALSE(BinaryCache(layered).find(identity_of(1)));
  auto trusting = options();
  trusting.trust_shared = true;
  warnings_.take();
  EXPECT_TRUE(BinaryCache(trusting).find(identity_of(1)));
  EXPECT_TRUE(warnings_.take().empty());
}

TEST_F(CacheFaultsTest, ASharedDirectoryHandsItsGroupDown) {
  std::filesystem::create_directory(directory_);
  ASSERT_EQ(::chmod(directory_.c_str(), 02770), 0);
  auto trusting = options();
  trusting.trust_shared = true;
  BinaryCache(trusting).store(identity_of(1), cubin_of(1));
  const auto entry = entry_path(identity_of(1));
  for (const auto& made : {directory_ / "v1", directory_ / "v1" / "cubin", entry.parent_path()}) {
    EXPECT_EQ(mode_of(made), 02770U) << made;
  }
  EXPECT_EQ(mode_of(entry), 0660U);
}

TEST_F(CacheFaultsTest, AnotherUsersFilesAreRefused) {
  constexpr uid_t kNobody = 65534;
  store_one(1);
  const auto path = entry_path(identity_of(1));
  if (::chown(path.c_str(), kNobody, kNobody) != 0) GTEST_SKIP() << "needs root";
  EXPECT_FALSE(find_afresh(identity_of(1)));
  store_one(1);
  ASSERT_TRUE(find_afresh(identity_of(1)));
  ASSERT_EQ(::chown(directory_.c_str(), kNobody, kNobody), 0);
  EXPECT_FALSE(find_afresh(identity_of(1)));
  auto layered = options();
  layered.directory.clear();
  layered.read_only_layers = {directory_};
  EXPECT_FALSE(BinaryCache(layered).find(identity_of(1)));
}

TEST_F(CacheFaultsTest, AFileInTheDirectorysPlaceMeansMemoryOnly) {
  write_file(directory_, {1, 2, 3});
  BinaryCache in_place(options());
  expect_memory_only(in_place);
  auto below = options();
  below.directory = directory_ / "cache";
  BinaryCache below_file(below);
  expect_memory_only(below_file);
  EXPECT_EQ(read_bytes(directory_).size(), 3U);
}

TEST_F(CacheFaultsTest, AFileInAShardsPlaceSpoilsOnlyThatShard) {
  store_one(1);
  store_one(2);
  const auto shard = entry_path(identity_of(1)).parent_path();
  ASSERT_NE(shard, entry_path(identity_of(2)).parent_path());
  std::filesystem::remove_all(shard);
  write_file(shard, {1});
  BinaryCache cache(options());
  EXPECT_FALSE(cache.find(identity_of(1)));
  EXPECT_TRUE(cache.find(identity_of(2)));
  EXPECT_EQ(cache.verify().good, 1U);
  cache.store(identity_of(3), cubin_of(3));
  EXPECT_TRUE(find_afresh(identity_of(3)));
}

TEST_F(CacheFaultsTest, ADiskThatIsFullMeansMemoryOnly) {
  const Tmpfs disk(base_ / "small", "size=128k");
  if (!disk.mounted()) GTEST_SKIP() << "cannot mount a tmpfs";
  auto small = options();
  small.directory = base_ / "small" / "cache";
  BinaryCache cache(small);
  for (int i = 0; i < 20; ++i) {
    cache.store(identity_of(i), cubin_of(i, kToolchain, kKernelBytes));
    EXPECT_EQ(cache.find(identity_of(i)), cubin_of(i, kToolchain, kKernelBytes));
  }
  const auto warnings = warnings_.take();
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("No space left"), std::string::npos) << warnings[0];
  EXPECT_EQ(cache.stat().temporaries, 0U);
  const VerifyReport report = cache.verify();
  EXPECT_GT(report.good, 0U);
  EXPECT_LT(report.good, 20U);
  EXPECT_TRUE(report.bad.empty());
  // Space that becomes free is used by the next process: this one does not try again and again.
  cache.clear();
  cache.store(identity_of(30), cubin_of(30));
  EXPECT_FALSE(BinaryCache(small).find(identity_of(30)));
  BinaryCache(small).store(identity_of(30), cubin_of(30));
  EXPECT_TRUE(BinaryCache(small).find(identity_of(30)));
}

TEST_F(CacheFaultsTest, AWriteThatIsCutShortLeavesNothing) {
  const pid_t child = fork_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 3;
    BinaryCache cache(options());
    for (int i = 0; i < 3; ++i) cache.store(identity_of(i), cubin_of(i, kToolchain, kKernelBytes));
    if (!cache.find(identity_of(2))) return 1;
    return warnings_.take().size() == 1 ? 0 : 2;
  });
  EXPECT_EQ(exit_code(child), 0);
  EXPECT_EQ(files_below(directory_, ""), 0U);
}

TEST_F(CacheFaultsTest, AReadOnlyFileSystemServesAndWarnsOnceOfTheFirstWrite) {
  const Tmpfs disk(base_ / "disk", "size=1m");
  if (!disk.mounted()) GTEST_SKIP() << "cannot mount a tmpfs";
  auto there = options();
  there.directory = base_ / "disk" / "cache";
  auto absent = options();
  absent.directory = base_ / "disk" / "absent" / "cache";
  BinaryCache(there).store(identity_of(1), cubin_of(1));
  if (!disk.make_read_only()) GTEST_SKIP() << "cannot remount read-only";
  BinaryCache cache(there);
  EXPECT_TRUE(cache.find(identity_of(1)));
  cache.store(identity_of(2), cubin_of(2));
  cache.store(identity_of(3), cubin_of(3));
  EXPECT_TRUE(cache.find(identity_of(3)));
  for (int i = 0; i < 2; ++i) {
    const auto warnings = warnings_.take();
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_NE(warnings[0].find("Read-only file system"), std::string::npos) << warnings[0];
    BinaryCache(absent).store(identity_of(1), cubin_of(1));
  }
}

TEST_F(CacheFaultsTest, ADirectoryRemovedUnderneathComesBack) {
  BinaryCache cache(options());
  cache.store(identity_of(1), cubin_of(1));
  for (const auto& removed : {directory_, directory_ / "v1" / "tmp", directory_ / "v1" / "cubin"}) {
    std::filesystem::remove_all(removed);
    cache.store(identity_of(2), cubin_of(2));
    EXPECT_TRUE(find_afresh(identity_of(2))) << removed;
  }
  EXPECT_TRUE(warnings_.take().empty());
}

TEST_F(CacheFaultsTest, AnImpossibleImageStaysInMemory) {
  BinaryCache cache(options());
  Cubin empty = cubin_of(1);
  empty.image.clear();
  cache.store(identity_of(1), empty);
  EXPECT_EQ(cache.find(identity_of(1)), empty);
  EXPECT_FALSE(std::filesystem::exists(entry_path(identity_of(1))));
  EXPECT_EQ(warnings_.take().size(), 1U);
  cache.store(identity_of(2), cubin_of(2));
  EXPECT_TRUE(find_afresh(identity_of(2)));
}

TEST_F(CacheFaultsTest, MemoryOnlyWithoutADirectoryAndNeverTheWorkingDirectory) {
  const auto work = base_ / "work";
  std::filesystem::create_directory(work);
  const pid_t child = fork_child([&] {
    if (::chdir(work.c_str()) != 0) return 1;
    BinaryCache cache(BinaryCacheOptions{});
    cache.store(identity_of(1), cubin_of(1));
    if (!cache.find(identity_of(1)) || cache.lock(identity_of(1)).held_on_node()) return 2;
    return cache.list().entries.empty() && cache.stat().entries == 0 ? 0 : 3;
  });
  EXPECT_EQ(exit_code(child), 0);
  EXPECT_TRUE(std::filesystem::is_empty(work));
}

// The test runs itself in a copy of this program with the set-user-id bit.
TEST_F(CacheFaultsTest, ASetIdProcessUsesNoDisk) {
  constexpr const char* kVariable = "HOTGEMM_TEST_SET_ID_DIRECTORY";
  constexpr int kNotSecure = 42;
  if (std::getenv(kVariable) != nullptr) {
    if (::getauxval(AT_SECURE) == 0) ::_exit(kNotSecure);
    const std::filesystem::path given = std::getenv(kVariable);
    auto with_directory = options();
    with_directory.directory = given;
    EXPECT_TRUE(BinaryCache(with_directory).directory().empty());
    EXPECT_NE(default_cache_directory(), given) << "HOTGEMM_CACHE_DIR was believed";
    TearDown();
    ::_exit(HasFailure() ? 1 : 0);  // a leak checker cannot inspect a set-user-id process
  }
  const auto program = base_ / "program";
  std::filesystem::copy_file("/proc/self/exe", program);
  if (::chown(program.c_str(), 65534, 65534) != 0) GTEST_SKIP() << "needs root";
  std::filesystem::permissions(program, std::filesystem::perms(04755));
  const pid_t child = fork_child([&] {
    ::setenv(kVariable, directory_.c_str(), 1);
    ::setenv("HOTGEMM_CACHE_DIR", directory_.c_str(), 1);
    ::execl(program.c_str(), program.c_str(), "--gtest_brief=1",
            "--gtest_filter=CacheFaultsTest.ASetIdProcessUsesNoDisk", nullptr);
    return kNotSecure;
  });
  const int code = exit_code(child);
  if (code == kNotSecure) GTEST_SKIP() << "a set-user-id program does not run here as one";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace hotgemm
