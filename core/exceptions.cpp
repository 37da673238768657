#include "core/exceptions.hpp"

#include <string>

namespace homz {

Status exceptions_corrupt(const char* what) {
  return Status(Code::corrupt_stream, std::string("damaged exception list: ") + what);
}

ExceptionCounts ExceptionList::row(std::uint64_t segment) const {
  const std::byte* const at = bytes_.data() + kExceptionRow * segment;
  return {load_le<std::uint32_t>(at), load_le<std::uint32_t>(at + 4), load_le<std::uint32_t>(at + 8)};
}

Result<ExceptionList> ExceptionList::open(ConstBytes bytes, std::uint64_t positions,
                                          std::uint64_t value_bytes) {
  ExceptionList list;
  list.positions_ = positions;
  if (bytes.empty()) return list;
  list.bytes_ = bytes;
  if (bytes.size() / kExceptionRow < list.segments()) return exceptions_corrupt("shorter than its table");
  for (std::uint64_t segment = 0; segment < list.segments(); ++segment) list.total_ += list.row(segment);
  // Each count is below 2^32 and the rows fit in the bytes, so no sum and no product wraps.
  if (exception_bytes(positions, list.total_, value_bytes) != bytes.size())
    return exceptions_corrupt("its size does not match its table");
  return list;
}

}  // namespace homz
