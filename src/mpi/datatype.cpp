#include "mpi/datatype.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <vector>

#include "mpi/calls.h"
#include "mpi/errors.h"
#include "mpi/optional.h"

namespace openimb {

namespace {

// Returns MPI_DATATYPE_NULL if the library lacks a 16-bit type that mpi.h has. In a portable build the
// library may be older than mpi.h.
[[maybe_unused]] MPI_Datatype null_if_unsupported(MPI_Datatype type) {
#ifdef OPENIMB_PORTABLE
  const ReturnErrorsScope scope;
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
      return null_if_unsupported(MPIX_C_FLOAT16);
#endif
#ifdef OPENIMB_BFLOAT16
    case DataType::bfloat16:
      return null_if_unsupported(MPIX_BFLOAT16);
#endif
    default:
      return MPI_DATATYPE_NULL;
  }
}

namespace {

// Uses the _c call only if an int does not suffice.
void make_contiguous(std::int64_t elements, MPI_Datatype base, MPI_Datatype* result) {
#ifdef OPENIMB_LARGE_COUNT
  if (elements > std::numeric_limits<int>::max()) {
    MPI_Type_contiguous_c(elements, base, result);
    return;
  }
#endif
  MPI_Type_contiguous(static_cast<int>(elements), base, result);
}

// Owns an intermediate type.
class OwnedType {
 public:
  OwnedType() = default;
  ~OwnedType() {
    if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
  }
  OwnedType(const OwnedType&) = delete;
  OwnedType& operator=(const OwnedType&) = delete;
  MPI_Datatype* target() { return &type_; }
  MPI_Datatype handle() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

void make_indexed(const Period& period, std::int64_t elements, MPI_Datatype base, MPI_Datatype* result) {
  std::vector<int> lengths, displacements;
  period.for_each_block(elements, [&](const Block& block, std::int64_t) {
    lengths.push_back(static_cast<int>(block.count));
    displacements.push_back(static_cast<int>(block.at));
  });
  MPI_Type_indexed(static_cast<int>(lengths.size()), lengths.data(), displacements.data(), base, result);
}

void make_struct(MPI_Datatype* result) {
  const int lengths[] = {3, 1, 1};
  const MPI_Aint displacements[] = {offsetof(ExampleStruct, position), offsetof(ExampleStruct, kind),
                                    offsetof(ExampleStruct, number)};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_CHAR, MPI_INT};
  MPI_Type_create_struct(3, lengths, displacements, types, result);
}

void make_strided(std::int64_t blocks, const Period& period, MPI_Datatype base, MPI_Datatype* result) {
#ifdef OPENIMB_LARGE_COUNT
  if (blocks > std::numeric_limits<int>::max()) {
    MPI_Type_vector_c(blocks, period.elements, period.extent, base, result);
    return;
  }
#endif
  MPI_Type_vector(static_cast<int>(blocks), static_cast<int>(period.elements),
                  static_cast<int>(period.extent), base, result);
}

// Creates the type of `periods` whole periods.
void make_periods(const Element& element, std::int64_t periods, MPI_Datatype base, MPI_Datatype* result) {
  const Period period = element.layout.period();
  if (element.layout.placement == Placement::vector) return make_strided(periods, period, base, result);
  OwnedType bare, one_period;
  if (element.layout.placement == Placement::indexed) {
    make_indexed(period, period.elements, base, bare.target());
  } else {
    make_struct(bare.target());
  }
  MPI_Type_create_resized(bare.handle(), 0, period.extent * element.size(), one_period.target());
  make_contiguous(periods, one_period.handle(), result);
}

// Creates the type of a message of `elements` base elements. The last period may be incomplete; the extent
// counts whole periods.
MPI_Datatype make_gapped(const Element& element, std::int64_t elements, MPI_Datatype base) {
  const Period period = element.layout.period();
  const std::int64_t periods = elements / period.elements, rest = elements % period.elements;
  const MPI_Aint extent = period.extent * element.size();
  OwnedType whole, last, both;
  if (periods > 0) make_periods(element, periods, base, whole.target());
  if (rest > 0) make_indexed(period, rest, base, last.target());
  if (periods > 0 && rest > 0) {
    const int lengths[] = {1, 1};
    const MPI_Aint displacements[] = {0, static_cast<MPI_Aint>(periods) * extent};
    const MPI_Datatype types[] = {whole.handle(), last.handle()};
    MPI_Type_create_struct(2, lengths, displacements, types, both.target());
  }
  const OwnedType& all = periods == 0 ? last : rest == 0 ? whole : both;
  MPI_Datatype result;
  MPI_Type_create_resized(all.handle(), 0, (periods + (rest > 0 ? 1 : 0)) * extent, &result);
  return result;
}

}  // namespace

// Uses the _c call only if an int does not suffice: a library may lack it.
std::int64_t packed_size(std::int64_t count, MPI_Datatype type, std::int64_t bytes, MPI_Comm comm) {
  constexpr std::int64_t max_int = std::numeric_limits<int>::max();
  if (bytes > max_int / 2) {
#ifdef OPENIMB_LARGE_COUNT
    if (call::has_large_counts()) {
      MPI_Count size = 0;
      MPI_Pack_size_c(count, type, comm, &size);
      return size;
    }
#endif
    return max_int;
  }
  int size = 0;
  MPI_Pack_size(static_cast<int>(count), type, comm, &size);
  return size;
}

ElementType::ElementType(const Element& element, std::int64_t vector_elements)
    : type_(base_type(element.type)) {
  const bool resized = element.extent() != element.size();
  const auto replace_type = [this](MPI_Datatype type) {
    if (owned_) MPI_Type_free(&type_);
    type_ = type;
    owned_ = true;
  };
  if (resized) {
    MPI_Datatype type;
    MPI_Type_create_resized(type_, 0, element.extent(), &type);
    replace_type(type);
  }
  if (element.layout.has_gaps() && vector_elements > 0) {
    replace_type(make_gapped(element, vector_elements, type_));
    covers_ = vector_elements;
  }
  if (element.is_vector() && vector_elements > 0) {
    MPI_Datatype type;
    make_contiguous(vector_elements, type_, &type);
    replace_type(type);
    covers_ = vector_elements;
  }
  if (owned_) MPI_Type_commit(&type_);
}

ElementType::~ElementType() {
  if (owned_) MPI_Type_free(&type_);
}

namespace {

// Integers wrap around: repeated reductions of large values overflow, which is undefined for signed integers.
template <class T>
T wrapping_sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));
  } else {
    return a + b;
  }
}

// All derived types here are equally spaced base elements, so their number and distance follow from size and
// extent.
template <class T>
void add_spaced(void* in, void* inout, int* length, MPI_Datatype* type) {
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

MPI_User_function* sum_function(DataType type) {
  switch (type) {
    case DataType::integer:
      return add_spaced<int>;
    case DataType::single_precision:
      return add_spaced<float>;
    case DataType::double_precision:
      return add_spaced<double>;
    default:
      return add_spaced<signed char>;
  }
}

}  // namespace

SumOperation::SumOperation(const Element& element) {
  if (element.contiguity != Contiguity::base) MPI_Op_create(sum_function(element.type), 1, &op_);
}

SumOperation::~SumOperation() {
  if (op_ != MPI_SUM) MPI_Op_free(&op_);
}

}  // namespace openimb
