#include "standin/ledger.hpp"

#include "standin/environment_script.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace hotgemm::standin {
namespace {

constexpr std::uint64_t kContextHandles = 0x590000000000;

std::string hex(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

template <class Object>
void erase_of(Objects<Object>& objects, std::uint64_t context) {
  std::erase_if(objects, [&](const auto& entry) { return entry.second.context == context; });
}

}  // namespace

ThreadState& thread_state() {
  thread_local ThreadState state;
  return state;
}

Ledger& Ledger::get() {
  // Never destroyed, because the library may be called until the process ends.
  static Ledger* const ledger = [] {
    auto* made = new Ledger;
    made->script = script_from_environment();
    return made;
  }();
  return *ledger;
}

// ---- devices and contexts ----

void Ledger::make_devices(int count, int sm) {
  sm_ = sm;
  contexts_.clear();
  for (int device = 0; device < count; ++device) contexts_.push_back(Context{.device = device});
}

CUcontext Ledger::handle_of(int device) {
  return reinterpret_cast<CUcontext>(kContextHandles + static_cast<std::uint64_t>(device) * kHandleStep);
}

Context* Ledger::device_context(int device) {
  return device >= 0 && device < device_count() ? &contexts_[static_cast<std::size_t>(device)] : nullptr;
}

Context* Ledger::context_by_id(std::uint64_t id) {
  for (Context& context : contexts_) {
    if (context.retained > 0 && !context.was_reset && context.id == id) return &context;
  }
  return nullptr;
}

CUresult Ledger::find_context(CUcontext handle, Context** out) {
  for (Context& context : contexts_) {
    if (handle_of(context.device) != handle || context.retained == 0 || context.was_reset) continue;
    *out = &context;
    return CUDA_SUCCESS;
  }
  return violate(CUDA_ERROR_INVALID_CONTEXT,
                 "context " + hex(reinterpret_cast<std::uint64_t>(handle)) + " is not alive");
}

bool Ledger::is_alive(CUcontext handle) const {
  return std::ranges::any_of(contexts_, [&](const Context& context) {
    return handle_of(context.device) == handle && context.retained > 0 && !context.was_reset;
  });
}

CUresult Ledger::current(Context** out) {
  const CUcontext handle = thread_state().current;
  if (handle == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const CUresult result = find_context(handle, out);
  if (result != CUDA_SUCCESS) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return (*out)->lost;
}

std::size_t Ledger::live_contexts() const {
  return static_cast<std::size_t>(
      std::count_if(contexts_.begin(), contexts_.end(), [](const Context& context) { return context.retained > 0; }));
}

void Ledger::retain(Context& context) {
  if (context.retained++ > 0 && !context.was_reset) return;
  context.was_reset = false;
  context.id = new_serial();
  context.lost = CUDA_SUCCESS;
  context.legacy = StreamState{.context = context.id, .blocking = false, .capture = {}};
  context.per_thread.clear();
}

void Ledger::release(Context& context) {
  if (--context.retained > 0) return;
  reset(context);
}

void Ledger::reset(Context& context) {
  context.was_reset = true;
  erase_of(modules, context.id);
  erase_of(functions, context.id);
  erase_of(streams, context.id);
  erase_of(events, context.id);
  erase_of(graphs, context.id);
  erase_of(graph_execs, context.id);
  memory.free_all_of(context.id);
  forget_workspaces();
}

void Ledger::revive_contexts() {
  for (Context& context : contexts_) context.lost = CUDA_SUCCESS;
}

void Ledger::lose_current(CUresult result) {
  const CUcontext current = thread_state().current;
  for (Context& context : contexts_) {
    if (current == nullptr || current == handle_of(context.device)) context.lost = result;
  }
}

// ---- handles ----

CUresult Ledger::violate(CUresult result, const std::string& text) {
  violations.push_back(text);
  return result;
}

CUresult Ledger::not_alive(std::uint64_t handle, const char* what) {
  return violate(CUDA_ERROR_INVALID_HANDLE, std::string(what) + " " + hex(handle) + " is not alive");
}

CUresult Ledger::context_result(std::uint64_t id) {
  const Context* context = context_by_id(id);
  return context != nullptr ? context->lost : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult Ledger::find_stream(CUstream handle, StreamState** out) {
  if (handle != nullptr && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD) {
    return find(streams, handle, "stream", out);
  }
  Context* context = nullptr;
  if (const CUresult result = current(&context); result != CUDA_SUCCESS) return result;
  if (handle != CU_STREAM_PER_THREAD) {
    *out = &context->legacy;
  } else {
    const StreamState fresh{.context = context->id, .blocking = true, .capture = {}};
    *out = &context->per_thread.try_emplace(std::this_thread::get_id(), fresh).first->second;
  }
  return CUDA_SUCCESS;
}

void Ledger::discard_module(CUmodule module) {
  const auto found = modules.find(module);
  if (found == modules.end()) return;
  for (const auto& [name, function] : found->second.functions) functions.erase(function);
  modules.erase(found);
}

// ---- capture ----

template <class Visit>
void Ledger::for_each_stream(Visit&& visit) {
  for (auto& [handle, stream] : streams) visit(stream);
  for (Context& context : contexts_) {
    for (auto& [thread, stream] : context.per_thread) visit(stream);
  }
}

CUresult Ledger::unsafe_call() {
  const CUstreamCaptureMode mode = thread_state().capture_mode;
  if (mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  CUresult result = CUDA_SUCCESS;
  for_each_stream([&](StreamState& stream) {
    if (!stream.capture || stream.capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED) return;
    const bool own = stream.capture->thread == std::this_thread::get_id();
    const bool global = mode == CU_STREAM_CAPTURE_MODE_GLOBAL && stream.capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!own && !global) return;
    stream.capture->invalidated = true;
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  });
  return result;
}

bool Ledger::blocks_legacy(const Context& context, bool invalidate) {
  bool found = false;
  for_each_stream([&](StreamState& stream) {
    if (!stream.capture || !stream.blocking || stream.context != context.id) return;
    found = true;
    if (invalidate) stream.capture->invalidated = true;
  });
  return found;
}

bool Ledger::is_capturing(std::uint64_t context, bool invalidate) {
  bool found = false;
  for_each_stream([&](StreamState& stream) {
    if (!stream.capture || stream.context != context) return;
    found = true;
    if (invalidate) stream.capture->invalidated = true;
  });
  return found;
}

void Ledger::invalidate_capture(std::uint64_t serial) {
  for_each_stream([&](StreamState& stream) {
    if (stream.capture && stream.capture->serial == serial) stream.capture->invalidated = true;
  });
}

Capture* Ledger::capture_of(CUgraph graph) {
  Capture* found = nullptr;
  for_each_stream([&](StreamState& stream) {
    if (stream.capture && stream.capture->graph == graph) found = &*stream.capture;
  });
  return found;
}

// ---- workspace ----

/// True if a user of workspace can no longer run. A capture cannot run when neither its graph nor any executable graph
/// made from it exists. A stream never counts as gone, because the ledger does not know when its work ended.
bool Ledger::is_gone(std::uint64_t workspace_user) const {
  const auto is_of_it = [&](const auto& entry) { return entry.second.capture == workspace_user; };
  const bool is_capture = captures_.contains(workspace_user);
  return is_capture && std::ranges::none_of(graphs, is_of_it) && std::ranges::none_of(graph_execs, is_of_it);
}

void Ledger::use_workspace(std::uint64_t context, std::uint64_t address, std::uint64_t user) {
  const auto [found, is_new] = workspaces_.try_emplace(address, WorkspaceUser{context, user});
  if (is_new || found->second.user == user) return;
  if (!is_gone(found->second.user)) {
    violations.push_back("two streams or graphs, which may run at the same time, work in the workspace at " +
                         hex(address));
  }
  found->second = {context, user};
}

void Ledger::forget_workspaces() {
  std::erase_if(workspaces_, [&](const auto& entry) { return !memory.contains(entry.second.context, entry.first, 1); });
}

// ---- calls ----

namespace {

bool waits_for_the_gpu(std::string_view function) {
  constexpr std::string_view kWaiting[] = {"cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize",
                                           "cuMemcpyDtoH",        "cuMemcpyHtoD",     "cuMemFree",
                                           "cuModuleUnload"};
  return std::ranges::find(kWaiting, function) != std::end(kWaiting);
}

}  // namespace

CUresult refusal(Ledger& ledger, const char* function, Scope scope) {
  const auto failure = ledger.script.count_call(function);
  if (failure) {
    if (failure->sticky) ledger.lose_current(failure->result);
    return failure->result;
  }
  if (scope == Scope::anything) return CUDA_SUCCESS;
  // The driver does not survive a fork.
  if (ledger.initialised_by != getpid()) return CUDA_ERROR_NOT_INITIALIZED;
  if (scope == Scope::process) return CUDA_SUCCESS;
  const CUcontext current = thread_state().current;
  for (int device = 0; device < ledger.device_count(); ++device) {
    const Context* context = ledger.device_context(device);
    if (Ledger::handle_of(device) == current && context->retained > 0) {
      while (context->hung && waits_for_the_gpu(function)) ::pause();
      return context->lost;
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace hotgemm::standin
