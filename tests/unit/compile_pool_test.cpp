#include "worker/compile_pool.hpp"

#include "unit/cache_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

namespace hotgemm {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const TemplateBundle& bundle() {
  static const TemplateBundle instance = TemplateBundle::embedded();
  return instance;
}

/// A worker that is a shell script. It reads the first request, which is more than a pipe holds, and no other.
CompilePoolOptions script(const std::string& text) {
  const std::size_t bytes = sizeof(CompileFrame) + encode_bundle(bundle()).size();
  const std::string read_bundle = "head -c " + std::to_string(bytes) + " >/dev/null; ";
  return {.program = "/bin/sh", .arguments = {"-c", read_bundle + text}, .deadline = 200ms, .start_deadline = 20s};
}

/// A shell command that prints a frame.
std::string print_frame(const FrameBody& body) {
  const CompileFrame frame{.body_bytes = body.size()};
  std::string text = "printf '";
  const auto add = [&](std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) {
      const auto value = std::to_integer<unsigned>(byte);
      text += '\\';
      for (const unsigned digit : {value / 64, value / 8 % 8, value % 8}) text += static_cast<char>('0' + digit);
    }
  };
  add(std::as_bytes(std::span(&frame, 1)));
  add(std::as_bytes(std::span(body)));
  return text + "'; ";
}

std::string ready() { return print_frame(encode_answer(Cubin{.toolchain = "a compiler"})); }

struct Thrown {
  ErrorCode code = ErrorCode::internal;
  std::string message;
};
Thrown failure_of(CompilePool& pool) {
  try {
    pool.compile({.symbol = "kernel_of_interest"});
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

CompilePoolOptions here(CompilePoolOptions options) {
  options.here = [](const KernelSource&) -> Cubin { throw Error(ErrorCode::internal, "compiled here"); };
  return options;
}

TEST(CompileRecord, EverythingSurvivesTheJourney) {
  const TemplateBundle there = decode_bundle(encode_bundle(bundle()));
  EXPECT_EQ(there.origin(), bundle().origin());
  EXPECT_EQ(there.digest("mma.cuh"), bundle().digest("mma.cuh"));
  const KernelSource source{.symbol = "s", .text = "\xff is no UTF-8\n", .options = {"-a", "", "-b c"}};
  const KernelSource back = decode_source(encode_source(source));
  EXPECT_EQ(back.symbol, source.symbol);
  EXPECT_EQ(back.text, source.text);
  EXPECT_EQ(back.options, source.options);
  const Cubin cubin{{0, 127, 255}, "s", "sm_90a", "nvrtc-13.0-x", 255, 8, 16, 0.1 + 0.2};
  EXPECT_EQ(std::get<Cubin>(decode_answer(encode_answer(cubin))), cubin);
  const CompileFailure failure{ErrorCode::no_compiler, "why \xff"};
  const auto found = std::get<CompileFailure>(decode_answer(encode_answer(failure)));
  EXPECT_EQ(found.code, failure.code);
  EXPECT_EQ(found.message, failure.message);
}

TEST(CompileRecord, AnythingElseIsAnError) {
  const FrameBody body = encode_answer(Cubin{{1, 2, 3}, "s", "sm_90a", "t"});
  for (std::size_t size = 0; size < body.size(); ++size) {
    EXPECT_THROW(decode_answer(std::span(body).first(size)), Error) << size;
  }
  EXPECT_THROW(decode_source(body), Error);
  EXPECT_THROW(decode_bundle(body), Error);
}

TEST(CompilePoolTest, AProgramThatIsNoWorkerIsSaid) {
  WarningCapture warnings;
  for (const auto& [text, end] : {std::pair("exit 7", "exit status 7"), std::pair("kill -SEGV $$", "signal 11")}) {
    CompilePool pool(here(script(text)), bundle());
    EXPECT_EQ(failure_of(pool).message, "compiled here");
    EXPECT_THAT(warnings.take(), testing::ElementsAre(testing::AllOf(HasSubstr("/bin/sh"), HasSubstr(end))));
  }
  CompilePool garbage(script("echo this is no frame of any kind; exec sleep 100"), bundle());
  EXPECT_THAT(failure_of(garbage).message, HasSubstr("sent an invalid answer"));
  CompilePool missing(here({.program = "/nowhere/hotgemm", .workers = 3}), bundle());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(failure_of(missing).message, "compiled here");
  EXPECT_THAT(warnings.take(), testing::ElementsAre(HasSubstr("/nowhere/hotgemm")));
}

TEST(CompilePoolTest, ACompilerThatCrashesCostsItsKernelAlone) {
  // The worker dies at the second message, which is the first kernel.
  CompilePool pool(script(ready() + "sleep 0.1; kill -SEGV $$"), bundle());
  for (int i = 0; i < 3; ++i) {
    const Thrown thrown = failure_of(pool);
    EXPECT_EQ(thrown.code, ErrorCode::compile_failed);
    EXPECT_THAT(thrown.message, testing::AllOf(HasSubstr("kernel_of_interest"), HasSubstr("signal 11")));
    EXPECT_THAT(pool.idle_pids(), testing::IsEmpty());
  }
}

TEST(CompilePoolTest, ACompilerThatDoesNotEndIsKilledAtTheDeadline) {
  CompilePool pool(script(ready() + "exec sleep 100"), bundle());
  const auto start = std::chrono::steady_clock::now();
  const Thrown thrown = failure_of(pool);
  EXPECT_EQ(thrown.code, ErrorCode::compile_failed);
  EXPECT_THAT(thrown.message, testing::AllOf(HasSubstr("kernel_of_interest"), HasSubstr("within 200 ms")));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 20s);
  EXPECT_THAT(pool.idle_pids(), testing::IsEmpty());
}

TEST(CompilePoolTest, NoMoreWorkersThanAllowedRunAtOnce) {
  CompilePoolOptions options = script(ready() + "exec sleep 100");
  options.workers = 2;
  CompilePool pool(options, bundle());
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { failure_of(pool); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(std::chrono::steady_clock::now() - start, 2 * options.deadline);
}

TEST(CompilePoolTest, WorkersThatCannotBeStartedLeaveTheirKernelsToTheOthers) {
  std::string directory = (std::filesystem::temp_directory_path() / "hotgemm-test-XXXXXX").string();
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const KernelSource source{.symbol = "kernel_of_interest"};
  const std::string bytes = std::to_string(sizeof(CompileFrame) + encode_source(source).size());
  const std::string answer = print_frame(encode_answer(Cubin{{1, 2, 3}, source.symbol, "sm_90a", "a compiler"}));
  // Two workers find a place, and any other ends at once.
  CompilePoolOptions options =
      script("exec 2>/dev/null; mkdir " + directory + "/1 || mkdir " + directory + "/2 || exit 9; " + ready() +
             "while [ $(head -c " + bytes + " | wc -c) = " + bytes + " ]; do " + answer + "done");
  options.workers = 6;
  options.deadline = 20s;
  {
    CompilePool pool(options, bundle());
    std::vector<std::thread> threads;
    for (int i = 0; i < 12; ++i) {
      threads.emplace_back([&] { EXPECT_NO_THROW(pool.compile(source)); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(pool.idle_pids().size(), 2U);
  }
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace hotgemm
