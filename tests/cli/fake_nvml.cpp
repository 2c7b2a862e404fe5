// A library in place of NVML: a GPU that draws 500 W, whose clock nothing limits.

#include <cstring>

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* /*bus*/, void** device) {
  static int gpu = 0;
  *device = &gpu;
  return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(void* /*device*/, unsigned* milliwatts) {
  *milliwatts = 700'000;
  return 0;
}
int nvmlDeviceGetClockInfo(void* /*device*/, unsigned /*clock*/, unsigned* mhz) {
  *mhz = 1980;
  return 0;
}
int nvmlDeviceGetCurrentClocksEventReasons(void* /*device*/, unsigned long long* reasons) {
  *reasons = 0;
  return 0;
}
/// `values` are nvmlFieldValue_t: the type is at byte 24, the result at 28, the value at 32.
int nvmlDeviceGetFieldValues(void* /*device*/, int count, void* values) {
  const unsigned unsigned_int = 1, milliwatts = 500'000;
  const int good = 0;
  for (int i = 0; i < count; ++i) {
    char* const value = static_cast<char*>(values) + 40 * i;
    std::memcpy(value + 24, &unsigned_int, sizeof unsigned_int);
    std::memcpy(value + 28, &good, sizeof good);
    std::memcpy(value + 32, &milliwatts, sizeof milliwatts);
  }
  return 0;
}

}  // extern "C"
