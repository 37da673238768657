// Status and Result: how every function of homz reports failure. No exception crosses the library's boundary.
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <variant>

namespace homz {

enum class Code : std::uint8_t {
  ok,
  invalid_argument,  // the caller asked for something that has no meaning: the message names it and the
                     // remedy
  unsupported,       // meaningful, but not available here (device, type, version)
  capacity,          // a buffer of the caller is too small
  corrupt_stream,    // the bytes given are no stream, or a damaged one
  out_of_memory,
  io,
  internal,  // a defect of homz itself
};

const char* to_string(Code code) noexcept;

// Success, or a code and a message that names the thing and the remedy. Success costs no allocation.
class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  Status(Code code, std::string message) noexcept : code_(code), message_(std::move(message)) {}

  bool ok() const noexcept { return code_ == Code::ok; }
  Code code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }

  // The same failure, told with what was being worked on: "dataset '/T': not enough memory".
  Status within(const std::string& context) const {
    return ok() ? *this : Status(code_, context + ": " + message_);
  }

 private:
  Code code_ = Code::ok;
  std::string message_;
};

// A value, or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  // An ok status is no failure and no value: a defect of the caller, told as such.
  Result(Status failure)
      : state_(failure.ok() ? Status(Code::internal, "success without a value") : std::move(failure)) {}

  bool ok() const noexcept { return state_.index() == 0; }
  Status status() const { return ok() ? Status() : std::get<1>(state_); }
  // Precondition of the four below: ok().
  T& operator*() noexcept { return *std::get_if<0>(&state_); }
  const T& operator*() const noexcept { return *std::get_if<0>(&state_); }
  T* operator->() noexcept { return std::get_if<0>(&state_); }
  const T* operator->() const noexcept { return std::get_if<0>(&state_); }

 private:
  std::variant<T, Status> state_;
};

// What the library's entry points run in: f() returns a Status or a Result, and an exception from below
// (nearly always a failed allocation) becomes one. The texts are short enough not to allocate.
template <class F>
auto no_throw(F&& f) noexcept -> decltype(f()) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return Status(Code::out_of_memory, "out of memory");
  } catch (...) {
    return Status(Code::internal, "exception");
  }
}

}  // namespace homz

// Returns from the enclosing function with the Status of `expression` unless that is ok.
#define HOMZ_TRY(expression)                                                    \
  do {                                                                          \
    if (auto homz_status = (expression); !homz_status.ok()) return homz_status; \
  } while (false)

#define HOMZ_CONCAT_INNER(a, b) a##b
#define HOMZ_CONCAT(a, b) HOMZ_CONCAT_INNER(a, b)

// HOMZ_ASSIGN(auto x, f()): declares x from the Result of f(), or returns its Status.
#define HOMZ_ASSIGN_INNER(result, target, expression) \
  auto result = (expression);                         \
  if (!result.ok()) return result.status();           \
  target = std::move(*result)
#define HOMZ_ASSIGN(target, expression) \
  HOMZ_ASSIGN_INNER(HOMZ_CONCAT(homz_result_, __LINE__), target, expression)
