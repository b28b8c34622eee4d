/*===- mamba-c/Runtime.h - Runs the functions of a bundle ---------*- C -*-===*\
|*                                                                            *|
|* Licensed under the Apache License v2.0 with LLVM Exceptions.               *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* A bundle is a folder that mamba-compile --emit=bundle wrote: PTX and a     *|
|* manifest (docs/abi.md). This library checks arrays against the manifest    *|
|* and launches the kernels. It opens the CUDA driver (libcuda.so.1) at the   *|
|* first call that needs it; everything but mamba_function_prepare and        *|
|* mamba_call_launch works without a GPU.                                     *|
|*                                                                            *|
|* A bundle for the target cpu has a shared library in place of PTX. Its      *|
|* arrays are in host memory, aligned as their elements are; there is no      *|
|* workspace, streams are ignored, and mamba_call_launch returns when the     *|
|* results are there.                                                         *|
|*                                                                            *|
|* The library allocates no device memory except for the code of the kernels  *|
|* and some zeros, does not synchronize, and queues nothing but kernels, so   *|
|* that a CUDA graph can capture a launch.                                    *|
|*                                                                            *|
|* Threads: a bundle and its functions may be used by several threads at      *|
|* once, on several devices. A mamba_call belongs to one thread at a time.    *|
|*                                                                            *|
|* Strings and infos that a function returns belong to the bundle, are        *|
|* constant and live as long as it.                                           *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef MAMBA_C_RUNTIME_H
#define MAMBA_C_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define MAMBA_RUNTIME_EXPORT
#else
#define MAMBA_RUNTIME_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*===-- Errors ------------------------------------------------------------===*/

typedef enum {
  MAMBA_STATUS_OK = 0,
  /* The library is used wrongly, e.g. a null pointer where none may be. */
  MAMBA_STATUS_MISUSE = 1,
  /* The folder holds no bundle that this library can read. */
  MAMBA_STATUS_BUNDLE = 2,
  /* Arrays or workspace do not fit the function. */
  MAMBA_STATUS_ARGUMENT = 3,
  /* There is no driver, no context, no device of the bundle's target, or a
     driver call failed. After a failed launch the results are undefined. */
  MAMBA_STATUS_DRIVER = 4,
  /* Host memory is exhausted. */
  MAMBA_STATUS_MEMORY = 5
} mamba_status;

/* What was wrong in this thread's last call that did not return
   MAMBA_STATUS_OK, one line for each mistake; "" if there was none. Lives until
   the thread's next failure. */
MAMBA_RUNTIME_EXPORT const char *mamba_last_error(void);

/*===-- Bundles -----------------------------------------------------------===*/

typedef struct mamba_bundle mamba_bundle;
typedef struct mamba_function mamba_function;

/* Reads a bundle's manifest and PTX, or opens its shared library; the files are
   not needed afterwards. On failure *bundle is null. */
MAMBA_RUNTIME_EXPORT mamba_status mamba_bundle_load(const char *folder,
                                                    mamba_bundle **bundle);

/* Unloads the kernels and frees the bundle. Null is ignored. Before this: the
   bundle's calls are destroyed, its launches are complete, CUDA graphs that
   captured them are gone, and the contexts they ran in still exist. */
MAMBA_RUNTIME_EXPORT void mamba_bundle_destroy(mamba_bundle *bundle);

/* What the bundle is for, e.g. "sm_90a" or "cpu". */
MAMBA_RUNTIME_EXPORT const char *
mamba_bundle_target(const mamba_bundle *bundle);

MAMBA_RUNTIME_EXPORT size_t
mamba_bundle_num_functions(const mamba_bundle *bundle);

/* The function at `index`, or null if there are not so many. */
MAMBA_RUNTIME_EXPORT const mamba_function *
mamba_bundle_get_function(const mamba_bundle *bundle, size_t index);

/* The function called `name`; with a null name, the only function. */
MAMBA_RUNTIME_EXPORT mamba_status
mamba_bundle_find_function(const mamba_bundle *bundle, const char *name,
                           const mamba_function **function);

/*===-- Functions ---------------------------------------------------------===*/

typedef enum {
  MAMBA_ROLE_INPUT = 0,  /* read only */
  MAMBA_ROLE_OUTPUT = 1, /* written in full */
  MAMBA_ROLE_INOUT = 2   /* updated in place */
} mamba_role;

/* An array: row-major, and dense unless it has strides. */
typedef struct {
  const char *name;
  const char *dtype; /* bf16, f16, f32, f64, i1, i8 to i64, u8 to u64 */
  mamba_role role;
  /* The name of the result that an output or inout array holds afterwards;
     null for inputs. */
  const char *result;
  size_t rank;
  /* For each axis the size as text: an integer ("64"), the name of a size
     ("batch"), or an expression of such ("ceildiv(length, 256)"). Axes of all
     arguments that have one text have one size. */
  const char *const *shape;
  size_t element_bytes;
  /* For each axis its stride in elements as text: an integer, or a name where
     the caller chooses. Null if the array is dense. */
  const char *const *strides;
  /* What the device address is a multiple of, in bytes. */
  size_t alignment;
} mamba_argument_info;

MAMBA_RUNTIME_EXPORT const char *
mamba_function_name(const mamba_function *function);

/* JSON text: an array with an object for each mamba operation that the function
   was compiled from, "op" and its options. "[]" if the manifest says nothing.
 */
MAMBA_RUNTIME_EXPORT const char *
mamba_function_operations(const mamba_function *function);

/* Conditions on the sizes that a call must meet, e.g.
   "mod(heads, groups) == 0"; null at the end of the list. */
MAMBA_RUNTIME_EXPORT const char *
mamba_function_get_constraint(const mamba_function *function, size_t index);

MAMBA_RUNTIME_EXPORT size_t
mamba_function_num_arguments(const mamba_function *function);

/* The argument at `index` in the manifest's order: inputs and updated arrays,
   then outputs. Null if there are not so many. */
MAMBA_RUNTIME_EXPORT const mamba_argument_info *
mamba_function_get_argument(const mamba_function *function, size_t index);

/* Loads the function's kernels into the context of `stream` (null: the current
   context), which takes up to seconds. The first launch in a context does the
   same; call this before it if that launch is captured or must be fast. */
struct CUstream_st;
MAMBA_RUNTIME_EXPORT mamba_status mamba_function_prepare(
    const mamba_function *function, struct CUstream_st *stream);

/*===-- Calls -------------------------------------------------------------===*/

/* A function with arrays bound to its arguments. It can be launched any number
   of times, and arrays can be bound anew between launches. */
typedef struct mamba_call mamba_call;

MAMBA_RUNTIME_EXPORT mamba_status
mamba_call_create(const mamba_function *function, mamba_call **call);

/* Null is ignored. Launches go on. */
MAMBA_RUNTIME_EXPORT void mamba_call_destroy(mamba_call *call);

/* Binds an array to the argument `name`, in place of the one before. `address`
   is a device address, a multiple of the argument's alignment; it may be null
   if the array has no elements, and until the launch (sizes alone answer the
   queries below).
   `sizes` has `rank` elements. `name`, `dtype` and `sizes` are copied. The
   memory stays the caller's and must live until the launches are complete.
   Arrays that the function writes overlap no other.

   Fails if there is no such argument, or dtype, rank or a static size is
   another; the old array stays bound then. */
MAMBA_RUNTIME_EXPORT mamba_status
mamba_call_bind(mamba_call *call, const char *name, void *address,
                const char *dtype, size_t rank, const int64_t *sizes);

/* The same for an array with gaps: `strides` has `rank` strides in elements,
   and no gaps if it is null. Fails for strides that the argument does not take,
   see mamba_argument_info; of an axis of one element any is taken. */
MAMBA_RUNTIME_EXPORT mamba_status mamba_call_bind_strided(
    mamba_call *call, const char *name, void *address, const char *dtype,
    size_t rank, const int64_t *sizes, const int64_t *strides);

/* Sizes of the argument or result `name` that follow from the inputs. *rank is
   set to the number of axes; `sizes` has room for `capacity` of them and may be
   null if that is 0. Every input must be bound. */
MAMBA_RUNTIME_EXPORT mamba_status mamba_call_get_shape(mamba_call *call,
                                                       const char *name,
                                                       size_t capacity,
                                                       int64_t *sizes,
                                                       size_t *rank);

/* Device memory in bytes that a launch with the bound sizes needs beside the
   arrays. Every input must be bound. */
MAMBA_RUNTIME_EXPORT mamba_status
mamba_call_get_workspace_size(mamba_call *call, size_t *bytes);

/* Checks everything a launch checks, except for the workspace: every argument
   is bound, sizes of one name are equal, constraints hold, no size overflows 64
   bits, grids are within CUDA's limits, addresses are aligned, and what is
   written overlaps nothing. */
MAMBA_RUNTIME_EXPORT mamba_status mamba_call_check(mamba_call *call);

/* Checks the call and queues its kernels on `stream` (a CUstream or
   cudaStream_t; null: the default stream of the current context). `workspace`
   is device memory, a multiple of 16, of at least the size that
   mamba_call_get_workspace_size tells, with any contents; it may be null if
   that is 0. It must not be in use by another launch at the same time.
   A failed check queues nothing. */
MAMBA_RUNTIME_EXPORT mamba_status mamba_call_launch(mamba_call *call,
                                                    void *workspace,
                                                    size_t workspace_bytes,
                                                    struct CUstream_st *stream);

/*===-- The driver --------------------------------------------------------===*/

/* Uses another library than libcuda.so.1, for tests. Fails once the driver is
   open. */
MAMBA_RUNTIME_EXPORT mamba_status mamba_set_driver_path(const char *path);

#ifdef __cplusplus
}
#endif

#endif /* MAMBA_C_RUNTIME_H */
