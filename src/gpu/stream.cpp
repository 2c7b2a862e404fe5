#include "gpu/stream.hpp"

#include <utility>

namespace hotgemm {

OwnedStream::OwnedStream(const Driver& driver) : driver_(&driver) {
  driver.check(driver.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "create a stream");
}

OwnedStream::~OwnedStream() {
  if (stream_ != nullptr) driver_->cuStreamDestroy(stream_);
}

OwnedStream::OwnedStream(OwnedStream&& other) noexcept
    : driver_(other.driver_), stream_(std::exchange(other.stream_, nullptr)) {}

OwnedStream& OwnedStream::operator=(OwnedStream&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(stream_, other.stream_);
  return *this;
}

void OwnedStream::synchronize() const { driver_->check(driver_->cuStreamSynchronize(stream_), "wait for a stream"); }

bool is_capturing(const Driver& driver, CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = driver.cuStreamIsCapturing(stream, &status);
  if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return true;
  driver.check(result, "ask whether the stream is being captured");
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void require_enqueueable(const Driver& driver, CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = driver.cuStreamIsCapturing(stream, &status);
  const bool is_beside_capture = result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  driver.check(result, is_beside_capture ? "launch beside a capture, on a stream that synchronises with the captured "
                                           "one (use a non-blocking one)"
                                         : "ask whether the stream is being captured");
}

RelaxedCaptureMode::RelaxedCaptureMode(const Driver& driver) : driver_(driver) {
  driver.check(driver.cuThreadExchangeStreamCaptureMode(&mode_), "relax this thread's capture mode");
}

RelaxedCaptureMode::~RelaxedCaptureMode() { driver_.cuThreadExchangeStreamCaptureMode(&mode_); }

OwnedEvent::OwnedEvent(const Driver& driver) : driver_(&driver) {
  driver.check(driver.cuEventCreate(&event_, CU_EVENT_DEFAULT), "create an event");
}

OwnedEvent::~OwnedEvent() {
  if (event_ != nullptr) driver_->cuEventDestroy(event_);
}

OwnedEvent::OwnedEvent(OwnedEvent&& other) noexcept
    : driver_(other.driver_), event_(std::exchange(other.event_, nullptr)) {}

OwnedEvent& OwnedEvent::operator=(OwnedEvent&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(event_, other.event_);
  return *this;
}

void OwnedEvent::record(CUstream stream) const {
  driver_->check(driver_->cuEventRecord(event_, stream), "record an event");
}

double elapsed_us(const Driver& driver, const OwnedEvent& start, const OwnedEvent& stop) {
  float ms = 0;
  driver.check(driver.cuEventElapsedTime(&ms, start.get(), stop.get()), "read the time between two events");
  return static_cast<double>(ms) * 1000;
}

OwnedGraph OwnedGraph::capture(const Driver& driver, CUstream stream, const std::function<void()>& enqueue) {
  driver.check(driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "begin a graph capture");
  CUgraph graph = nullptr;
  try {
    enqueue();
  } catch (...) {
    // A failure may have ended or invalidated the capture. In any case the capture is over after this call.
    if (driver.cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS && graph != nullptr) driver.cuGraphDestroy(graph);
    throw;
  }
  driver.check(driver.cuStreamEndCapture(stream, &graph), "end a graph capture");
  CUgraphExec executable = nullptr;
  const CUresult result = driver.cuGraphInstantiateWithFlags(&executable, graph, 0);
  driver.cuGraphDestroy(graph);
  driver.check(result, "instantiate a captured graph");
  return OwnedGraph(driver, executable);
}

OwnedGraph::~OwnedGraph() {
  if (graph_ != nullptr) driver_->cuGraphExecDestroy(graph_);
}

OwnedGraph::OwnedGraph(OwnedGraph&& other) noexcept
    : driver_(other.driver_), graph_(std::exchange(other.graph_, nullptr)) {}

OwnedGraph& OwnedGraph::operator=(OwnedGraph&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(graph_, other.graph_);
  return *this;
}

void OwnedGraph::launch(CUstream stream) const {
  driver_->check(driver_->cuGraphLaunch(graph_, stream), "launch a graph");
}

}  // namespace hotgemm
