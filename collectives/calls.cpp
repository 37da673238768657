#include "collectives/calls.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/fp_environment.hpp"

namespace homz {
namespace {

// What all ranks are told, or at least what this one knows.
Status tell(Wire& wire, std::uint32_t call, const Status& status) noexcept {
  const Status told = no_throw([&] { return wire.fail(call, status); });
  return told.code() == Code::out_of_memory ? status : told;
}

}  // namespace

Result<std::unique_ptr<Operation>> Calls::watch(Result<std::unique_ptr<Operation>> launched) {
  if (!launched.ok()) {
    static_cast<void>(tell(wire_, wire_.last_call(), launched.status()));
    return launched.status();
  }
  return std::unique_ptr<Operation>(new Watched(*this, std::move(*launched)));
}

void Calls::advance() {
  for (Watched* const each : all_) each->step();
  std::erase_if(all_, [](const Watched* each) { return each->operation_ == nullptr; });
}

bool Calls::any_before(std::uint32_t call) const {
  return std::ranges::any_of(all_,
                             [&](const Watched* each) { return each->operation_ && each->call_ < call; });
}

void Calls::drop(const Status& why) noexcept {
  for (Watched* const each : all_) {
    each->operation_.reset();
    each->outcome_ = why;
    each->calls_ = nullptr;
  }
  all_.clear();
}

Watched::Watched(Calls& calls, std::unique_ptr<Operation> operation)
    : calls_(&calls), call_(calls.wire_.last_call()) {
  calls.all_.push_back(this);
  operation_ = std::move(operation);  // none if there was no memory for it in the list
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
  if (operation_) calls_->advance();
  if (!operation_) return outcome_.ok() ? Result<bool>(true) : outcome_;
  calls_->wire_.transport().yield();
  return false;
}

void Watched::step() noexcept {
  const Result<bool> is_done = enter([&] { return operation_->advance(); });
  if (is_done.ok() && !*is_done) return;
  operation_.reset();
  if (!is_done.ok()) outcome_ = tell(calls_->wire_, call_, is_done.status());
}

}  // namespace homz
