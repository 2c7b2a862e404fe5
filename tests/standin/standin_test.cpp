#include "standin/standin_fixture.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace hotgemm::standin {
namespace {

// ---- devices and contexts ----

TEST_F(StandinTest, IsTheDeviceThatItSaysItIs) {
  int count = 0, major = 0, sms = 0, version = 0;
  char name[64] = {};
  driver_.cuDeviceGetCount(&count);
  driver_.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
  driver_.cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0);
  driver_.cuDeviceGetName(name, sizeof name, 0);
  driver_.cuDriverGetVersion(&version);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(major, 9);
  EXPECT_EQ(sms, 132);
  EXPECT_STREQ(name, "Stand-in H200");
  EXPECT_EQ(version, 13000);
  EXPECT_EQ(driver_.cuDeviceGetName(name, sizeof name, 1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(driver_.describe(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
            "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED (900): operation not permitted when stream is capturing");
}

TEST_F(StandinTest, AContextThatIsMadeAgainHasAnotherId) {
  unsigned long long first = 0, second = 0;
  EXPECT_EQ(driver_.cuCtxGetId(context_, &first), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuCtxGetId(context_, &second), CUDA_SUCCESS);
  EXPECT_NE(first, second);
  EXPECT_EQ(driver_.cuModuleUnload(module_), CUDA_ERROR_INVALID_HANDLE);
  expect_violation("module");
}

TEST_F(StandinTest, TheCurrentContextBelongsToTheThread) {
  CUcontext seen = context_;
  CUresult allocated = CUDA_SUCCESS, recorded = CUDA_ERROR_UNKNOWN;
  std::thread([&] {
    CUdeviceptr address = 0;
    driver_.cuCtxGetCurrent(&seen);
    allocated = driver_.cuMemAlloc(&address, 16);
    recorded = driver_.cuStreamSynchronize(stream_);  // the stream implies its context
  }).join();
  EXPECT_EQ(seen, nullptr);
  EXPECT_EQ(allocated, CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(recorded, CUDA_SUCCESS);
  CUdevice device = -1;
  EXPECT_EQ(driver_.cuCtxGetDevice(&device), CUDA_SUCCESS);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(driver_.cuCtxSynchronize(), CUDA_SUCCESS);
}

// ---- the ledger ----

TEST_F(StandinTest, CountsWhatIsAlive) {
  const CUdeviceptr address = allocate(100);
  CUevent event = nullptr;
  driver_.cuEventCreate(&event, 0);
  EXPECT_EQ(standin().live(Kind::allocation), 1u);
  EXPECT_EQ(standin().live(Kind::event), 1u);
  EXPECT_EQ(standin().live(Kind::stream), 1u);
  EXPECT_EQ(standin().live(Kind::function), 0u);
  function(kSmall);
  function(kSmall);
  EXPECT_EQ(standin().live(Kind::function), 1u);
  EXPECT_EQ(standin().calls("cuModuleGetFunction"), 2u);
  EXPECT_EQ(driver_.cuMemFree(address), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuEventDestroy(event), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuModuleUnload(module_), CUDA_SUCCESS);
  for (const Kind kind : {Kind::allocation, Kind::event, Kind::module, Kind::function}) {
    EXPECT_EQ(standin().live(kind), 0u);
  }
}

TEST_F(StandinTest, NotesHandlesThatAreNotAlive) {
  const CUdeviceptr address = allocate(100);
  driver_.cuMemFree(address);
  EXPECT_EQ(driver_.cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
  expect_violation("cuMemFree");
  const CUfunction kernel = function(kSmall);
  const GemmArgs args = small();
  driver_.cuModuleUnload(module_);
  EXPECT_EQ(launch(kernel, args, 1, 256, kSmallSmem), CUDA_ERROR_INVALID_HANDLE);
  expect_violation("function");
  driver_.cuStreamDestroy(stream_);
  EXPECT_EQ(driver_.cuStreamSynchronize(stream_), CUDA_ERROR_INVALID_HANDLE);
  expect_violation("stream");
}

TEST_F(StandinTest, NotesWritesBeyondAnAllocation) {
  const CUdeviceptr address = allocate(100);
  *reinterpret_cast<char*>(address + 100) = 0;
  EXPECT_EQ(driver_.cuMemFree(address), CUDA_SUCCESS);
  expect_violation("beyond its ends");
  EXPECT_EQ(driver_.cuMemsetD8Async(allocate(4), 0, 5, stream_), CUDA_ERROR_INVALID_VALUE);
  expect_violation("memset");
}

TEST_F(StandinTest, MemoryHasALimit) {
  standin().set_memory_limit(1000);
  CUdeviceptr address = allocate(600), more = 0;
  EXPECT_EQ(driver_.cuMemAlloc(&more, 600), CUDA_ERROR_OUT_OF_MEMORY);
  std::size_t free = 0, total = 0;
  EXPECT_EQ(driver_.cuMemGetInfo(&free, &total), CUDA_SUCCESS);
  EXPECT_EQ(free, 400u);
  EXPECT_EQ(total, 1000u);
  EXPECT_EQ(driver_.cuMemFree(address), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuMemAlloc(&more, 600), CUDA_SUCCESS);
}

TEST_F(StandinTest, LoadsOnlyCubinsForItsArchitecture) {
  CUmodule module = nullptr;
  CUfunction found = nullptr;
  std::vector<std::uint8_t> image = fake_cubin({kSmall});
  EXPECT_EQ(driver_.cuModuleGetFunction(&found, module_, "absent"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(driver_.cuModuleLoadData(&module, fake_cubin({kSmall}, 80).data()), CUDA_ERROR_NO_BINARY_FOR_GPU);
  image[0] = 0;
  EXPECT_EQ(driver_.cuModuleLoadData(&module, image.data()), CUDA_ERROR_INVALID_IMAGE);
  image = fake_cubin({kSmall});
  image[40 + 3] = 0xff;  // the offset of the section headers
  EXPECT_EQ(driver_.cuModuleLoadData(&module, image.data()), CUDA_ERROR_INVALID_IMAGE);
  image = fake_cubin({kSmall});
  image.back() = 'x';  // the last name has no terminating zero
  EXPECT_EQ(driver_.cuModuleLoadData(&module, image.data()), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(standin().live(Kind::module), 1u);
}

// ---- failures ----

TEST_F(StandinTest, FailsTheNthCall) {
  standin().fail("cuMemAlloc", 2, CUDA_ERROR_OUT_OF_MEMORY);
  CUdeviceptr address = 0;
  EXPECT_EQ(driver_.cuMemAlloc(&address, 16), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuMemAlloc(&address, 16), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(driver_.cuMemAlloc(&address, 16), CUDA_SUCCESS);
  standin().fail("*", 2, CUDA_ERROR_NOT_READY);
  EXPECT_EQ(driver_.cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuStreamSynchronize(stream_), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(driver_.cuStreamSynchronize(stream_), CUDA_SUCCESS);
}

TEST_F(StandinTest, AStickyFailureLosesTheContext) {
  const CUdeviceptr address = allocate(16);
  standin().fail("cuStreamSynchronize", 1, CUDA_ERROR_LAUNCH_FAILED, true);
  EXPECT_EQ(driver_.cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuStreamSynchronize(stream_), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(driver_.cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(driver_.cuMemsetD8Async(address, 0, 1, stream_), CUDA_ERROR_LAUNCH_FAILED);
  int count = 0;
  EXPECT_EQ(driver_.cuDeviceGetCount(&count), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuMemFree(address), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(standin().live(Kind::allocation), 0u);  // a failed call still frees what its owner gave up
}

TEST_F(StandinTest, ACallThatIsRefusedStillEndsWhatItWasToEnd) {
  CUevent event = nullptr;
  driver_.cuEventCreate(&event, 0);
  standin().fail("cuEventDestroy", 1, CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(driver_.cuEventDestroy(event), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(standin().live(Kind::event), 0u);
}

TEST_F(StandinTest, TheLastReleaseEndsEverythingInTheContext) {
  allocate(16);
  function(kSmall);
  EXPECT_EQ(standin().live(Kind::context), 1u);
  EXPECT_EQ(driver_.cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  for (const Kind kind : {Kind::context, Kind::module, Kind::function, Kind::stream, Kind::allocation}) {
    EXPECT_EQ(standin().live(kind), 0u);
  }
  EXPECT_EQ(driver_.cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  expect_violation("context");
  EXPECT_EQ(driver_.cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
}

TEST_F(StandinTest, DoesNotSurviveAFork) {
  const pid_t child = fork();
  if (child == 0) {
    CUdeviceptr address = 0;
    _exit(driver_.cuMemAlloc(&address, 16) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(StandinTest, MayBeUsedFromSeveralThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      driver_.cuCtxSetCurrent(context_);
      for (int i = 0; i < 100; ++i) {
        CUdeviceptr address = 0;
        EXPECT_EQ(driver_.cuMemAlloc(&address, 64), CUDA_SUCCESS);
        EXPECT_EQ(driver_.cuMemsetD32Async(address, 7, 16, stream_), CUDA_SUCCESS);
        EXPECT_EQ(driver_.cuMemFree(address), CUDA_SUCCESS);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(standin().calls("cuMemsetD32Async"), 400u);
}

// ---- time ----

TEST_F(StandinTest, EventsReadTheSimulatedClock) {
  CUevent start = nullptr, end = nullptr, untimed = nullptr;
  driver_.cuEventCreate(&start, 0);
  driver_.cuEventCreate(&end, 0);
  driver_.cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING);
  const GemmArgs args = small();
  float milliseconds = -1;
  EXPECT_EQ(driver_.cuEventElapsedTime(&milliseconds, start, end), CUDA_ERROR_INVALID_HANDLE);  // not yet recorded
  standin().set_speed("simt", 250);
  EXPECT_EQ(driver_.cuEventRecord(start, stream_), CUDA_SUCCESS);
  EXPECT_EQ(launch_small(args), CUDA_SUCCESS);
  EXPECT_EQ(launch_small(args), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuEventRecord(end, stream_), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuEventSynchronize(end), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuEventElapsedTime(&milliseconds, start, end), CUDA_SUCCESS);
  EXPECT_FLOAT_EQ(milliseconds, 0.5f);
  EXPECT_EQ(driver_.cuEventRecord(untimed, stream_), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuEventElapsedTime(&milliseconds, start, untimed), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(StandinTest, SlowLaunchesTakeRealTime) {
  const GemmArgs args = small();
  standin().slow_launch("simt_m32", 20000);
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(launch_small(args), CUDA_SUCCESS);
  EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(20));
}

// ---- settings of the environment, in separate processes ----

/// True if the driver, initialised with this environment, has this number of devices of this architecture.
bool finds(int devices, int major, int minor) {
  standin();
  const Driver& driver = Driver::get();
  int values[3] = {};
  driver.cuDeviceGetCount(&values[0]);
  driver.cuDeviceGetAttribute(&values[1], CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, devices - 1);
  driver.cuDeviceGetAttribute(&values[2], CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, devices - 1);
  return values[0] == devices && values[1] == major && values[2] == minor;
}

/// True if the first Driver::get() throws `code` and the next one works after the cause has been removed.
bool fails_once_with(ErrorCode code) {
  standin();
  try {
    Driver::get();
    return false;
  } catch (const Error& error) {
    if (error.code() != code) return false;
  }
  unsetenv("HOTGEMM_STANDIN_INIT");
  return finds(1, 9, 0);
}

TEST(StandinEnvironmentDeathTest, SetsDevicesAndArchitecture) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("HOTGEMM_STANDIN_DEVICES", "3", 1);
        setenv("HOTGEMM_STANDIN_ARCH", "86", 1);
        _exit(finds(3, 8, 6) ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(StandinEnvironmentDeathTest, FailsInitialisation) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("HOTGEMM_STANDIN_INIT", "100", 1);
        _exit(fails_once_with(ErrorCode::no_device) ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace hotgemm::standin
