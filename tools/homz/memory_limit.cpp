#include "tools/homz/memory_limit.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "tools/amounts.hpp"

namespace homz::cli {
namespace {

std::uint64_t physical_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size)
                               : UINT64_MAX;
}

}  // namespace

void LimitArgument::add_to(CLI::App& command) {
  add_argument(command, "--max-bytes", max_bytes, "N",
               fmt::format("refuse streams that declare more data; default: the machine's memory; with {}",
                           kUnitsOfBytes));
}

Result<std::optional<std::uint64_t>> LimitArgument::parse() const {
  std::optional<std::uint64_t> limit;
  if (max_bytes.given()) {
    HOMZ_ASSIGN(limit, parse_bytes("--max-bytes", max_bytes.text));
  }
  return limit;
}

Status check_limit(std::uint64_t declared, std::optional<std::uint64_t> limit) {
  const std::uint64_t most = limit.value_or(physical_memory());
  if (declared <= most) return Status();
  return Status(
      Code::capacity,
      fmt::format("the stream declares {} bytes of data, more than {} of {} bytes; raise it with --max-bytes",
                  declared, limit ? "the limit" : "this machine's memory", most));
}

}  // namespace homz::cli
