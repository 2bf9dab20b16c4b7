// The reason in an MPI's text about an error.
#include <catch2/catch.hpp>

#include "mpi/error_reason.h"

using namespace openimb;

namespace {

constexpr std::size_t room = 512;

}  // namespace

TEST_CASE("the reason in an error stack is its last entry") {
  CHECK(error_reason("Message truncated, error stack:\n"
                     "internal_Recv(134).......: MPI_Recv(buf=0x7f, count=4, MPI_CHAR, 0, 1) failed\n"
                     "MPIDIG_recv_type_init(74): 4 bytes received but buffer size is 64",
                     room) == "4 bytes received but buffer size is 64");
  CHECK(error_reason("Invalid root, error stack:\ninternal_Bcast(61).: Invalid root (value given was 99) \n",
                     room) == "Invalid root (value given was 99)");
}

TEST_CASE("without a stack the reason is the text") {
  CHECK(error_reason("MPI_ERR_TRUNCATE: message truncated", room) == "MPI_ERR_TRUNCATE: message truncated");
  CHECK(error_reason("ADIOI_GEN_WRITECONTIG(80)....: No space left on device", room) ==
        "No space left on device");
  CHECK(error_reason("", room) == "error without text");
  CHECK(error_reason(" \n", room) == "error without text");
}

TEST_CASE("if the last entry is cut off or empty, the reason is the heading of the stack") {
  const std::string whole =
      "Message truncated, error stack:\n"
      "internal_Waitall(127)....: MPI_Waitall(count=64, array=0x5581, statuses=0x1) failed\n"
      "MPIDIG_recv_type_init(74): 4 bytes received but buffer size is 64";
  const std::size_t cut = whole.find("DIG_recv");  // leaves "MPI"
  // The terminating null takes one character; MPICH 5 cuts one before it.
  for (const std::size_t unused : {1, 2}) {
    CHECK(error_reason(whole.substr(0, cut), cut + unused) == "Message truncated");
  }
  CHECK(error_reason("Message truncated, error stack:\ninternal_Waitall(127): failed\nMPIR_Wait(745)...: ",
                     room) == "Message truncated");
}
