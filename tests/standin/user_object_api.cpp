// Objects that graphs keep alive.

#include "standin/api.hpp"
#include "standin/ledger.hpp"

#include <memory>

namespace hotgemm::standin::api {

CUresult user_object_create(CUuserObject* object, void* value, CUhostFn destroy, unsigned references, unsigned flags) {
  return call("cuUserObjectCreate", Scope::process, [&](Ledger& ledger) {
    if (object == nullptr || destroy == nullptr || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (references != 1) return ledger.violate(CUDA_ERROR_NOT_SUPPORTED, "a user object with several references");
    *object = ledger.new_handle<CUuserObject>();
    ledger.user_objects.emplace(*object, std::make_shared<UserObject>(value, destroy));
    return CUDA_SUCCESS;
  });
}

CUresult user_object_release(CUuserObject object, unsigned references) {
  return call("cuUserObjectRelease", Scope::process, [&](Ledger& ledger) {
    if (references != 1 || ledger.user_objects.erase(object) == 0) {
      return ledger.violate(CUDA_ERROR_INVALID_VALUE, "a user object is released that its maker no longer has");
    }
    return CUDA_SUCCESS;
  });
}

/// The graph may be complete, or one into which a stream is being captured.
CUresult graph_retain_user_object(CUgraph handle, CUuserObject object, unsigned references, unsigned flags) {
  return call("cuGraphRetainUserObject", Scope::context_call, [&](Ledger& ledger) {
    const auto found = ledger.user_objects.find(object);
    if (found == ledger.user_objects.end() || references != 1) {
      return ledger.violate(CUDA_ERROR_INVALID_VALUE, "a graph retains a user object that is not alive");
    }
    UserObjects* objects = nullptr;
    if (Capture* capture = ledger.capture_of(handle)) {
      objects = &capture->objects;
    } else {
      Graph* graph = nullptr;
      if (const CUresult result = ledger.find(ledger.graphs, handle, "graph", &graph)) return result;
      objects = &graph->objects;
    }
    objects->push_back(found->second);
    if ((flags & CU_GRAPH_USER_OBJECT_MOVE) != 0) ledger.user_objects.erase(found);
    return CUDA_SUCCESS;
  });
}

}  // namespace hotgemm::standin::api
