/* Calls a compiled ssu: 1 row, 1 head, head dim 2, state 2, no softplus. */
#include "ssu.h"

#include <stdio.h>

int main(void) {
  float state[] = {1, 2, 3, 4}, x[] = {1, 2}, dt[] = {1}, A[] = {0};
  float B[] = {1, 10}, C[] = {1, 1}, y[2];
  mamba_memref_4 state_d = {state, state, 0, {1, 1, 2, 2}, {4, 4, 2, 1}};
  mamba_memref_3 x_d = {x, x, 0, {1, 1, 2}, {2, 2, 1}};
  mamba_memref_2 dt_d = {dt, dt, 0, {1, 1}, {1, 1}};
  mamba_memref_1 A_d = {A, A, 0, {1}, {1}};
  mamba_memref_3 B_d = {B, B, 0, {1, 1, 2}, {2, 2, 1}};
  mamba_memref_3 C_d = {C, C, 0, {1, 1, 2}, {2, 2, 1}};
  mamba_memref_3 y_d = {y, y, 0, {1, 1, 2}, {2, 2, 1}};
  ssu(&state_d, &x_d, &dt_d, &A_d, &B_d, &C_d, &y_d);
  printf("y %g %g state %g %g %g %g\n", y[0], y[1], state[0], state[1],
         state[2], state[3]);
  return 0;
}
