// RUN: mamba-opt %s --mamba-share-heads --split-input-file --verify-diagnostics

func.func @nothing_in_common(%a: memref<?x16x16xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  // expected-remark @below {{blocks are not joined: no contraction is the same for several of them}}
  scf.forall (%b) in (%n) {
    %t = memref.subview %a[%b, 0, 0] [1, 16, 16] [1, 1, 1] : memref<?x16x16xf32> to memref<16x16xf32, strided<[16, 1], offset: ?>>
    %v = vector.transfer_read %t[%c0, %c0], %zero {in_bounds = [true, true]} : memref<16x16xf32, strided<[16, 1], offset: ?>>, vector<16x16xf32>
    %s = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %v, %v, %v : vector<16x16xf32>, vector<16x16xf32> into vector<16x16xf32>
    vector.transfer_write %s, %t[%c0, %c0] {in_bounds = [true, true]} : vector<16x16xf32>, memref<16x16xf32, strided<[16, 1], offset: ?>>
  } {mapping = [#gpu.block<linear_dim_0>], mamba.plan = #mamba.plan<simple tile[1] heads 2>}
  return
}

// -----

func.func @own_buffer(%a: memref<?xf32>, %n: index) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  // expected-remark @below {{blocks are not joined: what they compute is not in vectors}}
  scf.forall (%b) in (%n) {
    %t = memref.alloc() : memref<1xf32>
    memref.store %zero, %t[%c0] : memref<1xf32>
  } {mapping = [#gpu.block<linear_dim_0>], mamba.plan = #mamba.plan<simple tile[1] heads 2>}
  return
}

// -----

func.func @steps(%a: memref<?xf32>, %n: index) {
  %zero = arith.constant 0.0 : f32
  // expected-remark @below {{blocks are not joined: the loop over them does not count from 0 by 1}}
  scf.forall (%b) = (0) to (%n) step (8) {
    memref.store %zero, %a[%b] : memref<?xf32>
  } {mapping = [#gpu.block<linear_dim_0>], mamba.plan = #mamba.plan<simple tile[8] heads 2>}
  return
}
