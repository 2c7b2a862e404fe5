#include "gpu/current_context.hpp"

#include <map>
#include <mutex>
#include <string>

namespace hotgemm {
namespace {

constexpr const char* kAdvice = "call cudaSetDevice and cudaFree(0), or cuCtxSetCurrent, in this thread";

/// The ids of the primary contexts that the library has retained, by device.
struct KeptContexts {
  std::mutex mutex;
  std::map<int, unsigned long long> ids;
};

CUcontext kept_primary_context(const Driver& driver, int ordinal) {
  static auto* kept = new KeptContexts();  // never freed, as the contexts are never released
  CUdevice device = 0;
  driver.check(driver.cuDeviceGet(&device, ordinal), "find the GPU with ordinal " + std::to_string(ordinal));
  const std::lock_guard lock(kept->mutex);
  CUcontext context = nullptr;
  driver.check(driver.cuDevicePrimaryCtxRetain(&context, device), "retain a primary context");
  unsigned long long id = 0;
  driver.check(driver.cuCtxGetId(context, &id), "find the id of a primary context");
  // cudaDeviceReset takes the context, and what was retained with it. Then this one is another.
  const auto [place, is_first] = kept->ids.try_emplace(ordinal, id);
  if (!is_first && place->second == id) driver.cuDevicePrimaryCtxRelease(device);
  place->second = id;
  return context;
}

}  // namespace

unsigned long long current_context_id(const Driver& driver) {
  unsigned long long id = 0;
  if (const CUresult result = driver.cuCtxGetId(nullptr, &id); result != CUDA_SUCCESS) {
    const bool has_none = result == CUDA_ERROR_INVALID_CONTEXT;
    driver.fail(result, std::string("find the current CUDA context") + (has_none ? ", as there is none: " : "") +
                            (has_none ? kAdvice : ""));
  }
  return id;
}

void PushedContext::push_context_of(CUstream stream) {
  if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) {
    driver_.fail(CUDA_ERROR_INVALID_CONTEXT,
                 std::string("find the CUDA context of a default stream in a thread without a current CUDA context: ") +
                     kAdvice + ", or pass a stream that was made in a context");
  }
  CUcontext context = nullptr;
  driver_.check(driver_.cuStreamGetCtx(stream, &context), "find the CUDA context of a stream");
  driver_.check(driver_.cuCtxPushCurrent(context), "make the CUDA context of a stream current");
  is_pushed_ = true;
}

void PushedContext::push_context_if_none(CUstream stream) {
  CUcontext current = nullptr;
  const CUresult result = driver_.cuCtxGetCurrent(&current);
  // check() would build its text on every warm call.
  if (result != CUDA_SUCCESS) driver_.fail(result, "find the current CUDA context");
  if (current == nullptr) push_context_of(stream);
}

void PushedContext::push_primary_if_none(int ordinal) {
  CUcontext current = nullptr;
  const CUresult result = driver_.cuCtxGetCurrent(&current);
  if (result != CUDA_SUCCESS) driver_.fail(result, "find the current CUDA context");
  if (current != nullptr) return;
  driver_.check(driver_.cuCtxPushCurrent(kept_primary_context(driver_, ordinal)), "make a primary context current");
  is_pushed_ = true;
}

void PushedContext::pop() noexcept {
  CUcontext popped = nullptr;
  driver_.cuCtxPopCurrent(&popped);
}

bool is_primary_context(const Driver& driver, CUdevice device, unsigned long long id) noexcept {
  unsigned flags = 0;
  int is_active = 0;
  if (driver.cuDevicePrimaryCtxGetState(device, &flags, &is_active) != CUDA_SUCCESS || is_active == 0) return false;
  CUcontext primary = nullptr;
  if (driver.cuDevicePrimaryCtxRetain(&primary, device) != CUDA_SUCCESS) return false;
  unsigned long long found = 0;
  const bool is_same = driver.cuCtxGetId(primary, &found) == CUDA_SUCCESS && found == id;
  driver.cuDevicePrimaryCtxRelease(device);
  return is_same;
}

ContextOfId::ContextOfId(const Driver& driver, CUdevice device, unsigned long long id) noexcept
    : driver_(driver), device_(device) {
  unsigned long long found = 0;
  is_current_ = driver_.cuCtxGetId(nullptr, &found) == CUDA_SUCCESS && found == id;
  if (is_current_) return;
  unsigned flags = 0;
  int is_active = 0;
  if (driver_.cuDevicePrimaryCtxGetState(device, &flags, &is_active) != CUDA_SUCCESS || is_active == 0) return;
  // Retained, the context cannot end before this object does. If it has ended since the question, this makes a new one
  // for a moment, with another id.
  CUcontext primary = nullptr;
  if (driver_.cuDevicePrimaryCtxRetain(&primary, device) != CUDA_SUCCESS) return;
  is_retained_ = true;
  is_current_ = driver_.cuCtxGetId(primary, &found) == CUDA_SUCCESS && found == id &&
                driver_.cuCtxPushCurrent(primary) == CUDA_SUCCESS;
}

ContextOfId::~ContextOfId() {
  if (!is_retained_) return;
  CUcontext popped = nullptr;
  if (is_current_) driver_.cuCtxPopCurrent(&popped);
  driver_.cuDevicePrimaryCtxRelease(device_);
}

}  // namespace hotgemm
