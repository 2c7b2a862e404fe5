#include "config/device_info.hpp"

#include <hotgemm/error.hpp>

#include <gtest/gtest.h>

#include <string>

namespace hotgemm {
namespace {

TEST(DeviceInfo, EveryKnownArchHasLimitsAndANominalGpu) {
  ASSERT_GE(known_archs().size(), 7U);
  for (const std::string& arch : known_archs()) {
    const ArchLimits& limits = arch_limits(arch);
    EXPECT_EQ(arch.substr(0, 3 + std::to_string(limits.sm).size()), "sm_" + std::to_string(limits.sm));
    EXPECT_EQ(arch_name(limits.sm / 10, limits.sm % 10), arch);
    const DeviceInfo device = nominal_device(arch);
    EXPECT_EQ(device.arch, arch);
    EXPECT_FALSE(device.name.empty());
    EXPECT_EQ(device.sm_count, limits.nominal_sm_count);
    EXPECT_EQ(device.l2_bytes, limits.nominal_l2_bytes);
  }
}

TEST(DeviceInfo, NamesArchsAsTheCompilerDoes) {
  EXPECT_EQ(arch_name(8, 0), "sm_80");
  EXPECT_EQ(arch_name(9, 0), "sm_90a");
  EXPECT_EQ(arch_name(12, 0), "sm_120");
  EXPECT_EQ(arch_name(8, 8), "sm_87") << "the newest architecture whose code runs on it";
}

TEST(DeviceInfo, AnUnknownArchIsAnErrorThatNamesItAndTheKnown) {
  for (const char* arch : {"", "sm_90", "sm_70", "90a", "sm_80a", "sm_090a", "SM_80"}) {
    try {
      arch_limits(arch);
      FAIL() << arch;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string(error.what()).find("'" + std::string(arch) + "'"), std::string::npos);
      for (const std::string& known : known_archs()) {
        EXPECT_NE(std::string(error.what()).find(known), std::string::npos) << known;
      }
    }
    EXPECT_THROW(nominal_device(arch), Error) << arch;
  }
}

TEST(DeviceInfo, AnOldGpuIsNotSupported) {
  try {
    arch_name(6, 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_supported);
    EXPECT_NE(std::string(error.what()).find("6.1"), std::string::npos);
  }
}

}  // namespace
}  // namespace hotgemm
