#include "tools/homz/command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>

#include "tools/homz/text_output.hpp"

namespace homz::cli {
namespace {

int run_to_the_end(const Action& action) {
  const auto result = action();
  const Status printed = finish_output();
  if (!result.ok()) return complain(result.status().message(), exit_of(result.status().code()));
  return printed.ok() ? *result : complain(printed.message(), kFailed);
}

}  // namespace

int complain(const std::string& message, Exit exit) {
  std::string line = message;  // one line, whatever a library has put in
  std::replace(line.begin(), line.end(), '\n', ' ');
  fmt::print(stderr, "homz: {}\n", printable(line));
  return exit;
}

int conclude(const Action& action) noexcept {
  try {
    return run_to_the_end(action);
  } catch (const std::bad_alloc&) {
    std::fputs("homz: out of memory\n", stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "homz: %s\n", error.what());
  } catch (...) {
    std::fputs("homz: an unexpected failure\n", stderr);
  }
  return kFailed;
}

}  // namespace homz::cli
