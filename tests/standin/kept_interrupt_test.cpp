// The program's action for SIGINT beside compilations. A function of libc stands for NVRTC's handler.

#include "gpu/kept_interrupt.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

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

class KeptInterruptTest : public testing::Test {
 protected:
  KeptInterruptTest() { ::sigaction(SIGINT, nullptr, &before_); }
  ~KeptInterruptTest() override { ::sigaction(SIGINT, &before_, nullptr); }

  static void set(const struct sigaction& action) { ::sigaction(SIGINT, &action, nullptr); }
  static void expect(void (*handler)(int), int flags) {
    struct sigaction now {};
    ::sigaction(SIGINT, nullptr, &now);
    EXPECT_EQ(now.sa_handler, handler);
    EXPECT_EQ(now.sa_flags & (SA_ONSTACK | SA_RESTART), flags);
    EXPECT_EQ(sigismember(&now.sa_mask, SIGHUP), 1);
  }

  struct sigaction before_ {};
};

TEST_F(KeptInterruptTest, TheProgramsActionComesBackWithFlagsAndMask) {
  set(action_of(of_program, SA_ONSTACK));
  const KeptInterrupt kept(kLibrary);
  struct sigaction library {};
  library.sa_handler = kOfLibrary;
  set(library);
  kept.mend();
  expect(of_program, SA_ONSTACK);
  ::signal(SIGINT, of_program);  // as NVRTC takes its own back
  kept.mend();
  expect(of_program, SA_ONSTACK);
}

TEST_F(KeptInterruptTest, TheLastOfTwoCompilationsPutsItBack) {
  set(action_of(of_program, SA_ONSTACK));
  std::optional<KeptInterrupt> first(kLibrary);
  ::signal(SIGINT, kOfLibrary);
  std::optional<KeptInterrupt> second(kLibrary);
  first.reset();
  expect(of_program, SA_ONSTACK);
  ::signal(SIGINT, kOfLibrary);  // what the second one found, and takes for the program's
  second.reset();
  expect(of_program, SA_ONSTACK);
}

TEST_F(KeptInterruptTest, AnActionThatTheProgramSetsMeanwhileStays) {
  set(action_of(of_program));
  {
    const KeptInterrupt kept(kLibrary);
    set(action_of(of_program_later, SA_RESTART));
    kept.mend();
    expect(of_program_later, SA_RESTART);
    ::signal(SIGINT, kOfLibrary);
  }
  expect(of_program_later, SA_RESTART);
}

}  // namespace
}  // namespace hotgemm::standin
