#pragma once

#include "gpu/driver.hpp"

#include <functional>

// Owners of streams, events and graphs. All are move-only and made in the current context. Their destructors ignore
// errors, because they may run after another error.

namespace hotgemm {

/// A stream that does not synchronise with the legacy default stream.
class OwnedStream {
 public:
  explicit OwnedStream(const Driver& driver);
  ~OwnedStream();
  OwnedStream(OwnedStream&& other) noexcept;
  OwnedStream& operator=(OwnedStream&& other) noexcept;

  CUstream get() const { return stream_; }
  /// Waits for all work on the stream. Throws the error of that work.
  void synchronize() const;

 private:
  const Driver* driver_;
  CUstream stream_ = nullptr;
};

/// True if `stream` is being captured. Also true for the legacy default stream while a stream that synchronises with it
/// is: nothing may be enqueued there, or waited for, without spoiling that capture. Throws Error.
bool is_capturing(const Driver& driver, CUstream stream);

/// Throws Error{driver_error} if a launch on `stream` would spoil a capture of another stream.
void require_enqueueable(const Driver& driver, CUstream stream);

/// While this object lives, the calling thread may allocate and wait although a stream of the program is being
/// captured; the capture stays valid. Must be destroyed on the same thread. Throws Error.
class RelaxedCaptureMode {
 public:
  explicit RelaxedCaptureMode(const Driver& driver);
  ~RelaxedCaptureMode();
  RelaxedCaptureMode(const RelaxedCaptureMode&) = delete;
  RelaxedCaptureMode& operator=(const RelaxedCaptureMode&) = delete;

 private:
  const Driver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;  // while this object lives: the thread's former mode
};

/// An event that records the time.
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

/// The GPU time in microseconds from `start` to `stop`. The GPU must have reached both. Throws Error.
double elapsed_us(const Driver& driver, const OwnedEvent& start, const OwnedEvent& stop);

/// An executable graph.
class OwnedGraph {
 public:
  /// Captures the work that `enqueue` puts on `stream` (not the legacy default stream), in thread-local mode, so that
  /// other threads are not restricted. Nothing runs. Throws the errors of `enqueue` and driver errors; the stream is
  /// never left capturing.
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
