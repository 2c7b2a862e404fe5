// The program's actions for SIGINT and SIGTERM beside compilations. A function of libc stands for NVRTC's handler.

#include "gpu/kept_signals.hpp"

#include <gtest/gtest.h>

#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

namespace hotgemm::standin {
namespace {

void of_program(int) {}
void of_program_later(int) {}

// Two functions that no sanitizer replaces by its own.
const void* const kLibrary = reinterpret_cast<const void*>(&std::rand);
// By way of a function without parameters, as compilers want for such a cast.
const auto kOfLibrary = reinterpret_cast<void (*)(int)>(reinterpret_cast<void (*)()>(&std::srand));

struct sigaction action_of(void (*handler)(int), int flags = 0) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaddset(&action.sa_mask, SIGHUP);
  return action;
}

class KeptSignalsTest : public testing::TestWithParam<int> {
 protected:
  KeptSignalsTest() { ::sigaction(GetParam(), nullptr, &before_); }
  ~KeptSignalsTest() override { ::sigaction(GetParam(), &before_, nullptr); }

  void set(const struct sigaction& action) { ::sigaction(GetParam(), &action, nullptr); }
  void expect(void (*handler)(int), int flags) {
    struct sigaction now {};
    ::sigaction(GetParam(), nullptr, &now);
    EXPECT_EQ(now.sa_handler, handler);
    EXPECT_EQ(now.sa_flags & (SA_ONSTACK | SA_RESTART), flags);
    EXPECT_EQ(sigismember(&now.sa_mask, SIGHUP), 1);
  }

  struct sigaction before_ {};
};

TEST_P(KeptSignalsTest, TheProgramsActionComesBackWithFlagsAndMask) {
  set(action_of(of_program, SA_ONSTACK));
  const KeptSignals kept(kLibrary);
  struct sigaction library {};
  library.sa_handler = kOfLibrary;
  set(library);
  kept.mend();
  expect(of_program, SA_ONSTACK);
  ::signal(GetParam(), of_program);  // as NVRTC takes its own back
  kept.mend();
  expect(of_program, SA_ONSTACK);
}

TEST_P(KeptSignalsTest, TheLastOfTwoCompilationsPutsItBack) {
  set(action_of(of_program, SA_ONSTACK));
  std::optional<KeptSignals> first(kLibrary);
  ::signal(GetParam(), kOfLibrary);
  std::optional<KeptSignals> second(kLibrary);
  first.reset();
  expect(of_program, SA_ONSTACK);
  ::signal(GetParam(), kOfLibrary);  // what the second one found, and takes for the program's
  second.reset();
  expect(of_program, SA_ONSTACK);
}

TEST_P(KeptSignalsTest, AnActionThatTheProgramSetsMeanwhileStays) {
  set(action_of(of_program));
  {
    const KeptSignals kept(kLibrary);
    set(action_of(of_program_later, SA_RESTART));
    kept.mend();
    expect(of_program_later, SA_RESTART);
    ::signal(GetParam(), kOfLibrary);
  }
  expect(of_program_later, SA_RESTART);
}

TEST_P(KeptSignalsTest, TheLibrarysActionStandsForAMomentOnly) {
  set(action_of(of_program, SA_ONSTACK));
  const KeptSignals kept(kLibrary);
  ::signal(GetParam(), kOfLibrary);
  const auto handler = [] {
    struct sigaction now {};
    ::sigaction(GetParam(), nullptr, &now);
    return now.sa_handler;
  };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (handler() == kOfLibrary && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  expect(of_program, SA_ONSTACK);
}

/// NVRTC ignores SIGINT for a moment, to see whether the program ignores it.
TEST_P(KeptSignalsTest, AnIgnoredSignalIsNotTakenForTheProgramsWish) {
  set(action_of(of_program, SA_ONSTACK));
  const KeptSignals kept(kLibrary);
  ::signal(GetParam(), SIG_IGN);
  kept.mend();
  ::signal(GetParam(), kOfLibrary);
  kept.mend();
  expect(of_program, SA_ONSTACK);
}

INSTANTIATE_TEST_SUITE_P(OfBoth, KeptSignalsTest, testing::Values(SIGINT, SIGTERM));

}  // namespace
}  // namespace hotgemm::standin
