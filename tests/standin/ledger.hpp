#pragma once

#include "standin/device_memory.hpp"
#include "standin/objects.hpp"
#include "standin/script.hpp"

#include <cuda.h>
#include <sys/types.h>

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace hotgemm::standin {

/// The state that the driver keeps per thread.
struct ThreadState {
  CUcontext current = nullptr;
  std::vector<CUcontext> below{};  // the rest of the stack of contexts
  CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
};
ThreadState& thread_state();

template <class Object>
using Objects = std::unordered_map<void*, Object>;  // by handle

/// All objects in the stand-in, and all violations. Callers hold `mutex`.
///
/// Lookups return the result that the driver's function must return: CUDA_SUCCESS with the object in the last argument.
/// A handle that is not alive is a violation. A lost context returns its error.
class Ledger {
 public:
  static Ledger& get();

  std::mutex mutex;
  Script script;
  DeviceMemory memory;
  std::vector<std::string> violations;
  std::vector<std::uint64_t> copies;  ///< where the latest repack kernel to be launched writes
  unsigned fill_seed = 0;             ///< of the latest fill kernel to be launched
  pid_t initialised_by = 0;
  static constexpr int kSmCount = 132;  ///< of each device

  // ---- devices and contexts ----
  void make_devices(int count, int sm);
  int device_count() const { return static_cast<int>(contexts_.size()); }
  int sm() const { return sm_; }
  /// The memory of each device.
  std::size_t total_bytes() const { return script.memory_limit != 0 ? script.memory_limit : kDeviceBytes; }
  static CUcontext handle_of(int device);
  CUresult find_context(CUcontext handle, Context** out);  // also finds a context that is not alive or is lost
  bool is_alive(CUcontext handle) const;
  CUresult current(Context** out);  // the current context of the calling thread
  Context* device_context(int device);
  Context* context_by_id(std::uint64_t id);
  std::size_t live_contexts() const;
  void retain(Context& context);
  /// When the last owner releases it, ends the context with everything in it.
  void release(Context& context);
  /// Ends the context with everything in it, however many owners it has.
  void reset(Context& context);
  void revive_contexts();
  /// Marks the current context of the calling thread as lost. If the thread has none, marks all contexts.
  void lose_current(CUresult result);

  // ---- handles ----
  Objects<Module> modules;
  Objects<Function> functions;
  Objects<StreamState> streams;
  std::vector<CUstream> destroyed_streams;  // whose handles new streams get, as a driver's do
  Objects<Event> events;
  Objects<Graph> graphs;
  Objects<GraphExec> graph_execs;
  Objects<std::shared_ptr<UserObject>> user_objects;  // to which their creators still have references

  /// Returns a handle that was never used before.
  template <class Handle>
  Handle new_handle() {
    return reinterpret_cast<Handle>(next_handle_ += kHandleStep);
  }
  template <class Object, class Handle>
  CUresult find(Objects<Object>& objects, Handle handle, const char* what, Object** out) {
    const auto found = objects.find(handle);
    if (found == objects.end()) return not_alive(reinterpret_cast<std::uint64_t>(handle), what);
    *out = &found->second;
    return context_result(found->second.context);
  }
  /// Finds real and implicit streams.
  CUresult find_stream(CUstream handle, StreamState** out);
  void discard_module(CUmodule module);
  CUresult violate(CUresult result, const std::string& text);

  // ---- capture ----
  /// Invalidates the captures that forbid the call. For calls that may not run during a capture in the calling thread's
  /// mode.
  CUresult unsafe_call();
  /// True if a blocking stream of `context` is capturing. For calls on the legacy stream.
  bool blocks_legacy(const Context& context, bool invalidate);
  bool is_capturing(std::uint64_t context, bool invalidate);
  void invalidate_capture(std::uint64_t serial);
  /// The capture that makes `graph`, or nullptr.
  Capture* capture_of(CUgraph graph);
  /// Notes that `user` works in the workspace at `address`. It is a violation if another user may work there at the
  /// same time.
  void use_workspace(std::uint64_t context, std::uint64_t address, std::uint64_t user);
  /// Forgets the users of workspace that has been freed.
  void forget_workspaces();
  std::uint64_t new_serial() { return ++last_serial_; }
  std::uint64_t new_capture() { return *captures_.insert(new_serial()).first; }

 private:
  static constexpr std::uint64_t kHandleStep = 64;
  static constexpr std::size_t kDeviceBytes = std::size_t{139} << 30;
  CUresult not_alive(std::uint64_t handle, const char* what);
  CUresult context_result(std::uint64_t context);
  template <class Visit>
  void for_each_stream(Visit&& visit);

  struct WorkspaceUser {
    std::uint64_t context;
    std::uint64_t user;
  };
  bool is_gone(std::uint64_t workspace_user) const;

  std::map<std::uint64_t, WorkspaceUser> workspaces_;  // by address
  std::set<std::uint64_t> captures_;                   // serials of all captures that ever began
  std::vector<Context> contexts_;                      // indexed by device
  int sm_ = 90;
  std::uint64_t last_serial_ = 0;
  std::uint64_t next_handle_ = 0x5a0000000000;  // not a host address of this process: dereferencing a handle faults
};

/// Runs `body(ledger)` as the driver's `function`. If the script or a lost context makes the call fail, runs `refused`
/// instead.
enum class Scope {
  anything,     ///< works before cuInit
  process,      ///< needs cuInit
  context_call  ///< fails if the current context is lost
};
template <class Body, class Refused>
CUresult call(const char* function, Scope scope, Body&& body, Refused&& refused);
template <class Body>
CUresult call(const char* function, Scope scope, Body&& body) {
  return call(function, scope, std::forward<Body>(body), [](Ledger&) {});
}

/// The error with which `function` fails, or CUDA_SUCCESS.
CUresult refusal(Ledger& ledger, const char* function, Scope scope);

template <class Body, class Refused>
CUresult call(const char* function, Scope scope, Body&& body, Refused&& refused) {
  Ledger& ledger = Ledger::get();
  const std::lock_guard lock(ledger.mutex);
  const CUresult result = refusal(ledger, function, scope);
  if (result == CUDA_SUCCESS) return body(ledger);
  refused(ledger);
  return result;
}

}  // namespace hotgemm::standin
