/*===- HostFunctions.c - The library of a bundle for the CPU -------*- C
-*-===*\
|*                                                                            *|
|* Licensed under the Apache License v2.0 with LLVM Exceptions.               *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include <stdint.h>

typedef struct {
  void *allocated;
  void *aligned;
  int64_t offset, sizes[2], strides[2];
} Matrix;

typedef struct {
  void *allocated;
  float *aligned;
  int64_t offset;
} Scalar;

/* sums[0..3] = sizes and strides of x; sums[4] = the sum of x; total += it. */
void sum(const Matrix *x, const Scalar *total, const Matrix *sums) {
  const float *values = (const float *)x->aligned + x->offset;
  float *out = (float *)sums->aligned + sums->offset;
  out[0] = (float)x->sizes[0];
  out[1] = (float)x->sizes[1];
  out[2] = (float)x->strides[0];
  out[3] = (float)x->strides[1];
  out[4] = 0;
  for (int64_t i = 0; i < x->sizes[0]; ++i)
    for (int64_t j = 0; j < x->sizes[1]; ++j)
      out[4] += values[i * x->strides[0] + j * x->strides[1]];
  *total->aligned += out[4];
}
