#include "c/status.hpp"

#include <hotgemm/context.hpp>

#include <string>

using namespace hotgemm;
using c::done;
using c::required;

hotgemm_status hotgemm_set_log_sink(hotgemm_log_sink sink, void* user) {
  return done(nullptr, [&] {
    if (sink == nullptr) return set_log_sink({});
    set_log_sink([sink, user](std::string_view level, std::string_view message) {
      sink(user, std::string(level).c_str(), std::string(message).c_str());
    });
  });
}

hotgemm_status hotgemm_set_log_level(const char* level) {
  return done(nullptr, [&] { set_log_level(&required(level, "level")); });
}

hotgemm_status hotgemm_set_library_path(const char* library, const char* path) {
  return done(nullptr, [&] { set_library_path(&required(library, "library"), &required(path, "path")); });
}
