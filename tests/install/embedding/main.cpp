#include <hotgemm/hotgemm.h>

int main() { return hotgemm_version() == nullptr; }
