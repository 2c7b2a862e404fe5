#pragma once

#include "gpu/driver.hpp"

#include <functional>

// Owners of what orders work on a GPU. All are move-only and made in the current context; their destructors ignore
// errors, because they may run because of one.

namespace hotgemm {

/// A stream that does not synchronise with the legacy default stream.
class OwnedStream {
 public:
  explicit OwnedStream(const Driver& driver);
  ~OwnedStream();
  OwnedStream(OwnedStream&& other) noexcept;
  OwnedStream& operator=(OwnedStream&& other) noexcept;

  CUstream get() const { return stream_; }
  /// Waits for all work on the stream. Throws what that work ended with.
  void synchronize() const;

 private:
  const Driver* driver_;
  CUstream stream_ = nullptr;
};

/// While it lives, the calling thread may allocate and wait although a stream of the program is being captured, and
/// does not spoil that capture. Throws Error. Lives on one thread.
class RelaxedCaptureMode {
 public:
  explicit RelaxedCaptureMode(const Driver& driver);
  ~RelaxedCaptureMode();
  RelaxedCaptureMode(const RelaxedCaptureMode&) = delete;
  RelaxedCaptureMode& operator=(const RelaxedCaptureMode&) = delete;

 private:
  const Driver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;  // the other one: the thread's, while this object lives
};

/// An event that takes the time.
class OwnedEvent {
 public:
  explicit OwnedEvent(const Driver& driver);
  ~OwnedEvent();
  OwnedEvent(OwnedEvent&& other) noexcept;
  OwnedEvent& operator=(OwnedEvent&& other) noexcept;

  CUevent get() const { return event_; }
  void record(CUstream stream) const;

 private:
  const Driver* driver_;
  CUevent event_ = nullptr;
};

/// Microseconds of GPU time from `start` to `stop`, both of which must have been reached. Throws Error.
double elapsed_us(const Driver& driver, const OwnedEvent& start, const OwnedEvent& stop);

/// An executable graph.
class OwnedGraph {
 public:
  /// Captures what `enqueue` puts on `stream` (not the legacy default stream), in thread-local mode: other threads may
  /// do as they like meanwhile. Nothing runs. Throws what `enqueue` throws, and driver errors; the stream is not left
  /// capturing.
  static OwnedGraph capture(const Driver& driver, CUstream stream, const std::function<void()>& enqueue);
  ~OwnedGraph();
  OwnedGraph(OwnedGraph&& other) noexcept;
  OwnedGraph& operator=(OwnedGraph&& other) noexcept;

  /// Enqueues one replay.
  void launch(CUstream stream) const;

 private:
  OwnedGraph(const Driver& driver, CUgraphExec graph) : driver_(&driver), graph_(graph) {}

  const Driver* driver_;
  CUgraphExec graph_;
};

}  // namespace hotgemm
