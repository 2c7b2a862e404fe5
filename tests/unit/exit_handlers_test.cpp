#include "base/exit_handlers.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace hotgemm {
namespace {

constexpr int kOurs = 10, kOfTheLibrary = 11;

/// Ends the program with the code of what runs first at its end: our handler, or the destructors of a library that was
/// opened after it was added.
[[noreturn]] void end(bool is_renewed) {
  add_exit_handler([] { std::_Exit(kOurs); });
  std::atexit([] { std::_Exit(kOfTheLibrary); });
  if (is_renewed) renew_exit_handlers();
  std::exit(0);
}

/// Ends where the handler is called before all that any library has registered.
[[noreturn]] void end_of_main_thread() {
  add_exit_handler([] { std::_Exit(kOurs); });
  watch_main_thread();
  std::atexit([] { std::_Exit(kOfTheLibrary); });
  std::exit(0);
}

/// Adds a handler when the end of the main thread has begun.
[[noreturn]] void add_too_late() {
  add_exit_handler([] {});
  watch_main_thread();
  std::atexit([] {
    add_exit_handler([] { std::_Exit(kOurs); });
    std::_Exit(kOfTheLibrary);
  });
  std::exit(0);
}

TEST(ExitHandlersDeathTest, AHandlerThatComesTooLateRunsAtOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(add_too_late(), testing::ExitedWithCode(kOurs), "");
}

TEST(ExitHandlersDeathTest, TheEndOfTheMainThreadComesFirst) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(end_of_main_thread(), testing::ExitedWithCode(kOurs), "");
}

TEST(ExitHandlersDeathTest, ARenewedHandlerRunsBeforeALibraryIsTakenApart) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(end(false), testing::ExitedWithCode(kOfTheLibrary), "");
  EXPECT_EXIT(end(true), testing::ExitedWithCode(kOurs), "");
}

}  // namespace
}  // namespace hotgemm
