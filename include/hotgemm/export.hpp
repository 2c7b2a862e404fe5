#pragma once

/// Marks the symbols that the shared library exports. Empty if hotgemm is linked statically.
///
/// C++ programs should link hotgemm statically: the C++ API has no stable ABI, because it passes std types.
#if defined(HOTGEMM_SHARED) && (defined(__GNUC__) || defined(__clang__))
#define HOTGEMM_API __attribute__((visibility("default")))
#else
#define HOTGEMM_API
#endif
