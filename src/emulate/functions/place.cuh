#pragma once
namespace hotgemm_user {
HOTGEMM_DEVICE float function_3a5b96d3a4490000([[maybe_unused]] float value, [[maybe_unused]] int row,
    [[maybe_unused]] int column, [[maybe_unused]] int batch) {
  return static_cast<float>(
#line 2 "place.txt"
value + 2 * row + column
  );
}
}  // namespace hotgemm_user
template <>
struct hotgemm::FunctionOf<hotgemm::EpilogueFunction{{14939, 38611, 42057}, 0}> {
  static HOTGEMM_DEVICE float at(float value, int row, int column, int batch,
                                 [[maybe_unused]] const float (&operands)[4]) {
    return hotgemm_user::function_3a5b96d3a4490000(value, row, column, batch);
  }
};
