// Rows of the option table: how is measured.
#include "cli/option_table.h"
#include "cli/values.h"

namespace openimb {

namespace {

DataType data_type(std::string_view word) {
  return choice(data_type_names, &DataTypeName::option, word).type;
}

void set_reduction_type(Draft& draft, std::string_view word) {
  if (same_name(word, "byte")) throw BadValue("MPI_SUM is not defined for bytes");
  draft.options.reduction.type = data_type(word);
}

void set_contiguity(Draft& draft, std::string_view word) {
  const Contiguity contiguity = choice(contiguity_names, &ContiguityName::option, word).contiguity;
  draft.options.data.contiguity = contiguity;
  draft.options.reduction.contiguity = contiguity;
}

void set_off_cache(Draft& draft, std::string_view word) {
  const Settings& settings = draft.options.settings;
  const std::size_t comma = word.find(',');
  const std::string_view size = word.substr(0, comma);
  OffCache cache{settings.cache_size, settings.cache_line};
  if (size != "-1") cache.cache_size = byte_count(size, mebibyte, 1, largest_cache);
  if (comma != std::string_view::npos) {
    cache.cache_line = static_cast<int>(byte_count(word.substr(comma + 1), 1, 1, largest_cache_line));
  }
  draft.options.off_cache = cache;
}

constexpr std::string_view type_words = "byte, char, int, float, double, float16 or bfloat16";

constexpr Option method_rows[] = {
    {.name = "off_cache",
     .syntax = "SIZE[,LINE]",
     .help = "step through buffers larger than the cache",
     .standard = "reuse one buffer",
     .example = "-off_cache 16,128",
     .details =
         "SIZE: of the last-level cache, in MB of 2^20 bytes or with k, m or g. LINE: of a cache line, in "
         "bytes. SIZE -1 or no LINE: the value of the machine, or of CACHE_SIZE and CACHE_LINE_SIZE (-set). "
         "Messages lie at least two cache lines apart.",
     .apply = set_off_cache},
    {.name = "mem",
     .syntax = "GB",
     .help = "memory limit for message buffers, per process",
     .standard = "1",
     .example = "-mem 0.5",
     .details = "In GB of 2^30 bytes or with k, m or g. A length that needs more becomes an out-of-mem row "
                "with the size needed, and the run continues.",
     .apply =
         [](Draft& draft, std::string_view word) {
           draft.options.settings.max_memory = byte_count(word, gibibyte, 1, largest_length);
         }},
    {.name = "root_shift",
     .syntax = "on|off",
     .help = "change the root with each repetition",
     .standard = "on",
     .example = "-root_shift off",
     .apply = [](Draft& draft, std::string_view word) { draft.options.root_shift = on_or_off(word); }},
    {.name = "sync",
     .syntax = "on|off",
     .help = "untimed barrier between repetitions",
     .standard = "off",
     .example = "-sync on",
     .details = "on: each repetition is timed by itself. off: all repetitions are timed together.",
     .apply = [](Draft& draft, std::string_view word) { draft.options.synchronize_each = on_or_off(word); }},
    {.name = "imb_barrier",
     .syntax = "on|off",
     .help = "synchronize without MPI_Barrier",
     .standard = "off",
     .example = "-imb_barrier on",
     .details = "on: a barrier of point-to-point messages, the same with every MPI. The benchmark Barrier "
                "always measures MPI_Barrier.",
     .apply = [](Draft& draft, std::string_view word) { draft.options.own_barrier = on_or_off(word); }},
    {.name = "data_type",
     .syntax = "TYPE",
     .help = type_words,
     .standard = "byte",
     .example = "-data_type double",
     .details = "Data type of messages. float16 and bfloat16 need an MPI that has them.",
     .apply = [](Draft& draft, std::string_view word) { draft.options.data.type = data_type(word); }},
    {.name = "red_data_type",
     .syntax = "TYPE",
     .help = "the same for reductions, but not byte",
     .standard = "float",
     .example = "-red_data_type double",
     .details = "The operation is MPI_SUM, which is not defined for bytes.",
     .apply = set_reduction_type},
    {.name = "contig_type",
     .syntax = "TYPE",
     .help = "base, base_vec, resize or resize_vec",
     .standard = "base",
     .example = "-contig_type resize",
     .details = "Layout of elements in memory, for messages and reductions. base: contiguous. resize: each "
                "element has twice its extent. base_vec, resize_vec: the same as a vector of elements.",
     .apply = set_contiguity},
    {.name = "aggregate_mode",
     .syntax = "MODE",
     .help = "aggregate, non_aggregate, or multi for both",
     .standard = "multi",
     .example = "-aggregate_mode non_aggregate",
     .details = "For benchmarks with both modes. non_aggregate: each transfer is completed before the next. "
                "aggregate: all transfers of a sample, to disjoint memory, are completed together.",
     .apply =
         [](Draft& draft, std::string_view word) {
           constexpr AggregateMode modes[] = {AggregateMode::aggregate, AggregateMode::non_aggregate,
                                              AggregateMode::both};
           draft.options.aggregate_mode =
               choice(modes, [](AggregateMode mode) { return name_of(mode); }, word);
         }},
    {.name = "window_size",
     .syntax = "N",
     .help = "messages per repetition of Uniband and Biband",
     .standard = "256; IMB-MT: 64",
     .example = "-window_size 64",
     .apply =
         [](Draft& draft, std::string_view word) {
           draft.options.in_flight = static_cast<int>(whole_number(word, 1, 1000000));
         }},
};

}  // namespace

std::span<const Option> method_options() { return method_rows; }

}  // namespace openimb
