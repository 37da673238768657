// Communicators of MPI, and its errors.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "collectives/mpi.hpp"

namespace homz::mpi {

inline Status failed(std::string_view what, int error) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(error, text, &length) != MPI_SUCCESS) length = 0;
  return Status(Code::io, fmt::format("{}: MPI error {}: {}", what, error,
                                      std::string(text, static_cast<std::size_t>(length))));
}

inline Status checked(std::string_view what, int error) {
  return error == MPI_SUCCESS ? Status() : failed(what, error);
}

// After MPI_Finalize nothing of MPI may be called.
inline bool is_over() {
  int is_finalized = 0;
  MPI_Finalized(&is_finalized);
  return is_finalized != 0;
}

// Its errors come back. It is freed in the end.
class Comm {
 public:
  Comm() = default;
  // Takes it over.
  explicit Comm(MPI_Comm comm) : comm_(comm) { MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN); }
  ~Comm() {
    if (*this && !is_over()) MPI_Comm_free(&comm_);
  }
  Comm(Comm&& other) noexcept : comm_(other.release()) {}
  Comm& operator=(Comm&& other) noexcept {
    std::swap(comm_, other.comm_);
    return *this;
  }

  // Collective.
  static Result<Comm> duplicate(MPI_Comm of) {
    MPI_Comm made = MPI_COMM_NULL;
    HOMZ_TRY(checked("MPI_Comm_dup", MPI_Comm_dup(of, &made)));
    return Comm(made);
  }

  explicit operator bool() const noexcept { return comm_ != MPI_COMM_NULL; }
  MPI_Comm get() const noexcept { return comm_; }
  MPI_Comm release() noexcept { return std::exchange(comm_, MPI_COMM_NULL); }  // it is not freed

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace homz::mpi
