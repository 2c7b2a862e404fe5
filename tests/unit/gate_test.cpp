#include "shared/gate.hpp"

#include <hotgemm/problem.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

TEST(Gate, ColumnsOfDAreMadeOfAllColumnsOfTheProduct) {
  for (const Gate gate : {Gate::halves, Gate::interleaved}) {
    std::vector<int> columns;
    for (int col = 0; col < 7; ++col) {
      columns.push_back(gate_columns(gate, col, 7).gate);
      columns.push_back(gate_columns(gate, col, 7).other);
    }
    std::ranges::sort(columns);
    for (int i = 0; i < 14; ++i) EXPECT_EQ(columns[static_cast<std::size_t>(i)], i);
  }
}

/// A consumer's part of a tile, of 2 * half columns, has the two columns of each column of D at a distance of half.
TEST(Gate, TilesHaveBothColumnsAtADistanceOfHalfAPart) {
  constexpr int kColumns = 100, kBlock = 64;
  for (const int half : {8, 16, 32}) {
    int next = 0;  // column of D
    for (int first = 0; first < 2 * kColumns; first += kBlock) {
      for (int at = 0; at < kBlock; ++at) {
        if (at % (2 * half) >= half) continue;
        const GateColumns columns = gate_columns(Gate::halves, next++, kColumns);
        EXPECT_EQ(column_of_halves(first, at, half, kColumns), columns.gate) << first << " + " << at;
        EXPECT_EQ(column_of_halves(first, at + half, half, kColumns), columns.other) << first << " + " << at;
      }
    }
  }
}

TEST(Gate, HasItsUsualNamesInText) {
  const auto epilogue = [](const char* text) {
    return parse_problem(std::string("8 8 8 nt bf16 epilogue=") + text).epilogue;
  };
  EXPECT_EQ(epilogue("swiglu"), (Epilogue{.activation = Activation::silu, .gate = Gate::halves}));
  EXPECT_EQ(epilogue("geglu:interleaved"), (Epilogue{.activation = Activation::gelu, .gate = Gate::interleaved}));
  EXPECT_EQ(epilogue("bias+geglu_erf"), epilogue("bias+gelu_erf+gated"));
  EXPECT_EQ(epilogue("glu"), epilogue("sigmoid+gated:halves"));
  EXPECT_EQ(to_string(parse_problem("8 8 8 nt bf16 epilogue=swiglu+residual")),
            "8 8 8 nt bf16 epilogue=silu+gated+residual");
  for (const char* bad : {"swiglu+silu", "swiglu+gated", "swiglu:", "swiglu:both", "gated:none", "gated+gated"}) {
    EXPECT_THROW(epilogue(bad), std::exception) << bad;
  }
}

}  // namespace
}  // namespace hotgemm
