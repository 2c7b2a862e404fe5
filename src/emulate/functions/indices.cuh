#pragma once
namespace hotgemm_user {
HOTGEMM_DEVICE float function_0c5b4c69ef974321([[maybe_unused]] float value, [[maybe_unused]] int row,
    [[maybe_unused]] int column, [[maybe_unused]] int batch,
#line 2 "indices.txt"
[[maybe_unused]] float factor,
#line 3 "indices.txt"
[[maybe_unused]] float left,
#line 4 "indices.txt"
[[maybe_unused]] float top,
#line 5 "indices.txt"
[[maybe_unused]] float step) {
  return static_cast<float>(
#line 6 "indices.txt"
value * factor + left - top * (row % 3)
  + step * (column % 5)  // each index selects something
  + batch
  );
}
}  // namespace hotgemm_user
template <>
struct hotgemm::FunctionOf<hotgemm::EpilogueFunction{{3163, 19561, 61335}, 17185}> {
  static HOTGEMM_DEVICE float at(float value, int row, int column, int batch,
                                 [[maybe_unused]] const float (&operands)[4]) {
    return hotgemm_user::function_0c5b4c69ef974321(value, row, column, batch, operands[0], operands[1], operands[2], operands[3]);
  }
};
