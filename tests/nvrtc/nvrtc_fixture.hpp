#pragma once

#include "gpu/nvrtc.hpp"

#include <hotgemm/error.hpp>

#include <gtest/gtest.h>

namespace hotgemm {

/// Skips the test if NVRTC cannot be loaded.
class NvrtcTest : public testing::Test {
 protected:
  void SetUp() override {
    try {
      Nvrtc::get();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::no_compiler) throw;
      GTEST_SKIP() << error.what();
    }
  }
};

}  // namespace hotgemm
