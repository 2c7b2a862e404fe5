// Tests begin with no records, whatever ships with hotgemm: they count records, and expect what the model picks.

#include <cstdlib>

namespace {

[[maybe_unused]] const int kNoShippedRecords = ::setenv("HOTGEMM_SHIPPED_RECORDS", "off", 0);

}  // namespace
