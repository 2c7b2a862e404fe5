// Streams, captures, graphs and events.

#include "standin/api.hpp"
#include "standin/node.hpp"

#include <type_traits>
#include <utility>

namespace hotgemm::standin::api {
namespace {

/// Runs `body` with the stream of `handle`.
template <class Body>
CUresult stream_call(const char* function, CUstream handle, Body&& body) {
  return call(function, Scope::context_call, [&](Ledger& ledger) {
    StreamState* stream = nullptr;
    const CUresult result = ledger.find_stream(handle, &stream);
    return result == CUDA_SUCCESS ? body(ledger, *stream) : result;
  });
}

/// Removes `handle`, even if the call fails for another reason, because its owner cannot try again.
template <class Object, class Handle>
CUresult destroy_call(const char* function, Objects<Object> Ledger::*objects, Handle handle, const char* what) {
  const auto body = [&](Ledger& ledger) {
    Object* object = nullptr;
    const CUresult result = ledger.find(ledger.*objects, handle, what, &object);
    const bool was_there = (ledger.*objects).erase(handle) == 1;
    if constexpr (std::is_same_v<Handle, CUstream>) {
      if (was_there) ledger.destroyed_streams.push_back(handle);
    }
    return result;
  };
  return call(function, Scope::context_call, body, [&](Ledger& ledger) { (ledger.*objects).erase(handle); });
}

CUresult instantiate(CUgraphExec* exec, CUgraph handle) {
  return call("cuGraphInstantiate", Scope::context_call, [&](Ledger& ledger) {
    Graph* graph = nullptr;
    if (const CUresult result = ledger.find(ledger.graphs, handle, "graph", &graph)) return result;
    *exec = ledger.new_handle<CUgraphExec>();
    ledger.graph_execs.emplace(*exec, *graph);
    return CUDA_SUCCESS;
  });
}

/// Waits for `event`, or queries its state.
CUresult event_wait(const char* function, CUevent handle) {
  return call(function, Scope::context_call, [&](Ledger& ledger) {
    Event* event = nullptr;
    if (const CUresult result = ledger.find(ledger.events, handle, "event", &event)) return result;
    if (event->capture != 0) {
      ledger.invalidate_capture(event->capture);
      return CUDA_ERROR_CAPTURED_EVENT;
    }
    return ledger.unsafe_call();
  });
}

}  // namespace

CUresult stream_create(CUstream* handle, unsigned flags) {
  return call("cuStreamCreate", Scope::context_call, [&](Ledger& ledger) {
    Context* context = nullptr;
    if (const CUresult result = ledger.current(&context)) return result;
    if (handle == nullptr || flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    *handle = ledger.destroyed_streams.empty() ? ledger.new_handle<CUstream>() : ledger.destroyed_streams.back();
    if (!ledger.destroyed_streams.empty()) ledger.destroyed_streams.pop_back();
    ledger.streams.emplace(*handle, StreamState{context->id, flags == CU_STREAM_DEFAULT, 0, nullptr, std::nullopt});
    return CUDA_SUCCESS;
  });
}

CUresult stream_destroy(CUstream handle) { return destroy_call("cuStreamDestroy", &Ledger::streams, handle, "stream"); }

CUresult stream_synchronize(CUstream handle) {
  return stream_call("cuStreamSynchronize", handle, [&](Ledger& ledger, StreamState& stream) {
    if (stream.capture) {
      stream.capture->invalidated = true;
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return ledger.unsafe_call();
  });
}

CUresult stream_is_capturing(CUstream handle, CUstreamCaptureStatus* status) {
  return stream_call("cuStreamIsCapturing", handle, [&](Ledger& ledger, StreamState& stream) {
    const Context& context = *ledger.context_by_id(stream.context);
    if (&stream == &context.legacy && ledger.blocks_legacy(context, false)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (!stream.capture) {
      *status = CU_STREAM_CAPTURE_STATUS_NONE;
    } else {
      *status = stream.capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    }
    return CUDA_SUCCESS;
  });
}

/// The context of a stream that a program made. The other streams are those of the current context.
CUresult stream_get_ctx(CUstream handle, CUcontext* context) { return stream_get_ctx_v2(handle, context, nullptr); }

CUresult stream_get_ctx_v2(CUstream handle, CUcontext* out, CUgreenCtx* green) {
  return stream_call("cuStreamGetCtx", handle, [&](Ledger& ledger, StreamState& stream) {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (green != nullptr) *green = nullptr;
    *out = Ledger::handle_of(ledger.context_by_id(stream.context)->device);
    return CUDA_SUCCESS;
  });
}

CUresult stream_get_id(CUstream handle, unsigned long long* id) {
  return stream_call("cuStreamGetId", handle, [&](Ledger& ledger, StreamState& stream) {
    if (stream.capture) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;  // as an H200's driver answers
    if (stream.id == 0) stream.id = ledger.new_serial();
    *id = stream.id;
    return CUDA_SUCCESS;
  });
}

/// Supports all outputs of the driver's function except the dependencies of the next node.
CUresult stream_get_capture_info(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                                 const CUgraphNode** dependencies, const CUgraphEdgeData** edges, std::size_t* count) {
  const CUresult result = stream_is_capturing(handle, status);
  if (result != CUDA_SUCCESS || *status == CU_STREAM_CAPTURE_STATUS_NONE) return result;
  return stream_call("cuStreamGetCaptureInfo", handle, [&](Ledger& ledger, StreamState& stream) {
    if (dependencies != nullptr || edges != nullptr || count != nullptr) {
      return ledger.violate(CUDA_ERROR_NOT_SUPPORTED, "cuStreamGetCaptureInfo asked for dependencies");
    }
    if (id != nullptr) *id = stream.capture->serial;
    if (graph != nullptr) *graph = stream.capture->graph;
    return CUDA_SUCCESS;
  });
}

CUresult stream_begin_capture(CUstream handle, CUstreamCaptureMode mode) {
  return stream_call("cuStreamBeginCapture", handle, [&](Ledger& ledger, StreamState& stream) {
    if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    if (&stream == &ledger.context_by_id(stream.context)->legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream.capture) return CUDA_ERROR_ILLEGAL_STATE;
    stream.capture =
        Capture{ledger.new_capture(), mode, std::this_thread::get_id(), false, {}, ledger.new_handle<CUgraph>()};
    return CUDA_SUCCESS;
  });
}

CUresult stream_end_capture(CUstream handle, CUgraph* graph) {
  return stream_call("cuStreamEndCapture", handle, [&](Ledger& ledger, StreamState& stream) {
    *graph = nullptr;
    if (!stream.capture) return CUDA_ERROR_ILLEGAL_STATE;
    Capture capture = std::move(*stream.capture);
    stream.capture.reset();
    if (capture.thread != std::this_thread::get_id() && capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED) {
      return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    }
    if (capture.invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    *graph = capture.graph;
    ledger.graphs.emplace(*graph, Graph{stream.context, std::move(capture.nodes), capture.serial, capture.objects});
    return CUDA_SUCCESS;
  });
}

CUresult exchange_capture_mode(CUstreamCaptureMode* mode) {
  return call("cuThreadExchangeStreamCaptureMode", Scope::process, [&](Ledger&) {
    if (mode == nullptr || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    std::swap(*mode, thread_state().capture_mode);
    return CUDA_SUCCESS;
  });
}

CUresult graph_instantiate(CUgraphExec* exec, CUgraph graph, unsigned long long /*flags*/) {
  return instantiate(exec, graph);
}

CUresult graph_instantiate_logged(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log,
                                  std::size_t log_bytes) {
  if (error_node != nullptr) *error_node = nullptr;
  if (log_bytes > 0) log[0] = '\0';
  return instantiate(exec, graph);
}

CUresult graph_launch(CUgraphExec handle, CUstream stream) {
  return call("cuGraphLaunch", Scope::context_call, [&](Ledger& ledger) {
    GraphExec* exec = nullptr;
    if (const CUresult result = ledger.find(ledger.graph_execs, handle, "graph exec", &exec)) return result;
    for (const Node& node : exec->nodes) {
      if (const CUresult result = submit(ledger, stream, node)) return result;
    }
    return CUDA_SUCCESS;
  });
}

CUresult graph_exec_destroy(CUgraphExec exec) {
  return destroy_call("cuGraphExecDestroy", &Ledger::graph_execs, exec, "graph exec");
}

CUresult graph_destroy(CUgraph graph) { return destroy_call("cuGraphDestroy", &Ledger::graphs, graph, "graph"); }

CUresult event_create(CUevent* handle, unsigned flags) {
  return call("cuEventCreate", Scope::context_call, [&](Ledger& ledger) {
    Context* context = nullptr;
    if (const CUresult result = ledger.current(&context)) return result;
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *handle = ledger.new_handle<CUevent>();
    ledger.events.emplace(*handle, Event{context->id, (flags & CU_EVENT_DISABLE_TIMING) == 0});
    return CUDA_SUCCESS;
  });
}

CUresult event_destroy(CUevent event) { return destroy_call("cuEventDestroy", &Ledger::events, event, "event"); }

CUresult event_record(CUevent handle, CUstream stream_handle) {
  return stream_call("cuEventRecord", stream_handle, [&](Ledger& ledger, StreamState& stream) {
    Event* event = nullptr;
    if (const CUresult result = ledger.find(ledger.events, handle, "event", &event)) return result;
    if (event->context != stream.context) {
      return ledger.violate(CUDA_ERROR_INVALID_HANDLE, "an event is recorded in a stream of another context");
    }
    const Context& context = *ledger.context_by_id(stream.context);
    if (&stream == &context.legacy && ledger.blocks_legacy(context, true)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (stream.capture && stream.capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    event->recorded = true;
    event->capture = stream.capture ? stream.capture->serial : 0;
    event->time_us = stream.clock_us;
    return CUDA_SUCCESS;
  });
}

CUresult event_query(CUevent event) { return event_wait("cuEventQuery", event); }

CUresult event_synchronize(CUevent event) { return event_wait("cuEventSynchronize", event); }

CUresult event_elapsed_time(float* milliseconds, CUevent start, CUevent end) {
  return call("cuEventElapsedTime", Scope::context_call, [&](Ledger& ledger) {
    double times_us[2] = {};
    for (int i = 0; i < 2; ++i) {
      Event* event = nullptr;
      if (const CUresult result = ledger.find(ledger.events, i == 0 ? start : end, "event", &event)) return result;
      if (!event->has_time || !event->recorded) return CUDA_ERROR_INVALID_HANDLE;
      if (event->capture != 0) return CUDA_ERROR_CAPTURED_EVENT;
      times_us[i] = event->time_us;
    }
    *milliseconds = static_cast<float>((times_us[1] - times_us[0]) / 1000);
    return CUDA_SUCCESS;
  });
}

}  // namespace hotgemm::standin::api
