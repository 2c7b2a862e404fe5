#include "runtime/workspace_pool.hpp"

#include "base/log.hpp"
#include "gpu/stream.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

namespace hotgemm {
namespace {

constexpr std::size_t kMostBytes = std::numeric_limits<std::size_t>::max();

/// The size of a new slab for a stream that needs `size` and whose largest slab so far is `last`. Because sizes double,
/// the outgrown slabs of a stream are together smaller than its last slab.
WorkspaceSize grown(const WorkspaceSize& size, const WorkspaceSize& last) {
  return {.scratch_bytes = std::max(size.scratch_bytes, 2 * last.scratch_bytes),
          .counters = std::max(size.counters, 2 * last.counters)};
}

WorkspaceSize larger(const WorkspaceSize& a, const WorkspaceSize& b) {
  return {.scratch_bytes = std::max(a.scratch_bytes, b.scratch_bytes), .counters = std::max(a.counters, b.counters)};
}

/// The number that tells a stream from the other streams of one capture. CU_STREAM_PER_THREAD names another stream in
/// each thread: the threads are numbered from the end, where no handle lies.
std::uint64_t captured_stream(CUstream stream) {
  if (stream != CU_STREAM_PER_THREAD) return reinterpret_cast<std::uintptr_t>(stream);
  static std::atomic<std::uint64_t> threads{0};
  thread_local const std::uint64_t thread = ++threads;
  return ~thread;
}

/// The handle, or nullptr for one that several streams have, one after another or in other threads.
CUstream own_handle(CUstream stream) {
  return stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD ? nullptr : stream;
}

}  // namespace

WorkspacePool::Lent WorkspacePool::Slab::lend() const {
  return {.args = {.scratch = memory.get() + size.counter_bytes(), .counters = memory.get()},
          .lock = std::unique_lock(*launching)};
}

WorkspacePool::~WorkspacePool() {
  for (StreamSlab* slab = of_streams_.load(); slab != nullptr;) {
    StreamSlab* next = slab->next;
    if (slab->state != State::empty) budget_.give_back(slab->slab.size.total_bytes());
    delete slab;
    slab = next;
  }
  for (const CaptureSlab& waiting : for_captures_) budget_.give_back(waiting.slab.size.total_bytes());
}

void WorkspacePool::unload() noexcept {
  for (StreamSlab* slab = of_streams_.load(); slab != nullptr; slab = slab->next) slab->slab.memory = {};
  for (CaptureSlab& waiting : for_captures_) waiting.slab.memory = {};
}

void WorkspacePool::abandon() noexcept {
  for (StreamSlab* slab = of_streams_.load(); slab != nullptr; slab = slab->next) slab->slab.memory.abandon();
  for (CaptureSlab& waiting : for_captures_) waiting.slab.memory.abandon();
}

template <class Clear>
std::optional<WorkspacePool::Slab> WorkspacePool::make(const WorkspaceSize& size, Clear&& clear) {
  const std::size_t bytes = size.total_bytes();
  if (!budget_.take(bytes)) {
    log(LogLevel::info, "no workspace of " + std::to_string(bytes) + " bytes: " + std::to_string(budget_.used_bytes()) +
                            " of " + std::to_string(budget_.cap_bytes()) + " are in use");
    return std::nullopt;
  }
  try {
    const RelaxedCaptureMode relaxed(driver_);  // the program may be capturing elsewhere
    Slab slab{.memory = DeviceBuffer(driver_, bytes), .size = size};
    if (size.counters > 0) clear(slab.memory.get());
    return slab;
  } catch (const Error& error) {
    budget_.give_back(bytes);
    if (error.code() == ErrorCode::context_lost) throw;
    log(LogLevel::warn, "no workspace of " + std::to_string(bytes) + " bytes: " + error.what());
    return std::nullopt;
  }
}

void WorkspacePool::reserve(const WorkspaceSize& size, int captures) {
  const std::lock_guard making(making_);
  const RelaxedCaptureMode relaxed(driver_);  // the program may be capturing elsewhere
  refused_bytes_ = kMostBytes;
  free_destroyed();
  WorkspaceSize wanted = size;
  for (CaptureSlab& outgrown : take_outgrown(size)) {
    wanted = larger(wanted, outgrown.slab.size);  // so that the plans which reserved it can use the new slab
    outgrown.slab.memory = {};
    budget_.give_back(outgrown.slab.size.total_bytes());
  }
  for (int waiting = count_waiting(size); waiting < captures; ++waiting) {
    if (!make_for_capture(wanted) && (wanted == size || !make_for_capture(size))) return;
  }
}

std::vector<WorkspacePool::CaptureSlab> WorkspacePool::take_outgrown(const WorkspaceSize& size) {
  const std::lock_guard lock(mutex_);
  // A graph may give its slab back at any moment, so each slab is asked once.
  const auto kept_end = std::partition(for_captures_.begin(), for_captures_.end(), [&](const CaptureSlab& slab) {
    return !*slab.is_free || slab.slab.size.holds(size);
  });
  std::size_t bytes = size.total_bytes();
  for (auto kept = for_captures_.begin(); kept != kept_end; ++kept) bytes += kept->slab.size.total_bytes();
  if (bytes > budget_.cap_bytes() / 2) return {};
  std::vector<CaptureSlab> taken(std::make_move_iterator(kept_end), std::make_move_iterator(for_captures_.end()));
  for_captures_.erase(kept_end, for_captures_.end());
  return taken;
}

int WorkspacePool::count_waiting(const WorkspaceSize& size) {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(std::ranges::count_if(
      for_captures_, [&](const CaptureSlab& slab) { return *slab.is_free && slab.slab.size.holds(size); }));
}

bool WorkspacePool::make_for_capture(const WorkspaceSize& size) {
  if (capture_bytes() + size.total_bytes() > budget_.cap_bytes() / 2) return false;
  // The graph runs on a stream that nobody knows yet, so the counters are clear before the slab is given away.
  std::optional<Slab> slab = make(size, [&](CUdeviceptr counters) {
    const OwnedStream stream(driver_);
    driver_.check(driver_.cuMemsetD32Async(counters, 0, size.counters, stream.get()), "clear counters");
    stream.synchronize();
  });
  if (!slab) return false;
  const std::lock_guard lock(mutex_);
  for_captures_.push_back({.slab = std::move(*slab)});
  return true;
}

std::size_t WorkspacePool::capture_bytes() {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (const CaptureSlab& slab : for_captures_) bytes += slab.slab.size.total_bytes();
  return bytes;
}

std::optional<WorkspacePool::Lent> WorkspacePool::find(CUstream stream, const WorkspaceSize& size) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t capture = 0;
  CUgraph graph = nullptr;
  driver_.check(driver_.cuStreamGetCaptureInfo_v3(stream, &status, &capture, &graph, nullptr, nullptr, nullptr),
                "ask whether the stream is being captured");
  // A capturing stream is identified by its handle, because the driver gives no id of it. Within one capture the handle
  // is unique: a stream that is being captured cannot be destroyed, so its handle cannot be used again.
  if (status == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
    const Slab* slab = find_for_capture(capture, captured_stream(stream), graph, size);
    return slab != nullptr ? std::optional(slab->lend()) : std::nullopt;
  }
  if (status == CU_STREAM_CAPTURE_STATUS_INVALIDATED) return std::nullopt;
  // Other streams are identified by their id: a destroyed stream may still have running work when its handle is used
  // again.
  unsigned long long stream_id = 0;
  driver_.check(driver_.cuStreamGetId(stream, &stream_id), "identify a stream");
  if (const StreamSlab* found = slab_of(stream_id, size)) return found->slab.lend();
  if (follows_destroyed(stream, stream_id)) note_destroyed(stream, stream_id);
  if (size.total_bytes() >= refused_bytes_) return std::nullopt;
  const Slab* made = make_for_stream(stream, stream_id, size);
  return made != nullptr ? std::optional(made->lend()) : std::nullopt;
}

const WorkspacePool::StreamSlab* WorkspacePool::slab_of(unsigned long long stream,
                                                        const WorkspaceSize& size) const noexcept {
  const StreamSlab* slab = of_streams_.load(std::memory_order_acquire);
  while (slab != nullptr && (slab->stream.load(std::memory_order_acquire) != stream || !slab->slab.size.holds(size)))
    slab = slab->next;
  return slab;
}

const WorkspacePool::StreamSlab* WorkspacePool::largest_of(unsigned long long stream) const noexcept {
  const StreamSlab* largest = nullptr;
  for (const StreamSlab* slab = of_streams_.load(); slab != nullptr; slab = slab->next) {
    if (slab->stream.load(std::memory_order_acquire) != stream) continue;
    if (largest == nullptr || slab->slab.size.total_bytes() > largest->slab.size.total_bytes()) largest = slab;
  }
  return largest;
}

bool WorkspacePool::follows_destroyed(CUstream handle, unsigned long long stream) const noexcept {
  if (own_handle(handle) == nullptr) return false;
  const StreamSlab* slab = of_streams_.load(std::memory_order_acquire);
  while (slab != nullptr && (slab->handle != handle || slab->stream == stream)) slab = slab->next;
  return slab != nullptr;
}

void WorkspacePool::note_destroyed(CUstream handle, unsigned long long stream) {
  const std::unique_lock making(making_, std::try_to_lock);
  if (!making) return;  // a later launch notes it
  for (StreamSlab* slab = of_streams_.load(); slab != nullptr; slab = slab->next) {
    if (slab->handle != handle || slab->stream == stream) continue;
    slab->handle = nullptr;
    slab->state = State::gone;
  }
}

void WorkspacePool::free_destroyed() {
  for (StreamSlab* slab = of_streams_.load(); slab != nullptr; slab = slab->next) {
    if (slab->state != State::gone) continue;
    slab->slab.memory = {};  // waits for what the stream has left
    budget_.give_back(slab->slab.size.total_bytes());
    slab->state = State::empty;
  }
}

const WorkspacePool::Slab* WorkspacePool::keep(CUstream handle, unsigned long long stream, Slab slab) {
  StreamSlab* node = of_streams_.load();
  while (node != nullptr && node->state != State::empty) node = node->next;
  if (node == nullptr) {
    node = new StreamSlab{
        .stream = stream, .handle = own_handle(handle), .slab = std::move(slab), .next = of_streams_.load()};
    of_streams_.store(node, std::memory_order_release);
    return &node->slab;
  }
  node->slab = std::move(slab);
  node->handle = own_handle(handle);
  node->state = State::used;
  node->stream.store(stream, std::memory_order_release);  // now launches find it
  return &node->slab;
}

const WorkspacePool::Slab* WorkspacePool::make_for_stream(CUstream handle, unsigned long long stream,
                                                          const WorkspaceSize& size) {
  const std::lock_guard making(making_);
  if (const StreamSlab* found = slab_of(stream, size)) return &found->slab;
  const StreamSlab* last = largest_of(stream);
  // The stream clears the counters before the kernels that follow on it, so nobody waits for the GPU.
  const auto make_here = [&](const WorkspaceSize& wanted) {
    return make(wanted, [&](CUdeviceptr counters) {
      driver_.check(driver_.cuMemsetD32Async(counters, 0, wanted.counters, handle), "clear counters");
    });
  };
  std::optional<Slab> slab;
  if (last != nullptr) slab = make_here(grown(size, last->slab.size));
  if (!slab) slab = make_here(size);
  if (!slab && free_waiting()) slab = make_here(size);
  if (!slab) {
    refused_bytes_ = std::min(refused_bytes_.load(), size.total_bytes());
    return nullptr;
  }
  return keep(handle, stream, *std::move(slab));
}

bool WorkspacePool::free_waiting() {
  std::vector<CaptureSlab> taken;
  {
    const std::lock_guard lock(mutex_);
    const auto kept_end = std::partition(for_captures_.begin(), for_captures_.end(),
                                         [](const CaptureSlab& slab) { return !*slab.is_free; });
    taken.assign(std::make_move_iterator(kept_end), std::make_move_iterator(for_captures_.end()));
    for_captures_.erase(kept_end, for_captures_.end());
  }
  const RelaxedCaptureMode relaxed(driver_);  // the program may be capturing elsewhere
  for (CaptureSlab& waiting : taken) {
    waiting.slab.memory = {};
    budget_.give_back(waiting.slab.size.total_bytes());
  }
  return !taken.empty();
}

/// The slab stays where it is while the stream is being captured, because it is not free.
const WorkspacePool::Slab* WorkspacePool::find_for_capture(unsigned long long capture, unsigned long long stream,
                                                           CUgraph graph, const WorkspaceSize& size) {
  const std::lock_guard lock(mutex_);
  CaptureSlab* best = nullptr;
  for (CaptureSlab& slab : for_captures_) {
    if (!slab.slab.size.holds(size)) continue;
    const bool is_free = *slab.is_free;
    if (!is_free && slab.capture == capture && slab.stream == stream) return &slab.slab;
    if (!is_free) continue;
    if (best == nullptr || slab.slab.size.total_bytes() < best->slab.size.total_bytes()) best = &slab;
  }
  if (best == nullptr || !tie_to_graph(best->is_free, graph)) return nullptr;
  best->capture = capture;
  best->stream = stream;
  return &best->slab;
}

/// Makes the graph, and all executable graphs made from it, hold the slab.
bool WorkspacePool::tie_to_graph(const IsFree& is_free, CUgraph graph) const {
  auto* owned = new IsFree(is_free);
  const CUhostFn release = [](void* object) {
    auto* slab_is_free = static_cast<IsFree*>(object);
    **slab_is_free = true;
    delete slab_is_free;
  };
  *is_free = false;
  CUuserObject object = nullptr;
  CUresult result = driver_.cuUserObjectCreate(&object, owned, release, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
  if (result != CUDA_SUCCESS) {
    release(owned);
  } else {
    result = driver_.cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
    if (result != CUDA_SUCCESS) driver_.cuUserObjectRelease(object, 1);  // this calls `release`
  }
  if (result == CUDA_SUCCESS) return true;
  log(LogLevel::warn,
      "a captured kernel runs without workspace: tie workspace to a graph: " + driver_.describe(result));
  return false;
}

}  // namespace hotgemm
