#include "gpu/nvrtc_search.hpp"

#include "standin/runtime_fixture.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <string>
#include <vector>

namespace hotgemm::standin {
namespace {

namespace fs = std::filesystem;

const std::string kFakeName = "libfake_nvrtc.so.99";
const std::string kOldNvrtc = std::string(HOTGEMM_TEST_BIN_DIR) + "/nvrtc-1204";
const std::string kNewNvrtc = std::string(HOTGEMM_TEST_BIN_DIR) + "/nvrtc-1209";

/// The directory `package` of a site that pip installs wheels into, with the library of `from`.
fs::path wheel(const fs::path& site, const std::string& package, const std::string& from) {
  const fs::path directory = site / "nvidia" / package / "lib";
  fs::create_directories(directory);
  fs::copy_file(fs::path(from) / kFakeName, directory / kFakeName);
  return directory;
}

TEST(NvrtcSearchTest, GoesOnBehindAnOldOneThatIsLoaded) {
  void* loaded = ::dlopen((kOldNvrtc + "/" + kFakeName).c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(loaded, nullptr) << ::dlerror();
  EXPECT_EQ(::dlopen(kFakeName.c_str(), RTLD_NOW | RTLD_NOLOAD), loaded) << "the loader answers the name with it";
  const SharedLibrary found = find_nvrtc({"", {kFakeName}, {"/no/such/directory", kOldNvrtc, kNewNvrtc}});
  EXPECT_EQ(fs::canonical(found.path()), fs::canonical(kNewNvrtc) / kFakeName);
}

TEST(NvrtcSearchTest, TheNewestToolkitComesFirst) {
  const ScratchDirectory local;
  for (const char* name : {"cuda-9.0", "cuda-13.0", "cuda-12.9", "cuda-13.10", "other-14.0"}) {
    fs::create_directory(local.path() / name);
  }
  std::vector<std::string> expected;
  for (const char* name : {"cuda", "cuda-13.10", "cuda-13.0", "cuda-12.9", "cuda-9.0"}) {
    expected.push_back(local.path() / name / "lib64");
  }
  EXPECT_EQ(toolkits_in(local.path()), expected);
}

TEST(NvrtcSearchTest, LooksInTheWheelsBesideAnOldOne) {
  const ScratchDirectory site;
  const fs::path old = wheel(site.path(), "cuda_nvrtc", kOldNvrtc), recent = wheel(site.path(), "cu13", kNewNvrtc);
  const SharedLibrary found = find_nvrtc({"", {kFakeName}, {old.string()}});
  EXPECT_EQ(fs::canonical(found.path()), fs::canonical(recent) / kFakeName);
}

TEST(NvrtcSearchTest, AnOldWheelThatIsLoadedAndAloneIsToldOnce) {
  if (::dlopen(kFakeName.c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr) GTEST_SKIP() << "another one is loaded";
  const ScratchDirectory site;
  const fs::path old = wheel(site.path(), "cuda_nvrtc", kOldNvrtc) / kFakeName;
  ASSERT_NE(::dlopen(old.c_str(), RTLD_NOW | RTLD_LOCAL), nullptr) << ::dlerror();
  try {
    find_nvrtc({"", {kFakeName}, {}});
    FAIL() << "found one";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::no_compiler);
    const std::string message = error.what(), told = "cuda_nvrtc/lib/" + kFakeName + " is NVRTC 12.4, too old";
    ASSERT_NE(message.find(told), message.npos) << message;
    EXPECT_EQ(message.find(told), message.rfind(told)) << message;
  }
}

TEST(NvrtcSearchTest, TheLoaderKnowsTheBuiltinsBesideIt) {
  const ScratchDirectory site;
  const fs::path directory = wheel(site.path(), "cu13", kNewNvrtc);
  const fs::path builtins = directory / "libnvrtc-builtins.so.12.9";
  fs::copy_file(directory / kFakeName, builtins);  // any library will do
  ASSERT_EQ(::dlopen(builtins.c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr);
  find_nvrtc({(directory / kFakeName).string(), {}, {}});
  EXPECT_NE(::dlopen(builtins.c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr);
}

TEST(NvrtcSearchTest, SaysWhatWasTriedAndWhatToInstall) {
  expect_thrown(ErrorCode::no_compiler,
                {"libnvrtc.so.98: cannot open", kOldNvrtc + "/" + kFakeName + " is NVRTC 12.4, too old",
                 "12.9 or later", "pip install nvidia-cuda-nvrtc", "HOTGEMM_LIBNVRTC"},
                [] {
                  find_nvrtc({"", {"libnvrtc.so.98", kFakeName}, {kOldNvrtc}});
                });
}

TEST(NvrtcSearchTest, ALibraryThatIsNotNvrtcIsToldApart) {
  expect_thrown(ErrorCode::no_compiler, {"libm.so.6 does not tell a version of NVRTC"}, [] {
    find_nvrtc({"libm.so.6", {}, {}});
  });
}

TEST(NvrtcSearchTest, AnAskedForFileIsTheOnlyOne) {
  expect_thrown(ErrorCode::no_compiler, {"is NVRTC 12.4, too old"}, [] {
    find_nvrtc({kOldNvrtc + "/" + kFakeName, {kFakeName}, {kNewNvrtc}});
  });
  EXPECT_NO_THROW(find_nvrtc({kNewNvrtc + "/" + kFakeName, {}, {}}));
}

TEST(NvrtcSearchTest, TheEnvironmentNamesPlaces) {
  ::setenv("CUDA_HOME", "/opt/cuda-of-a-user", 1);
  const NvrtcPlaces places = NvrtcPlaces::of_process();
  ::unsetenv("CUDA_HOME");
  EXPECT_THAT(places.names, testing::ElementsAre("libnvrtc.so.13", "libnvrtc.so.12"));
  EXPECT_THAT(places.directories, testing::Contains("/opt/cuda-of-a-user/lib64"));
  EXPECT_THAT(places.directories, testing::Contains("/usr/local/cuda/lib64"));
}

}  // namespace
}  // namespace hotgemm::standin
