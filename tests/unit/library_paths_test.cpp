#include "base/library_paths.hpp"

#include <hotgemm/context.hpp>
#include <hotgemm/error.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace hotgemm {
namespace {

// A path can be set until the library has been looked for, so there is one test, of a library that no other test opens.
TEST(LibraryPaths, AreSetUntilTheyAreUsed) {
  ::setenv("HOTGEMM_LIBCUBLASLT", "/of/the/environment.so", 1);
  EXPECT_THROW(set_library_path("libm", "/a.so"), Error);
  set_library_path("libcublasLt", "/a.so");
  set_library_path("libcublasLt", "/b.so");
  EXPECT_EQ(take_library_path("HOTGEMM_LIBCUBLASLT"), "/b.so");
  EXPECT_EQ(take_library_path("HOTGEMM_LIBCUBLASLT"), "/b.so");
  try {
    set_library_path("libcublasLt", "");
    ADD_FAILURE() << "it was changed after its use";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("libcublasLt has been looked for already"), std::string::npos);
  }
  ::unsetenv("HOTGEMM_LIBCUBLASLT");
}

}  // namespace
}  // namespace hotgemm
