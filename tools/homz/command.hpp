// The subcommands of homz, and what they have in common: exit codes and the way to report failure.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <utility>

#include "core/status.hpp"

namespace homz::cli {

enum Exit : int {
  kOk = 0,
  kDiffers = 1,  // the answer is no: a bound is violated, data differ, something is wrong here
  kUsage = 2,    // the command line has no meaning
  kFailed = 3,   // a file cannot be read or written, is damaged, or something ran out
};

constexpr Exit exit_of(Code code) {
  return code == Code::ok ? kOk : code == Code::invalid_argument ? kUsage : kFailed;
}

inline Status usage_error(std::string message) {
  return Status(Code::invalid_argument, std::move(message));
}

// What a subcommand does once the command line is understood; main prints the Status.
using Action = std::function<Result<Exit>()>;

// Prints "homz: message" as one line; returns `exit`.
int complain(const std::string& message, Exit exit);
// Runs the action, writes out what it printed, and tells its failure if it has one. Returns the exit status.
int conclude(const Action& action) noexcept;

// Each adds one subcommand, which sets `action` when it is chosen.
void add_compress(CLI::App& app, Action& action);
void add_decompress(CLI::App& app, Action& action);
void add_verify(CLI::App& app, Action& action);
void add_op(CLI::App& app, Action& action);
void add_info(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_codecs(CLI::App& app, Action& action);
void add_tune(CLI::App& app, Action& action);
void add_plan(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);

}  // namespace homz::cli
