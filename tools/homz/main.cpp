// homz: compresses files of floating-point data within error bounds, and proves what that did to them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>

#include "tools/hdf5/library.hpp"
#include "tools/homz/command.hpp"
#include "tools/homz/output_file.hpp"
#include "tools/homz/text_output.hpp"

namespace homz::cli {
namespace {

constexpr const char* kFooter = R"(homz SUBCOMMAND --help tells more, with examples.
Exit status: 0 fine, 1 a bound is violated, data differ or something is wrong, 2 usage, 3 unreadable, damaged, I/O.)";

void assemble(CLI::App& app, Action& action) {
  app.name("homz");
  app.set_version_flag("--version", std::string("homz ") + HOMZ_VERSION, "print the version");
  app.set_help_flag("-h,--help", "print this help");
  app.require_subcommand(1);
  app.footer(kFooter);
  add_compress(app, action);
  add_decompress(app, action);
  add_verify(app, action);
  add_op(app, action);
  add_info(app, action);
  add_bench(app, action);
  add_codecs(app, action);
  add_tune(app, action);
  add_plan(app, action);
  add_doctor(app, action);
}

int usage_failure(const CLI::App& app, const CLI::ParseError& error, const char* first) {
  const auto chosen = app.get_subcommands();
  if (chosen.empty() && first != nullptr && first[0] == '-')
    return complain(fmt::format("unknown option '{}' in front of a subcommand; see homz --help", first),
                    kUsage);
  if (chosen.empty() && first == nullptr)
    return complain("a subcommand is required; see homz --help", kUsage);
  if (chosen.empty())
    return complain(fmt::format("unknown subcommand '{}'; see homz --help", printable(first)), kUsage);
  return complain(fmt::format("{}; see homz {} --help", printable(error.what()), chosen[0]->get_name()),
                  kUsage);
}

int run(int argc, char** argv) {
  CLI::App app("Error-bounded compression for floating-point science data.");
  Action action;
  assemble(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    app.exit(asked);
    std::fflush(stdout);
    return kOk;
  } catch (const CLI::ParseError& error) {
    return usage_failure(app, error, argc > 1 ? argv[1] : nullptr);
  }
  return conclude(action);
}

}  // namespace
}  // namespace homz::cli

int main(int argc, char** argv) {
  using namespace homz::cli;
  install_signal_handlers();
  homz::hdf5::disable_cleanup_at_exit();
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "homz: %s\n", error.what());
  } catch (...) {
    std::fputs("homz: an unexpected failure\n", stderr);
  }
  return kFailed;
}
