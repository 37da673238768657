#include "tools/homz/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tools/homz/command.hpp"
#include "tools/homz/guard.hpp"
#include "tools/homz/text_output.hpp"

namespace homz::cli {
namespace {

constexpr std::array kEndingSignals = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                       SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU};  // batch systems send some

// The one temporary file that a signal must remove. The handler may run at any time and on any thread, so it
// reads only this text, which is complete while the flag is set.
char doomed_path[PATH_MAX];
std::atomic<bool> doomed{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void remove_and_end(int signal) {
  end_guarded_child();
  if (doomed.load()) ::unlink(doomed_path);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

class BlockedSignals {  // while it lives, on this thread
 public:
  BlockedSignals() noexcept {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : kEndingSignals) sigaddset(&set, signal);
    pthread_sigmask(SIG_BLOCK, &set, &saved_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &saved_, nullptr); }

 private:
  sigset_t saved_;
};

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

Status refuse(const std::string& path, const char* why) {
  return usage_error(fmt::format("{}: {}", printable(path), why));
}

// The path to which data really goes, and the refusals.
Result<std::string> resolve_target(const std::string& target, const InputFile* input, bool replace) {
  struct stat link {
  }, there{};
  if (::lstat(target.c_str(), &link) != 0) {
    if (errno == ENOENT && !target.ends_with('/')) return target;
    return Status(Code::io, fmt::format("{}: {}", printable(target), std::strerror(errno)));
  }
  if (::stat(target.c_str(), &there) != 0)
    return refuse(target, "the output is a symbolic link to nowhere; remove it or name another output");
  if (S_ISDIR(there.st_mode)) return refuse(target, "the output is a directory; name a file in it");
  if (!S_ISREG(there.st_mode))
    return refuse(target, "the output exists and is no regular file; name another one");
  if (input != nullptr && there.st_dev == input->attributes().st_dev &&
      there.st_ino == input->attributes().st_ino)
    return refuse(target, "output and input are the same file; name another output");
  if (!replace) return refuse(target, "the output exists; use --force to replace it");
  if (!S_ISLNK(link.st_mode)) return target;
  char* const real = ::realpath(target.c_str(), nullptr);
  if (real == nullptr)
    return Status(Code::io, fmt::format("{}: {}", printable(target), std::strerror(errno)));
  std::string resolved(real);
  std::free(real);
  return resolved;
}

}  // namespace

void install_signal_handlers() {
  struct sigaction action {};
  sigemptyset(&action.sa_mask);
  for (const int signal : kEndingSignals) sigaddset(&action.sa_mask, signal);
  action.sa_handler = remove_and_end;
  for (const int signal : kEndingSignals) {
    struct sigaction old {};
    // What the parent told the program to ignore (nohup) stays ignored.
    if (::sigaction(signal, nullptr, &old) == 0 && old.sa_handler != SIG_IGN)
      ::sigaction(signal, &action, nullptr);
  }
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
}

Result<OutputFile> OutputFile::create(const std::string& target, const InputFile& input, bool replace) {
  HOMZ_TRY(require_name("output", target));
  HOMZ_ASSIGN(std::string path, resolve_target(target, &input, replace));
  OutputFile file(std::move(path), replace);
  file.input_mode_ = input.attributes().st_mode & 0777;
  file.input_group_ = input.attributes().st_gid;
  HOMZ_TRY(file.make_temporary());
  return Result<OutputFile>(std::move(file));
}

Result<OutputFile> OutputFile::create(const std::string& target, bool replace) {
  HOMZ_TRY(require_name("output", target));
  HOMZ_ASSIGN(std::string path, resolve_target(target, nullptr, replace));
  OutputFile file(std::move(path), replace);
  HOMZ_TRY(file.make_temporary());
  struct stat own {};
  if (::fstat(file.descriptor_, &own) != 0) return file.failure("cannot inspect it", errno);
  file.input_mode_ = 0666;
  file.input_group_ = own.st_gid;
  return Result<OutputFile>(std::move(file));
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      replace_(other.replace_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      input_mode_(other.input_mode_),
      input_group_(other.input_group_) {}

OutputFile::~OutputFile() {
  discard();
}

Status OutputFile::failure(const char* what, int error) const {
  return Status(Code::io, fmt::format("{}: {}: {}", printable(target_), what, std::strerror(error)));
}

Status OutputFile::make_temporary() {
  std::string pattern = directory_of(target_) + "/.homz-XXXXXX";
  if (pattern.size() >= sizeof(doomed_path)) return failure("cannot create it", ENAMETOOLONG);
  const BlockedSignals blocked;
  descriptor_ = ::mkostemp(pattern.data(), O_CLOEXEC);  // readable and writable for its owner alone
  if (descriptor_ < 0) return failure("cannot create a file beside it", errno);
  temporary_ = pattern;
  std::memcpy(doomed_path, pattern.c_str(), pattern.size() + 1);
  doomed = true;
  return Status();
}

void OutputFile::discard() noexcept {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (temporary_.empty()) return;
  ::unlink(temporary_.c_str());
  doomed = false;
  temporary_.clear();
}

Status OutputFile::write(ConstBytes bytes, Progress& progress) {
  constexpr std::size_t kPiece = 8 << 20;
  progress.begin("writing", bytes.size());
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::write(descriptor_, bytes.data() + done, std::min(kPiece, bytes.size() - done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failure("cannot write it", errno);
    progress.update(done += static_cast<std::size_t>(n));
  }
  return Status();
}

// Those of the input, less what the user's umask takes. A group that could not be kept gets what all others
// get.
Status OutputFile::set_permissions() const {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  mode_t mode = input_mode_ & ~mask & 0666;
  struct stat now {};
  if (::fstat(descriptor_, &now) != 0) return failure("cannot inspect it", errno);
  if (now.st_gid != input_group_ && ::fchown(descriptor_, static_cast<uid_t>(-1), input_group_) != 0)
    mode &= ~070u | ((mode & 07u) << 3);
  if (::fchmod(descriptor_, mode) != 0) return failure("cannot set its permissions", errno);
  return Status();
}

Status OutputFile::take_name() const {
  if (replace_) {
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) return failure("cannot give it its name", errno);
    return Status();
  }
  if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE) == 0)
    return Status();
  if (errno == EEXIST) return refuse(target_, "the output appeared meanwhile; use --force to replace it");
  // A file system without RENAME_NOREPLACE: a hard link does not replace either; the temporary name is
  // removed later.
  if (::link(temporary_.c_str(), target_.c_str()) == 0) return Status();
  if (errno == EEXIST) return refuse(target_, "the output appeared meanwhile; use --force to replace it");
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) return failure("cannot give it its name", errno);
  return Status();
}

Status OutputFile::commit() {
  HOMZ_TRY(set_permissions());
  if (::fsync(descriptor_) != 0) return failure("cannot write it", errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) return failure("cannot write it", errno);
  HOMZ_TRY(take_name());
  const std::string directory = directory_of(target_);
  if (const int at = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); at >= 0) {
    ::fsync(at);  // so that the name survives a power cut, too; not every file system can
    ::close(at);
  }
  discard();
  return Status();
}

}  // namespace homz::cli
