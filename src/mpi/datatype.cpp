#include "mpi/datatype.h"

#include <cstddef>
#include <limits>
#include <type_traits>

#include "mpi/calls.h"
#include "mpi/errors.h"

namespace openimb {

namespace {

// A type of 16 bits that mpi.h names; the library of an interface may be older.
[[maybe_unused]] MPI_Datatype if_known(MPI_Datatype type) {
#ifdef OPENIMB_PORTABLE
  const ErrorsReturned on_world(MPI_COMM_WORLD), on_self(MPI_COMM_SELF);  // whichever hears of it
  int bytes = 0;
  if (MPI_Type_size(type, &bytes) != MPI_SUCCESS || bytes != 2) return MPI_DATATYPE_NULL;
#endif
  return type;
}

}  // namespace

MPI_Datatype base_type(DataType type) {
  switch (type) {
    case DataType::byte:
      return MPI_BYTE;
    case DataType::character:
      return MPI_SIGNED_CHAR;  // MPI_CHAR is text: no reduction takes it (MPI 3.1, section 5.9.2)
    case DataType::integer:
      return MPI_INT;
    case DataType::single_precision:
      return MPI_FLOAT;
    case DataType::double_precision:
      return MPI_DOUBLE;
#ifdef OPENIMB_FLOAT16
    case DataType::float16:
      return if_known(MPIX_C_FLOAT16);
#endif
#ifdef OPENIMB_BFLOAT16
    case DataType::bfloat16:
      return if_known(MPIX_BFLOAT16);
#endif
    default:
      return MPI_DATATYPE_NULL;
  }
}

namespace {

// The _c call only where an int does not suffice.
void make_vector(std::int64_t elements, MPI_Datatype base, MPI_Datatype* made) {
#ifdef OPENIMB_LARGE_COUNT
  if (elements > std::numeric_limits<int>::max()) {
    return call::make_vector_type<call::LargeCount>(elements, base, made);
  }
#endif
  call::make_vector_type<int>(static_cast<int>(elements), base, made);
}

}  // namespace

ElementType::ElementType(const Element& element, std::int64_t vector_elements)
    : type_(base_type(element.type)) {
  const bool resized = element.extent() != element.size();
  const auto own = [this](MPI_Datatype made) {
    if (owned_) MPI_Type_free(&type_);
    type_ = made;
    owned_ = true;
  };
  if (resized) {
    MPI_Datatype made;
    MPI_Type_create_resized(type_, 0, element.extent(), &made);
    own(made);
  }
  if (element.is_vector() && vector_elements > 0) {
    MPI_Datatype made;
    make_vector(vector_elements, type_, &made);
    own(made);
    covers_ = vector_elements;
  }
  if (owned_) MPI_Type_commit(&type_);
}

ElementType::~ElementType() {
  if (owned_) MPI_Type_free(&type_);
}

namespace {

// Integers wrap around: repeated reductions of large values overflow, which is undefined for signed ones.
template <class T>
T wrapping_sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));
  } else {
    return a + b;
  }
}

// All derived types here are runs of equally spaced base elements, so size and extent say how many and how
// far apart.
template <class T>
void sum_spaced(void* in, void* inout, int* length, MPI_Datatype* type) {
  MPI_Count size = 0;  // not int: a vector may be a whole message of more than 2 GiB
  MPI_Aint lower = 0, extent = 0;
  MPI_Type_size_x(*type, &size);
  MPI_Type_get_extent(*type, &lower, &extent);
  const std::ptrdiff_t in_one = static_cast<std::ptrdiff_t>(size / static_cast<MPI_Count>(sizeof(T)));
  const std::ptrdiff_t spacing = in_one > 0 ? extent / static_cast<MPI_Aint>(sizeof(T)) / in_one : 1;
  const T* const from = static_cast<const T*>(in);
  T* const to = static_cast<T*>(inout);
  for (std::ptrdiff_t i = 0; i < *length * in_one; ++i) {
    to[i * spacing] = wrapping_sum(to[i * spacing], from[i * spacing]);
  }
}

MPI_User_function* sum_of(DataType type) {
  switch (type) {
    case DataType::integer:
      return sum_spaced<int>;
    case DataType::single_precision:
      return sum_spaced<float>;
    case DataType::double_precision:
      return sum_spaced<double>;
    default:
      return sum_spaced<signed char>;
  }
}

}  // namespace

SumOperation::SumOperation(const Element& element) {
  if (element.contiguity != Contiguity::base) MPI_Op_create(sum_of(element.type), 1, &op_);
}

SumOperation::~SumOperation() {
  if (op_ != MPI_SUM) MPI_Op_free(&op_);
}

}  // namespace openimb
