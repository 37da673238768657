#include "collectives/calls.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/fp_environment.hpp"
#include "core/gpu/gpu.hpp"

namespace homz {

Result<std::unique_ptr<Operation>> Calls::watch(Result<std::unique_ptr<Operation>> launched) {
  using Launched = Result<std::unique_ptr<Operation>>;
  Launched watched = no_throw([&]() -> Launched {
    if (!launched.ok()) return launched.status();
    all_.reserve(all_.size() + 1);
    return std::unique_ptr<Operation>(new Watched(*this, std::move(*launched)));
  });
  if (!watched.ok())
    static_cast<void>(no_throw([&] { return wire_.fail(wire_.last_call(), watched.status()); }));
  return watched;
}

void Calls::advance() {
  const gpu::OnGpu on(gpu_);
  for (Watched* const each : all_) each->step();
  std::erase_if(all_, [](const Watched* each) { return each->operation_ == nullptr; });
}

Calls::~Calls() {
  if (!all_.empty() && wire_.transport().poll().ok())
    static_cast<void>(no_throw([&] {
      return wire_.fail(
          all_.front()->call_,
          Status(Code::invalid_argument,
                 fmt::format("rank {} ends its communicator before a call is done", wire_.rank())));
    }));
  drop("the communicator of the call is no more");
}

bool Calls::any_before(std::uint32_t call) const {
  return std::ranges::any_of(all_,
                             [&](const Watched* each) { return each->operation_ && each->call_ < call; });
}

void Calls::drop(const char* why) noexcept {
  for (Watched* const each : all_) {
    each->operation_.reset();
    each->outcome_ = no_throw([&] { return Status(Code::invalid_argument, why); });
    each->calls_ = nullptr;
  }
  all_.clear();
}

Watched::Watched(Calls& calls, std::unique_ptr<Operation> operation)
    : calls_(&calls), call_(calls.wire_.last_call()), operation_(std::move(operation)) {
  calls.all_.push_back(this);
}

Watched::~Watched() {
  if (!operation_) return;
  std::erase(calls_->all_, this);
  static_cast<void>(no_throw([&] {
    return calls_->wire_.fail(
        call_, Status(Code::invalid_argument,
                      fmt::format("rank {} gives up a call before it is done", calls_->wire_.rank())));
  }));
}

Result<bool> Watched::advance() {
  return no_throw([&]() -> Result<bool> {
    if (operation_) calls_->advance();
    if (!operation_) return outcome_.ok() ? Result<bool>(true) : outcome_;
    calls_->wire_.transport().yield();
    return false;
  });
}

void Watched::step() noexcept {
  Result<bool> is_done = enter([&] { return operation_->advance(); });
  if (is_done.ok() && !*is_done) return;
  operation_.reset();
  if (!is_done.ok()) outcome_ = no_throw([&] { return calls_->wire_.fail(call_, is_done.status()); });
}

}  // namespace homz
