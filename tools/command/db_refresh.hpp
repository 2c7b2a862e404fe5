#pragma once

#include "command/session.hpp"

#include <string>

namespace hotgemm::command {

/// `hotgemm db refresh FILE`: compiles the picks of the file's records whose templates have changed. If the machine
/// code is what was measured, the record is made one of today's templates. Records of today's templates get the digest
/// of their code, which this needs. Exits with 2 if records are left that must be tuned again.
int refresh_file(Session& session, const std::string& file, int jobs);

}  // namespace hotgemm::command
