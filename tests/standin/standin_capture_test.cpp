#include "standin/standin_fixture.hpp"

#include <functional>
#include <thread>

// The expected results were observed with a CUDA 13 driver on an H200.

namespace hotgemm::standin {
namespace {

constexpr CUstreamCaptureMode kCaptureModes[] = {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                                 CU_STREAM_CAPTURE_MODE_RELAXED};

class StandinCaptureTest : public StandinTest {
 protected:
  struct Seen {
    CUresult result;
    bool capture_survived;
    bool operator==(const Seen&) const = default;
  };
  /// The result of `use` during a capture of `mode`, and whether the capture stays valid.
  Seen during(CUstreamCaptureMode mode, unsigned stream_flags, const std::function<CUresult(CUstream)>& use) {
    CUstream stream = nullptr;
    EXPECT_EQ(driver_.cuStreamCreate(&stream, stream_flags), CUDA_SUCCESS);
    EXPECT_EQ(driver_.cuStreamBeginCapture(stream, mode), CUDA_SUCCESS);
    const CUresult result = use(stream);
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    EXPECT_EQ(driver_.cuStreamIsCapturing(stream, &status), CUDA_SUCCESS);
    CUgraph graph = nullptr;
    const CUresult end = driver_.cuStreamEndCapture(stream, &graph);
    const bool survived = end == CUDA_SUCCESS;
    EXPECT_EQ(status, survived ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    EXPECT_EQ(graph != nullptr, survived);
    if (survived) {
      EXPECT_EQ(driver_.cuGraphDestroy(graph), CUDA_SUCCESS);
    } else {
      EXPECT_EQ(end, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
    EXPECT_EQ(driver_.cuStreamDestroy(stream), CUDA_SUCCESS);
    return {result, survived};
  }
  Seen during(CUstreamCaptureMode mode, const std::function<CUresult(CUstream)>& use) {
    return during(mode, CU_STREAM_NON_BLOCKING, use);
  }
  /// Runs `use` on another thread.
  CUresult elsewhere(const std::function<CUresult()>& use) {
    CUresult result = CUDA_ERROR_UNKNOWN;
    std::thread([&] {
      driver_.cuCtxSetCurrent(context_);
      result = use();
    }).join();
    return result;
  }
  CUresult alloc() {
    CUdeviceptr address = 0;
    return driver_.cuMemAlloc(&address, 16);
  }

  static constexpr Seen kGood{CUDA_SUCCESS, true};
  static constexpr Seen kUnsupported{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false};
  static constexpr Seen kImplicit{CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, false};
  static constexpr Seen kCapturedEvent{CUDA_ERROR_CAPTURED_EVENT, false};
};

TEST_F(StandinCaptureTest, RecordsAndReplays) {
  const CUdeviceptr memory = allocate(64);
  const GemmArgs args = small();
  ASSERT_EQ(driver_.cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuMemsetD8Async(memory, 0x3c, 64, stream_), CUDA_SUCCESS);
  EXPECT_EQ(launch_small(args), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  ASSERT_EQ(driver_.cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
  EXPECT_TRUE(std::isnan(read_f16(args.d, 1)[0]));  // nothing has run yet
  EXPECT_EQ(standin().launches(), 0u);
  CUgraphExec exec = nullptr;
  ASSERT_EQ(driver_.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuGraphLaunch(exec, stream_), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuGraphLaunch(exec, stream_), CUDA_SUCCESS);
  EXPECT_EQ(standin().launches("simt"), 2u);
  EXPECT_EQ(read_f16(args.d, 64), std::vector<float>(64, 8.0f));
  EXPECT_EQ(read_f16(memory, 1)[0], widen_f16(0x3c3c));
  EXPECT_EQ(driver_.cuGraphExecDestroy(exec), CUDA_SUCCESS);
  EXPECT_EQ(standin().live(Kind::graph) + standin().live(Kind::graph_exec), 0u);
}

TEST_F(StandinCaptureTest, AGraphMustNotOutliveItsKernels) {
  const GemmArgs args = small();
  ASSERT_EQ(driver_.cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(launch_small(args), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_EQ(driver_.cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
  ASSERT_EQ(driver_.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuModuleUnload(module_), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuGraphLaunch(exec, stream_), CUDA_ERROR_INVALID_HANDLE);
  expect_violation("function");
}

TEST_F(StandinCaptureTest, UnsafeCallsInvalidateUnlessRelaxed) {
  CUstream other = nullptr;
  CUevent outside = nullptr;
  driver_.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING);
  driver_.cuEventCreate(&outside, 0);
  driver_.cuEventRecord(outside, other);
  for (const CUstreamCaptureMode mode : kCaptureModes) {
    const Seen expected = mode == CU_STREAM_CAPTURE_MODE_RELAXED ? kGood : kUnsupported;
    EXPECT_EQ(during(mode, [&](CUstream) { return alloc(); }), expected);
    const CUdeviceptr address = allocate(16);
    EXPECT_EQ(during(mode, [&](CUstream) { return driver_.cuMemFree(address); }), expected);
    EXPECT_EQ(during(mode, [&](CUstream) { return driver_.cuStreamSynchronize(other); }), expected);
    EXPECT_EQ(during(mode, [&](CUstream) { return driver_.cuEventSynchronize(outside); }), expected);
  }
}

TEST_F(StandinCaptureTest, WaitingForTheCaptureItselfNeverWorks) {
  CUevent event = nullptr;
  driver_.cuEventCreate(&event, 0);
  for (const CUstreamCaptureMode mode : kCaptureModes) {
    EXPECT_EQ(during(mode, [&](CUstream stream) { return driver_.cuStreamSynchronize(stream); }), kUnsupported);
    EXPECT_EQ(during(mode, [&](CUstream) { return driver_.cuCtxSynchronize(); }), kUnsupported);
    EXPECT_EQ(during(mode,
                     [&](CUstream stream) {
                       EXPECT_EQ(driver_.cuEventRecord(event, stream), CUDA_SUCCESS);
                       return driver_.cuEventSynchronize(event);
                     }),
              kCapturedEvent);
  }
}

TEST_F(StandinCaptureTest, LoadingAndAsynchronousWorkAreLegal) {
  const CUdeviceptr memory = allocate(16);
  char host[16] = {};
  for (const CUstreamCaptureMode mode : kCaptureModes) {
    EXPECT_EQ(during(mode,
                     [&](CUstream) {
                       CUmodule module = nullptr;
                       const CUresult result = driver_.cuModuleLoadData(&module, fake_cubin({kSmall}).data());
                       driver_.cuModuleUnload(module);
                       return result;
                     }),
              kGood);
    EXPECT_EQ(during(mode,
                     [&](CUstream) {
                       return driver_.cuFuncSetAttribute(function(kLarge),
                                                         CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 16);
                     }),
              kGood);
    EXPECT_EQ(during(mode, [&](CUstream s) { return driver_.cuMemcpyDtoHAsync(host, memory, 16, s); }), kGood);
    EXPECT_EQ(during(mode, [&](CUstream) { return driver_.cuMemcpyHtoD(memory, host, 16); }), kGood);
  }
}

TEST_F(StandinCaptureTest, TheLegacyStreamConflictsWithBlockingStreams) {
  const CUdeviceptr memory = allocate(16);
  CUstreamCaptureStatus status{};
  const auto copy = [&](CUstream) { return driver_.cuMemcpyHtoD(memory, &status, 4); };
  const auto fill = [&](CUstream) { return driver_.cuMemsetD8Async(memory, 0, 4, nullptr); };
  const auto ask = [&](CUstream) { return driver_.cuStreamIsCapturing(nullptr, &status); };
  for (const CUstreamCaptureMode mode : kCaptureModes) {
    EXPECT_EQ(during(mode, CU_STREAM_DEFAULT, copy), kImplicit);
    EXPECT_EQ(during(mode, CU_STREAM_DEFAULT, fill), kImplicit);
    EXPECT_EQ(during(mode, fill), kGood);
    EXPECT_EQ(during(mode, CU_STREAM_DEFAULT, ask), (Seen{CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, true}));
    EXPECT_EQ(during(mode, ask), kGood);
  }
}

TEST_F(StandinCaptureTest, TheThreadsModeDecides) {
  const auto relaxed_alloc = [&](CUstream) {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    driver_.cuThreadExchangeStreamCaptureMode(&mode);
    EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    const CUresult result = alloc();
    driver_.cuThreadExchangeStreamCaptureMode(&mode);
    EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
    return result;
  };
  const auto alloc_elsewhere = [&](CUstream) { return elsewhere([&] { return alloc(); }); };
  EXPECT_EQ(during(CU_STREAM_CAPTURE_MODE_GLOBAL, relaxed_alloc), kGood);
  EXPECT_EQ(during(CU_STREAM_CAPTURE_MODE_GLOBAL, alloc_elsewhere), kUnsupported);
  EXPECT_EQ(during(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, alloc_elsewhere), kGood);
  EXPECT_EQ(during(CU_STREAM_CAPTURE_MODE_RELAXED, alloc_elsewhere), kGood);
}

TEST_F(StandinCaptureTest, BeginAndEndMustMatch) {
  CUgraph graph = nullptr;
  EXPECT_EQ(driver_.cuStreamEndCapture(stream_, &graph), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(driver_.cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  ASSERT_EQ(driver_.cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(elsewhere([&] { return driver_.cuStreamEndCapture(stream_, &graph); }),
            CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  EXPECT_EQ(driver_.cuStreamEndCapture(stream_, &graph), CUDA_ERROR_ILLEGAL_STATE);
  ASSERT_EQ(driver_.cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(alloc(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(driver_.cuMemsetD8Async(0, 0, 0, stream_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(driver_.cuStreamEndCapture(stream_, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

}  // namespace
}  // namespace hotgemm::standin
