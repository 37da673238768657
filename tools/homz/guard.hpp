// Work with the HDF5 library in a process of its own, because it can crash where it ought to fail: when the
// disk is full in the middle of H5Ocopy (1.10.8), or on damaged files.
#pragma once

#include <functional>
#include <string>

#include "tools/homz/command.hpp"

namespace homz::cli {

// Runs `work` and prints what it prints, in a child process that ends with it. Its failure has been told when
// this returns; a crash of it becomes a Status. Objects of the caller keep their state: an OutputFile that
// the work committed is committed, one that it did not is removed by the caller's destructor.
Result<Exit> run_guarded(const std::string& path, const Action& work);

// For signal handlers: ends the child, if there is one.
void end_guarded_child() noexcept;

}  // namespace homz::cli
