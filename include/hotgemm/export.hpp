#pragma once

/// Marks what the shared library exports. Nothing where hotgemm is linked static.
///
/// C++ programs link hotgemm static today: the shared library's C++ API has no stable ABI, since std types cross it.
#if defined(HOTGEMM_SHARED) && (defined(__GNUC__) || defined(__clang__))
#define HOTGEMM_API __attribute__((visibility("default")))
#else
#define HOTGEMM_API
#endif
