#include "tools/homz/guard.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tools/homz/text_output.hpp"

namespace homz::cli {
namespace {

std::atomic<pid_t> guarded_child{0};
static_assert(std::atomic<pid_t>::is_always_lock_free);

[[noreturn]] void be_the_child(pid_t parent, const Action& work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);           // no work goes on after the parent
  if (::getppid() != parent) ::_exit(kFailed);  // which may have ended before that was said
  guarded_child = 0;
  const int exit = conclude(work);
  std::fflush(stderr);
  ::_exit(exit);
}

Status crash(const std::string& path, int signal) {
  if (signal == SIGKILL)
    return Status(Code::io, fmt::format("{}: the work was killed (out of memory?)", printable(path)));
  return Status(Code::io,
                fmt::format("{}: the HDF5 library crashed (signal {}); a full disk, a limit on file "
                            "sizes or a damaged file leads to that",
                            printable(path), signal));
}

}  // namespace

void end_guarded_child() noexcept {
  if (const pid_t child = guarded_child.load(); child > 0) ::kill(child, SIGKILL);
}

Result<Exit> run_guarded(const std::string& path, const Action& work) {
  std::fflush(nullptr);  // or the child would print it again
  const pid_t parent = ::getpid(), child = ::fork();
  if (child < 0)
    return Status(Code::io,
                  fmt::format("{}: cannot start a process: {}", printable(path), std::strerror(errno)));
  if (child == 0) be_the_child(parent, work);
  guarded_child = child;
  int state = 0;
  while (::waitpid(child, &state, 0) < 0 && errno == EINTR) {
  }
  guarded_child = 0;
  if (WIFEXITED(state)) return static_cast<Exit>(WEXITSTATUS(state));
  return crash(path, WTERMSIG(state));
}

}  // namespace homz::cli
