#include "gpu/device.hpp"

namespace hotgemm {
namespace {

int attribute(const Driver& driver, CUdevice device, CUdevice_attribute which) {
  int value = 0;
  driver.check(driver.cuDeviceGetAttribute(&value, which, device), "read a device attribute");
  return value;
}

}  // namespace

DeviceInfo identify_device(const Driver& driver, CUdevice device) {
  DeviceInfo info;
  char name[256] = {};
  driver.check(driver.cuDeviceGetName(name, sizeof name, device), "read the GPU's name");
  info.name = name;
  info.arch = arch_name(attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                        attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  info.sm_count = attribute(driver, device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  info.l2_bytes = attribute(driver, device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  std::size_t memory = 0;
  driver.check(driver.cuDeviceTotalMem(&memory, device), "read the GPU's memory size");
  info.memory_bytes = static_cast<std::int64_t>(memory);
  const DeviceInfo nominal = nominal_device(info.arch);
  info.clock_mhz = nominal.clock_mhz;
  info.dram_gbps = nominal.dram_gbps;
  return info;
}

DeviceInfo query_device(const Driver& driver, CUdevice device) {
  DeviceInfo info = identify_device(driver, device);
  const int clock_mhz = attribute(driver, device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1000;
  // DRAM makes two transfers per clock; the bus width is in bits.
  const std::int64_t memory_khz = attribute(driver, device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  const std::int64_t bus_bits = attribute(driver, device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  const auto dram_gbps = static_cast<int>(2 * memory_khz * bus_bits / 8 / 1'000'000);
  if (clock_mhz > 0) info.clock_mhz = clock_mhz;  // newer drivers may report 0
  if (dram_gbps > 0) info.dram_gbps = dram_gbps;
  return info;
}

std::int64_t free_bytes(const Driver& driver) {
  std::size_t free = 0;
  std::size_t total = 0;
  driver.check(driver.cuMemGetInfo(&free, &total), "ask for the GPU's free memory");
  return static_cast<std::int64_t>(free);
}

std::string driver_version(const Driver& driver) {
  int version = 0;
  driver.check(driver.cuDriverGetVersion(&version), "read the driver's version");
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

PrimaryContext::PrimaryContext(const Driver& driver, int ordinal) : driver_(driver) {
  driver.check(driver.cuDeviceGet(&device_, ordinal), "open GPU " + std::to_string(ordinal));
  driver.check(driver.cuCtxGetCurrent(&previous_), "read the current context");
  CUcontext context = nullptr;
  driver.check(driver.cuDevicePrimaryCtxRetain(&context, device_),
               "create a context on GPU " + std::to_string(ordinal));
  if (const CUresult result = driver.cuCtxSetCurrent(context); result != CUDA_SUCCESS) {
    driver.cuDevicePrimaryCtxRelease(device_);
    driver.fail(result, "make GPU " + std::to_string(ordinal) + "'s context current");
  }
}

PrimaryContext::~PrimaryContext() {
  driver_.cuCtxSetCurrent(previous_);
  driver_.cuDevicePrimaryCtxRelease(device_);
}

}  // namespace hotgemm
