#include "core/status.hpp"

namespace homz {

const char* to_string(Code code) noexcept {
  switch (code) {
    case Code::ok:
      return "ok";
    case Code::invalid_argument:
      return "invalid argument";
    case Code::unsupported:
      return "unsupported";
    case Code::capacity:
      return "capacity";
    case Code::corrupt_stream:
      return "corrupt stream";
    case Code::out_of_memory:
      return "out of memory";
    case Code::io:
      return "input/output";
    case Code::internal:
      return "internal";
  }
  return "unknown";
}

}  // namespace homz
