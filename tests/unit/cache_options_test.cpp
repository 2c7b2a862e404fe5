#include "cache/cache_options.hpp"

#include "unit/cache_fixture.hpp"

#include <hotgemm/error.hpp>

#include <gtest/gtest.h>

#include <map>

namespace hotgemm {
namespace {

class CacheOptionsTest : public CacheTest {
 protected:
  void SetUp() override {
    CacheTest::SetUp();
    for (const char* name : kNames) {
      if (const char* value = std::getenv(name)) saved_[name] = value;
      ::unsetenv(name);
    }
    ::setenv("HOME", base_.c_str(), 1);
  }
  void TearDown() override {
    for (const char* name : kNames) {
      const auto saved = saved_.find(name);
      if (saved == saved_.end()) {
        ::unsetenv(name);
      } else {
        ::setenv(name, saved->second.c_str(), 1);
      }
    }
    CacheTest::TearDown();
  }

  static constexpr const char* kNames[] = {"HOTGEMM_CACHE",          "HOTGEMM_CACHE_DIR",        "HOTGEMM_CACHE_PATH",
                                           "HOTGEMM_CACHE_MAX_SIZE", "HOTGEMM_CACHE_MAX_MEMORY", "HOTGEMM_CACHE_TRUST",
                                           "HOTGEMM_CACHE_DURABLE",  "XDG_CACHE_HOME",           "HOME"};
  std::map<std::string, std::string> saved_;
};

TEST_F(CacheOptionsTest, FindsTheDirectoryInOrder) {
  EXPECT_EQ(default_cache_directory(), base_ / ".cache" / "hotgemm");
  ::setenv("XDG_CACHE_HOME", "/xdg", 1);
  EXPECT_EQ(default_cache_directory(), "/xdg/hotgemm");
  ::setenv("HOTGEMM_CACHE_DIR", "/chosen", 1);
  EXPECT_EQ(default_cache_directory(), "/chosen");
  ::setenv("HOTGEMM_CACHE_DIR", "", 1);
  EXPECT_EQ(default_cache_directory(), "/xdg/hotgemm") << "an empty value is none";
  EXPECT_TRUE(warnings_.take().empty());
}

TEST_F(CacheOptionsTest, IgnoresWhatIsNotAbsoluteWithAWarning) {
  for (const char* value : {"relative/path", ".", "~/cache"}) {
    ::setenv("HOTGEMM_CACHE_DIR", value, 1);
    EXPECT_EQ(default_cache_directory(), base_ / ".cache" / "hotgemm") << value;
    const auto warnings = warnings_.take();
    ASSERT_EQ(warnings.size(), 1U) << value;
    EXPECT_NE(warnings[0].find("HOTGEMM_CACHE_DIR"), std::string::npos);
  }
}

TEST_F(CacheOptionsTest, WithoutAHomeItIsAPrivateDirectoryInTmpOrNothing) {
  const std::filesystem::path expected = "/tmp/hotgemm-" + std::to_string(::geteuid());
  const std::string absent = (base_ / "absent").string();
  ::setenv("HOME", absent.c_str(), 1);
  struct ::stat status {};
  if (::lstat(expected.c_str(), &status) == 0) GTEST_SKIP() << expected << " is in use";
  EXPECT_EQ(default_cache_directory(), expected);
  ::unsetenv("HOME");
  EXPECT_EQ(default_cache_directory(), expected);
  std::filesystem::create_directory_symlink(base_, expected);
  EXPECT_EQ(default_cache_directory(), "");
  std::filesystem::remove(expected);
  EXPECT_EQ(warnings_.take().size(), 1U);
}

TEST_F(CacheOptionsTest, ReadsEveryVariable) {
  ::setenv("HOTGEMM_CACHE", "ro", 1);
  ::setenv("HOTGEMM_CACHE_PATH", "/a:relative:/b", 1);
  ::setenv("HOTGEMM_CACHE_MAX_SIZE", "512M", 1);
  ::setenv("HOTGEMM_CACHE_MAX_MEMORY", "3M", 1);
  ::setenv("HOTGEMM_CACHE_TRUST", "shared", 1);
  ::setenv("HOTGEMM_CACHE_DURABLE", "1", 1);
  const auto options = BinaryCacheOptions::from_environment();
  EXPECT_EQ(options.mode, CacheMode::read_only);
  EXPECT_EQ(options.read_only_layers, (std::vector<std::filesystem::path>{"/a", "/b"}));
  EXPECT_EQ(options.max_bytes, std::uint64_t{512} << 20U);
  EXPECT_EQ(options.max_memory_bytes, std::uint64_t{3} << 20U);
  EXPECT_TRUE(options.trust_shared);
  EXPECT_TRUE(options.durable);
  EXPECT_EQ(warnings_.take().size(), 1U);
}

TEST_F(CacheOptionsTest, HasSafeDefaults) {
  const auto options = BinaryCacheOptions::from_environment();
  EXPECT_EQ(options.mode, CacheMode::read_write);
  EXPECT_TRUE(options.read_only_layers.empty());
  EXPECT_EQ(options.max_bytes, std::uint64_t{1} << 30U);
  EXPECT_EQ(options.max_memory_bytes, std::uint64_t{256} << 20U);
  EXPECT_FALSE(options.trust_shared);
  EXPECT_FALSE(options.durable);
}

TEST_F(CacheOptionsTest, NamesABadValue) {
  for (const auto& [name, value] : std::map<std::string, std::string>{{"HOTGEMM_CACHE", "on"},
                                                                      {"HOTGEMM_CACHE_MAX_SIZE", "lots"},
                                                                      {"HOTGEMM_CACHE_MAX_MEMORY", "some"},
                                                                      {"HOTGEMM_CACHE_TRUST", "1"},
                                                                      {"HOTGEMM_CACHE_DURABLE", "yes"}}) {
    ::setenv(name.c_str(), value.c_str(), 1);
    try {
      BinaryCacheOptions::from_environment();
      ADD_FAILURE() << name << "=" << value << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string(error.what()).find(name + "=" + value), std::string::npos) << error.what();
    }
    ::unsetenv(name.c_str());
  }
}

TEST(ParseSize, TakesSuffixesAndRefusesTheRest) {
  EXPECT_EQ(parse_size("0"), 0U);
  EXPECT_EQ(parse_size("4096"), 4096U);
  EXPECT_EQ(parse_size("3k"), 3072U);
  EXPECT_EQ(parse_size("1G"), std::uint64_t{1} << 30U);
  EXPECT_EQ(parse_size("2T"), std::uint64_t{2} << 40U);
  EXPECT_EQ(parse_size("18446744073709551615"), ~std::uint64_t{0});
  for (const char* bad : {"", "G", "-1", "1.5G", "1GG", "1 G", " 1", "1P", "18446744073709551616", "16777216T"}) {
    EXPECT_THROW(parse_size(bad), Error) << bad;
  }
}

TEST_F(CacheOptionsTest, OptionsOfAProgramComeBeforeVariables) {
  ::setenv("HOTGEMM_CACHE", "ro", 1);
  ::setenv("HOTGEMM_CACHE_MAX_SIZE", "2K", 1);
  ::setenv("HOTGEMM_CACHE_DURABLE", "1", 1);
  const auto environment = BinaryCacheOptions::from_environment();
  EXPECT_EQ(environment.with({}).mode, CacheMode::read_only);
  EXPECT_EQ(environment.with({}).max_bytes, 2048U);
  EXPECT_TRUE(environment.with({}).durable);
  const auto options = environment.with({.mode = CacheMode::off,
                                         .read_only_layers = std::vector<std::string>{"/x", "/y"},
                                         .max_bytes = 7,
                                         .max_memory_bytes = 8,
                                         .trust_shared = true,
                                         .durable = false});
  EXPECT_EQ(options.mode, CacheMode::off);
  EXPECT_EQ(options.read_only_layers, (std::vector<std::filesystem::path>{"/x", "/y"}));
  EXPECT_EQ(options.max_bytes, 7U);
  EXPECT_EQ(options.max_memory_bytes, 8U);
  EXPECT_TRUE(options.trust_shared);
  EXPECT_FALSE(options.durable);
  EXPECT_THROW(environment.with({.read_only_layers = std::vector<std::string>{"relative"}}), Error);
}

}  // namespace
}  // namespace hotgemm
