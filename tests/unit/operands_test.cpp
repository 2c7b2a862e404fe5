#include "runtime/validate_operands.hpp"

#include <hotgemm/hotgemm.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

using testing::HasSubstr;

struct Refusal {
  ErrorCode code;
  std::string message;
};
template <class Call>
Refusal refusal_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {ErrorCode::internal, "nothing was thrown"};
}

float device_float;
void* device() { return &device_float; }

TEST(Operands, TheCommonCallIsOneExpressionAndLeavesTheRestUnused) {
  const Operands o{
      .a = device(), .b = device(), .c = device(), .d = device(), .lda = 8, .ldb = 8, .ldc = 8, .ldd = 8, .beta = 1};
  EXPECT_EQ(o.size, sizeof(Operands));
  EXPECT_EQ(o.alpha, 1.0f);
  EXPECT_TRUE(has_known_size(o));
  EXPECT_NO_THROW(validate_fields(Problem{}, o));
}

TEST(Operands, ArraysAreForBatchesByPointers) {
  const void* const* matrices = nullptr;
  const void* address = device();
  matrices = &address;
  void* writable = device();
  const std::vector<std::pair<std::string, std::function<void(Operands&)>>> fields = {
      {"batch_a", [&](Operands& o) { o.batch_a = matrices; }},
      {"batch_b", [&](Operands& o) { o.batch_b = matrices; }},
      {"batch_c", [&](Operands& o) { o.batch_c = matrices; }},
      {"batch_d", [&](Operands& o) { o.batch_d = &writable; }},
      {"batch_align_a", [&](Operands& o) { o.batch_align_a = 8; }},
  };
  for (const auto& [name, set] : fields) {
    Operands o;
    set(o);
    EXPECT_NO_THROW(validate_fields({.batch_kind = BatchKind::pointers}, o)) << name;
    const Refusal refusal = refusal_of([&] { validate_fields(Problem{}, o); });
    EXPECT_EQ(refusal.code, ErrorCode::invalid_argument) << name;
    EXPECT_THAT(refusal.message, HasSubstr(" " + name + " ")) << name;
  }
}

TEST(Operands, AFieldIsForAProblemWhoseEpilogueUsesIt) {
  struct Field {
    std::string name;
    std::function<void(Operands&)> set;
    Epilogue epilogue;
  };
  const std::vector<Field> fields = {
      {"alpha_device", [](Operands& o) { o.alpha_device = &device_float; }, {.scalars = true}},
      {"beta_device", [](Operands& o) { o.beta_device = &device_float; }, {.scalars = true}},
      {"bias", [](Operands& o) { o.bias = device(); }, {.bias = Bias::per_row}},
      {"residual", [](Operands& o) { o.residual = device(); }, {.residual = true}},
      {"ld_residual", [](Operands& o) { o.ld_residual = 8; }, {.residual = true}},
      {"batch_stride_residual", [](Operands& o) { o.batch_stride_residual = 8; }, {.residual = true}},
      {"auxiliary", [](Operands& o) { o.auxiliary = device(); }, {.aux = true}},
      {"ld_auxiliary", [](Operands& o) { o.ld_auxiliary = 8; }, {.aux = true}},
      {"batch_stride_auxiliary", [](Operands& o) { o.batch_stride_auxiliary = 8; }, {.aux = true}},
      {"scale_a", [](Operands& o) { o.scale_a = &device_float; }, {.scale_a = Scaling::vector}},
      {"scale_b", [](Operands& o) { o.scale_b = &device_float; }, {.scale_b = Scaling::tensor}},
      {"scale_d", [](Operands& o) { o.scale_d = &device_float; }, {.scale_d = true}},
      {"bias_gradient", [](Operands& o) { o.bias_gradient = &device_float; }, {.bias_gradient = Bias::per_column}},
      {"ld_scale_a", [](Operands& o) { o.ld_scale_a = 8; }, {.scale_a = Scaling::block_1x128}},
      {"ld_scale_b", [](Operands& o) { o.ld_scale_b = 8; }, {.scale_b = Scaling::block_128x128}},
  };
  for (const Field& field : fields) {
    Operands o;
    field.set(o);
    EXPECT_NO_THROW(validate_fields({.epilogue = field.epilogue}, o)) << field.name;
    const Refusal refusal = refusal_of([&] { validate_fields({.epilogue = {.activation = Activation::relu}}, o); });
    EXPECT_EQ(refusal.code, ErrorCode::invalid_argument) << field.name;
    EXPECT_THAT(refusal.message, HasSubstr(" field " + field.name + " ")) << field.name;
    EXPECT_THAT(refusal.message, HasSubstr("epilogue=relu")) << field.name;
  }
}

TEST(Operands, DistancesAreForStridedBatchesOfAnyNumber) {
  for (std::int64_t Operands::*stride :
       {&Operands::batch_stride_a, &Operands::batch_stride_b, &Operands::batch_stride_c, &Operands::batch_stride_d}) {
    Operands o;
    o.*stride = 64;
    for (const std::int64_t batch : {0, 1, 5}) EXPECT_NO_THROW(validate_fields({.batch = batch}, o));
    const Refusal refusal = refusal_of([&] { validate_fields({.batch_kind = BatchKind::pointers}, o); });
    EXPECT_EQ(refusal.code, ErrorCode::invalid_argument);
  }
}

TEST(Operands, AWorkspaceHasAnAddress) {
  Operands o;
  o.workspace_bytes = 256;
  const Refusal refusal = refusal_of([&] { validate_fields(Problem{}, o); });
  EXPECT_EQ(refusal.code, ErrorCode::invalid_argument);
  EXPECT_THAT(refusal.message, HasSubstr("workspace is null, but workspace_bytes is 256"));
  o.workspace = device();
  EXPECT_NO_THROW(validate_fields(Problem{}, o));
}

/// The struct of a caller with an older header is shorter. The library must not read the memory after it.
TEST(Operands, AnOlderCallersFieldsArriveAndTheOthersHaveTheirDefaults) {
  Operands older{.a = device(), .lda = 7, .alpha = 3};
  older.size = offsetof(Operands, batch_stride_a);
  older.batch_stride_a = 99;  // other memory of the caller
  older.workspace_bytes = 99;
  ASSERT_FALSE(has_known_size(older));
  const Operands known = known_operands(older);
  EXPECT_TRUE(has_known_size(known));
  EXPECT_EQ(known.a, device());
  EXPECT_EQ(known.lda, 7);
  EXPECT_EQ(known.alpha, 3.0f);
  EXPECT_EQ(known.batch_stride_a, 0);
  EXPECT_EQ(known.workspace_bytes, 0u);
}

TEST(Operands, ANewerCallersUnknownFieldMustBeUnused) {
  struct Newer {
    Operands known;
    std::int64_t added = 0;
  } newer;
  newer.known.lda = 7;
  newer.known.size = sizeof newer;
  EXPECT_EQ(known_operands(newer.known).lda, 7);
  newer.added = std::int64_t{1} << 56;  // its last byte
  const Refusal refusal = refusal_of([&] { known_operands(newer.known); });
  EXPECT_EQ(refusal.code, ErrorCode::not_supported);
  EXPECT_THAT(refusal.message, HasSubstr("beyond byte " + std::to_string(sizeof(Operands))));
}

TEST(Operands, ASizeThatNoVersionHadIsRefused) {
  Operands o;
  for (const std::size_t size : {std::size_t{0}, std::size_t{8}, offsetof(Operands, alpha_device) - 1,
                                 offsetof(Operands, alpha_device) + 3, sizeof(Operands) - 1}) {
    o.size = size;
    const Refusal refusal = refusal_of([&] { known_operands(o); });
    EXPECT_EQ(refusal.code, ErrorCode::invalid_argument);
    EXPECT_THAT(refusal.message, HasSubstr("size is " + std::to_string(size)));
  }
}

}  // namespace
}  // namespace hotgemm
