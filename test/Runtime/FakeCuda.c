/*===- FakeCuda.c - A CUDA driver that records launches -----------*- C -*-===*\
|*                                                                            *|
|* Licensed under the Apache License v2.0 with LLVM Exceptions.               *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "FakeCuda.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_LAUNCHES = 4096, MAX_DEPTH = 8 };
_Static_assert(sizeof(fake_tensor_map) == 128, "as a CUtensorMap");
enum { INVALID_VALUE = 1, INVALID_PTX = 218, NOT_FOUND = 500 };

typedef struct {
  int device, major, minor;
  unsigned long long id;
} context;
typedef struct {
  char *ptx;
  context *owner;
} module;
typedef struct {
  char name[64];
  module *owner;
  uint32_t num_parameters, max_shared_bytes, non_portable_cluster;
  uint8_t is_tensor_map[FAKE_PARAMETERS];
} kernel;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static context contexts[FAKE_DEVICES];
static char streams[FAKE_DEVICES][16];
static fake_launch launches[MAX_LAUNCHES];
static uint32_t num_launches, num_loads, num_unloads;
static char failing[64];
static int failure;
static uint64_t variable;
static _Thread_local context *stack[MAX_DEPTH];
static _Thread_local int depth;

static context *current(void) { return depth ? stack[depth - 1] : NULL; }

/* What a test wants `function` to return. */
static int fails(const char *function) {
  pthread_mutex_lock(&mutex);
  int code = strcmp(failing, function) == 0 ? failure : 0;
  pthread_mutex_unlock(&mutex);
  return code;
}
#define RETURN_IF_FAILING                                                      \
  if (fails(__func__))                                                         \
  return fails(__func__)

/*===-- For tests ---------------------------------------------------------===*/

void fake_reset(void) {
  pthread_mutex_lock(&mutex);
  num_launches = num_loads = num_unloads = 0;
  failing[0] = 0;
  for (int i = 0; i < FAKE_DEVICES; ++i) {
    contexts[i].device = i;
    contexts[i].major = 9;
    contexts[i].minor = 0;
    if (!contexts[i].id)
      contexts[i].id = (unsigned long long)i + 1;
  }
  depth = 0;
  pthread_mutex_unlock(&mutex);
}
void fake_set_current(int device) {
  depth = device >= 0;
  if (device >= 0)
    stack[0] = &contexts[device];
}
void fake_set_capability(int device, int major, int minor) {
  contexts[device].major = major;
  contexts[device].minor = minor;
}
void fake_renew_context(int device) { contexts[device].id += 1000; }
uint64_t fake_stream(int device) {
  return (uint64_t)(uintptr_t)streams[device];
}
void fake_fail(const char *function, int code) {
  pthread_mutex_lock(&mutex);
  snprintf(failing, sizeof(failing), "%s", function);
  failure = code;
  pthread_mutex_unlock(&mutex);
}
uint32_t fake_num_launches(void) {
  pthread_mutex_lock(&mutex);
  uint32_t count = num_launches;
  pthread_mutex_unlock(&mutex);
  return count;
}
int fake_get_launch(uint32_t index, fake_launch *launch) {
  if (index >= fake_num_launches())
    return 0;
  *launch = launches[index];
  return 1;
}
uint64_t fake_variable(void) { return variable; }
uint32_t fake_num_loads(void) { return num_loads; }
uint32_t fake_num_unloads(void) { return num_unloads; }
int fake_depth(void) { return depth; }

/*===-- The driver --------------------------------------------------------===*/

int cuInit(unsigned flags) {
  RETURN_IF_FAILING;
  return flags ? INVALID_VALUE : 0;
}
int cuGetErrorName(int code, const char **name) {
  *name = code == INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE"
          : code == INVALID_PTX ? "CUDA_ERROR_INVALID_PTX"
          : code == NOT_FOUND   ? "CUDA_ERROR_NOT_FOUND"
                                : NULL;
  return *name ? 0 : INVALID_VALUE;
}
int cuCtxGetCurrent(context **result) {
  *result = current();
  return 0;
}
int cuCtxPushCurrent_v2(context *pushed) {
  RETURN_IF_FAILING;
  stack[depth++] = pushed;
  return 0;
}
int cuCtxPopCurrent_v2(context **popped) {
  *popped = stack[--depth];
  return 0;
}
int cuCtxGetDevice(int *device) {
  if (!current())
    return INVALID_VALUE;
  *device = current()->device;
  return 0;
}
int cuCtxGetId(context *of, unsigned long long *id) {
  *id = of->id;
  return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  if (attribute != 75 && attribute != 76)
    return INVALID_VALUE;
  *value = attribute == 75 ? contexts[device].major : contexts[device].minor;
  return 0;
}
int cuDeviceGetName(char *name, int size, int device) {
  snprintf(name, (size_t)size, "Fake %d", device);
  return 0;
}
int cuStreamGetCtx(void *stream, context **result) {
  for (int i = 0; i < FAKE_DEVICES; ++i)
    if (stream == streams[i]) {
      *result = &contexts[i];
      return 0;
    }
  return INVALID_VALUE;
}
int cuThreadExchangeStreamCaptureMode(int *mode) {
  static _Thread_local int previous;
  int old = previous;
  previous = *mode;
  *mode = old;
  return 0;
}

int cuModuleLoadDataEx(module **result, const void *text, unsigned count,
                       int *options, void **values) {
  RETURN_IF_FAILING;
  if (!current())
    return INVALID_VALUE;
  if (!strstr(text, ".version")) {
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == 5)
        strcpy(values[i], "ptxas fatal: no version");
    return INVALID_PTX;
  }
  struct timespec pause = {0, 2000000}; /* lets other threads come, too */
  nanosleep(&pause, NULL);
  *result = malloc(sizeof(module));
  (*result)->ptx = strdup(text);
  (*result)->owner = current();
  pthread_mutex_lock(&mutex);
  ++num_loads;
  pthread_mutex_unlock(&mutex);
  return 0;
}
int cuModuleUnload(module *unloaded) {
  if (unloaded->owner != current())
    return INVALID_VALUE;
  free(unloaded->ptx);
  free(unloaded);
  pthread_mutex_lock(&mutex);
  ++num_unloads;
  pthread_mutex_unlock(&mutex);
  return 0;
}
/* Kernels live as long as the process: launches may name them later. */
int cuModuleGetFunction(kernel **result, module *owner, const char *name) {
  char entry[96];
  snprintf(entry, sizeof(entry), ".entry %s(", name);
  const char *start = strstr(owner->ptx, entry);
  if (!start)
    return NOT_FOUND;
  *result = calloc(1, sizeof(kernel));
  snprintf((*result)->name, sizeof((*result)->name), "%s", name);
  (*result)->owner = owner;
  const char *end = strchr(start, ')');
  for (const char *p = strstr(start, ".param"); p && p < end;
       p = strstr(p + 1, ".param")) {
    const char *bytes = strstr(p, ".b8");
    if ((*result)->num_parameters < FAKE_PARAMETERS)
      (*result)->is_tensor_map[(*result)->num_parameters] =
          bytes && bytes < p + strcspn(p, ",)");
    ++(*result)->num_parameters;
  }
  return 0;
}
int cuModuleGetGlobal_v2(uint64_t *address, size_t *bytes, module *owner,
                         const char *name) {
  if (owner->owner != current() || !strstr(owner->ptx, name))
    return NOT_FOUND;
  *address = variable = 0x7000000 + 0x1000 * (uint64_t)current()->device;
  *bytes = 128;
  return 0;
}
int cuFuncSetAttribute(kernel *function, int attribute, int value) {
  RETURN_IF_FAILING;
  if (attribute == 8)
    function->max_shared_bytes = (uint32_t)value;
  else if (attribute == 14)
    function->non_portable_cluster = (uint32_t)value;
  else
    return INVALID_VALUE;
  return 0;
}

static int record(kernel *function, const uint32_t *grid, const uint32_t *block,
                  const uint32_t *cluster, uint32_t shared_bytes, void *stream,
                  void **parameters) {
  pthread_mutex_lock(&mutex);
  if (num_launches == MAX_LAUNCHES ||
      function->num_parameters > FAKE_PARAMETERS) {
    pthread_mutex_unlock(&mutex);
    return INVALID_VALUE;
  }
  fake_launch *launch = &launches[num_launches++];
  memset(launch, 0, sizeof(*launch));
  memcpy(launch->kernel, function->name, sizeof(launch->kernel));
  for (int i = 0; i < 3; ++i) {
    launch->grid[i] = grid[i];
    launch->block[i] = block[i];
    launch->cluster[i] = cluster[i];
  }
  launch->shared_bytes = shared_bytes;
  launch->max_shared_bytes = function->max_shared_bytes;
  launch->non_portable_cluster = function->non_portable_cluster;
  launch->device = function->owner->owner->device;
  launch->current_device = current() ? current()->device : -1;
  launch->num_parameters = function->num_parameters;
  launch->stream = (uint64_t)(uintptr_t)stream;
  int result = 0;
  for (uint32_t i = 0; i < function->num_parameters; ++i)
    if (!function->is_tensor_map[i])
      memcpy(&launch->parameters[i], parameters[i], 8);
    else if (launch->num_tensor_maps == FAKE_TENSOR_MAPS ||
             (uintptr_t)parameters[i] % 64)
      result = INVALID_VALUE;
    else
      memcpy(&launch->tensor_maps[launch->num_tensor_maps++], parameters[i],
             sizeof(fake_tensor_map));
  pthread_mutex_unlock(&mutex);
  return result;
}

int cuLaunchKernel(kernel *function, unsigned gridX, unsigned gridY,
                   unsigned gridZ, unsigned blockX, unsigned blockY,
                   unsigned blockZ, unsigned shared_bytes, void *stream,
                   void **parameters, void **extra) {
  RETURN_IF_FAILING;
  uint32_t grid[3] = {gridX, gridY, gridZ};
  uint32_t block[3] = {blockX, blockY, blockZ};
  uint32_t cluster[3] = {1, 1, 1};
  return extra ? INVALID_VALUE
               : record(function, grid, block, cluster, shared_bytes, stream,
                        parameters);
}

typedef struct {
  int id;
  char padding[4];
  uint32_t cluster[3];
  char rest[52];
} attribute;
typedef struct {
  uint32_t grid[3], block[3], shared_bytes;
  void *stream;
  attribute *attributes;
  uint32_t num_attributes;
} config;

int cuLaunchKernelEx(const config *given, kernel *function, void **parameters,
                     void **extra) {
  RETURN_IF_FAILING;
  if (extra || given->num_attributes != 1 || given->attributes->id != 4)
    return INVALID_VALUE;
  return record(function, given->grid, given->block, given->attributes->cluster,
                given->shared_bytes, given->stream, parameters);
}

int cuTensorMapEncodeTiled(fake_tensor_map *map, int data_type, uint32_t rank,
                           void *address, const uint64_t *sizes,
                           const uint64_t *strides, const uint32_t *box,
                           const uint32_t *element_strides, int interleave,
                           int swizzle, int l2_promotion, int fill) {
  RETURN_IF_FAILING;
  if ((uintptr_t)map % 64 || (uintptr_t)address % 16 || !address || rank < 1 ||
      rank > 5)
    return INVALID_VALUE;
  memset(map, 0, sizeof(*map));
  map->address = (uint64_t)(uintptr_t)address;
  map->rank = (uint8_t)rank;
  map->data_type = (uint8_t)data_type;
  map->interleave = (uint8_t)interleave;
  map->swizzle = (uint8_t)swizzle;
  map->l2_promotion = (uint8_t)l2_promotion;
  map->fill = (uint8_t)fill;
  for (uint32_t i = 0; i < rank; ++i) {
    map->sizes[i] = sizes[i];
    map->box[i] = (uint16_t)box[i];
    map->element_strides[i] = (uint8_t)element_strides[i];
    if (i + 1 < rank)
      map->strides[i] = strides[i];
    if (!sizes[i] || !box[i] || box[i] > 256 ||
        (i + 1 < rank && strides[i] % 16))
      return INVALID_VALUE;
  }
  return 0;
}
