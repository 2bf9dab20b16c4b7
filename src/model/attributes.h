// Attributes that compilers name differently. They do not change what a program computes.
#pragma once

#if defined(_MSC_VER) && !defined(__clang__)
#define OPENIMB_NOINLINE [[msvc::noinline]]
#define OPENIMB_FLATTEN [[msvc::flatten]]
#define OPENIMB_PRINTF(text, first)
#define OPENIMB_WEAK
#else
#define OPENIMB_NOINLINE [[gnu::noinline]]
/// Inlines all calls inside the function, as far as possible.
#define OPENIMB_FLATTEN [[gnu::flatten]]
/// Argument number `text` is a printf format. The compiler checks the arguments from number `first` on
/// against it.
#define OPENIMB_PRINTF(text, first) [[gnu::format(printf, text, first)]]
/// Marks a function that the loader may not find; its address is then null (ELF).
#define OPENIMB_WEAK [[gnu::weak]]
#endif
