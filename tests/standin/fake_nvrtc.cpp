// A library that only tells its version, in place of NVRTC.

#include <nvrtc.h>

extern "C" nvrtcResult nvrtcVersion(int* major, int* minor) {
  *major = HOTGEMM_FAKE_NVRTC_VERSION / 100;
  *minor = HOTGEMM_FAKE_NVRTC_VERSION % 100;
  return NVRTC_SUCCESS;
}
