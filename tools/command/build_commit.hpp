#pragma once

namespace hotgemm::command {

/// The commit that the command was built from, as `git describe` names it: "v0.1.0-12-g1234567-dirty". "unknown" if the
/// source is in no git repository. cmake/Commit.cmake writes the definition.
const char* build_commit();

}  // namespace hotgemm::command
