#include "base/thread_priority.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hotgemm {

void lower_thread_priority() {
  const auto thread = static_cast<id_t>(::syscall(SYS_gettid));
  const int now = ::getpriority(PRIO_PROCESS, thread);
  if (now < kBackgroundNiceness) ::setpriority(PRIO_PROCESS, thread, kBackgroundNiceness);
}

}  // namespace hotgemm
