// A library in place of NVRTC whose cubins hold the names of kernels, and no code: the stand-in driver needs no more.
// So a test may use a hundred kernels.

#include "standin/fake_cubin.hpp"

#include <nvrtc.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace {

std::vector<std::uint8_t>& cubin_of(nvrtcProgram program) {
  return *reinterpret_cast<std::vector<std::uint8_t>*>(program);
}

}  // namespace

extern "C" {

nvrtcResult nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return NVRTC_SUCCESS;
}
const char* nvrtcGetErrorString(nvrtcResult) { return "an error of the fake NVRTC"; }
nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char*, const char* name, int, const char* const*,
                               const char* const*) {
  std::vector<std::string> kernels{std::string(name, std::strcspn(name, "."))};
  if (kernels.front() == "hotgemm_check") {
    kernels = {"hotgemm_fill", "hotgemm_check", "hotgemm_digest", "hotgemm_pointwise"};
  }
  *program = reinterpret_cast<nvrtcProgram>(new std::vector<std::uint8_t>(hotgemm::standin::fake_cubin(kernels)));
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  delete &cubin_of(*program);
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCompileProgram(nvrtcProgram, int, const char* const*) { return NVRTC_SUCCESS; }
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram, std::size_t* bytes) {
  *bytes = 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram, char* log) {
  *log = '\0';
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetPTXSize(nvrtcProgram, std::size_t*) { return NVRTC_ERROR_INVALID_PROGRAM; }
nvrtcResult nvrtcGetPTX(nvrtcProgram, char*) { return NVRTC_ERROR_INVALID_PROGRAM; }
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, std::size_t* bytes) {
  *bytes = cubin_of(program).size();
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* cubin) {
  std::ranges::copy(cubin_of(program), reinterpret_cast<std::uint8_t*>(cubin));
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcSetFlowCallback(nvrtcProgram, int (*)(void*, void*), void*) { return NVRTC_SUCCESS; }

}  // extern "C"
