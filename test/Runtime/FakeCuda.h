/*===- FakeCuda.h - A CUDA driver that records launches -----------*- C -*-===*\
|*                                                                            *|
|* Licensed under the Apache License v2.0 with LLVM Exceptions.               *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* libmamba_fake_cuda.so has the functions of libcuda.so.1 that the runtime   *|
|* uses, for four devices with a context and a stream each, and the functions *|
|* below for tests. "Kernels" are looked up in the PTX text.                  *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef MAMBA_TEST_RUNTIME_FAKECUDA_H
#define MAMBA_TEST_RUNTIME_FAKECUDA_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FAKE_DEVICES = 4, FAKE_PARAMETERS = 64, FAKE_TENSOR_MAPS = 16 };

/* What cuTensorMapEncodeTiled was called with, in the size of a CUtensorMap. */
typedef struct {
  uint64_t address;
  uint64_t sizes[5], strides[4];
  uint16_t box[5];
  uint8_t element_strides[5];
  uint8_t rank, data_type, interleave, swizzle, l2_promotion, fill;
  uint8_t unused[27];
} fake_tensor_map;

typedef struct {
  char kernel[64];
  uint32_t grid[3], block[3], cluster[3];
  uint32_t shared_bytes;
  /* Of cuFuncSetAttribute, as set when this was launched. */
  uint32_t max_shared_bytes, non_portable_cluster;
  /* Of the kernel's context and of the one current in the thread. */
  int32_t device, current_device;
  uint32_t num_parameters;
  uint64_t stream;
  uint64_t parameters[FAKE_PARAMETERS]; /* 0 for tensor maps */
  /* The parameters of 128 bytes, in order. */
  uint32_t num_tensor_maps;
  fake_tensor_map tensor_maps[FAKE_TENSOR_MAPS];
} fake_launch;

/* Forgets launches, counts and failures; every device is of sm_90, no context
   is current in this thread. Modules stay loaded. */
void fake_reset(void);
/* Makes a device's context current in this thread; -1: none. */
void fake_set_current(int device);
void fake_set_capability(int device, int major, int minor);
/* Gives the device's context another identity, as if made anew. */
void fake_renew_context(int device);
uint64_t fake_stream(int device);
/* The address of the module variable that was looked up last. */
uint64_t fake_variable(void);
/* The next calls of a driver function return `code`, until fake_reset. */
void fake_fail(const char *function, int code);

uint32_t fake_num_launches(void);
/* Copies a launch; 0 if there is none at `index`. */
int fake_get_launch(uint32_t index, fake_launch *launch);
uint32_t fake_num_loads(void);
uint32_t fake_num_unloads(void);
int fake_depth(void); /* contexts pushed in this thread */

#ifdef __cplusplus
}
#endif

#endif /* MAMBA_TEST_RUNTIME_FAKECUDA_H */
