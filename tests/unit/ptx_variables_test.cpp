#include "gpu/ptx_variables.hpp"

#include <gmock/gmock.h>

#include <string>

namespace hotgemm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

const std::string kUnread = R"(.version 9.0
.target sm_90a
.global .align 4 .u32 kRows = 128;
.visible .global .align 1 .b8 table[4] = {1, 2, 3, 4};
.weak .global .align 1 .b8 empty[1];
.global .align 8 .u64 $places[2] = {generic(table), 7};

.visible .entry kernel(
	.param .u64 kernel_param_0
)
{
	ld.param.u64 	%rd1, [kernel_param_0];
	mov.u32 	%r1, kRowsOfAnother;
	st.global.u32 	[%rd1], %r1;
	ret;
}
)";

std::string with_instruction(const std::string& line) {
  std::string text = kUnread;
  return text.insert(text.find("\tret;"), "\t" + line + "\n");
}

TEST(UnreadVariables, AreThoseThatNoInstructionNames) {
  EXPECT_THAT(unread_variables(kUnread), Optional(ElementsAre("$places", "empty", "kRows", "table")));
  EXPECT_THAT(unread_variables(""), Optional(IsEmpty()));
}

TEST(UnreadVariables, AreNoneIfAnInstructionNamesOne) {
  for (const char* line : {"ld.global.u32 \t%r2, [kRows];", "ld.global.u8 \t%rs1, [table+3];",
                           "mov.u64 \t%rd2, $places;", "mov.u64 %rd2,empty;"}) {
    EXPECT_EQ(unread_variables(with_instruction(line)), std::nullopt) << line;
  }
}

TEST(UnreadVariables, AreNoneIfAnotherSpaceHoldsTheAddress) {
  EXPECT_EQ(unread_variables(kUnread + ".const .align 8 .u64 pointers[1] = {generic(table)};\n"), std::nullopt);
}

TEST(UnreadVariables, AreNoneIfADeclarationIsNotUnderstood) {
  EXPECT_EQ(unread_variables(kUnread + ".global .align 4 .u32 kLong[2] = {1,\n2};\n"), std::nullopt);
  EXPECT_EQ(unread_variables(kUnread + ".global ;\n"), std::nullopt);
}

}  // namespace
}  // namespace hotgemm
