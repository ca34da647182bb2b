! The plain types of interweave.h that are not generated (interface.f90), and what generated modules
! need to lay out unions. Fortran 2003.
module interweave_constants
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_int64_t, c_intptr_t, c_null_ptr, &
    c_ptr, c_size_t
  implicit none
  private :: c_char, c_int, c_int64_t, c_intptr_t, c_null_ptr, c_ptr, c_size_t

  ! An open segment; closed, or never opened, while `address` is null.
  type :: IW_handle_t
    type(c_ptr) :: address = c_null_ptr
  end type IW_handle_t

  ! `T x<>` in memory: `len` elements in a block that the field owns. See IW_assign.
  type, bind(C) :: IW_sequence_t
    integer(c_int) :: len
    type(c_ptr) :: val
  end type IW_sequence_t

  ! What a segment says of one of its blocks; `size_bytes` is
  ! set by IW_describe_block. IW_text(b%name).
  type, bind(C) :: IW_block_t
    integer(c_size_t) :: size_bytes
    type(c_ptr) :: address
    type(c_ptr) :: type
    integer(c_size_t) :: count
    integer(c_int64_t) :: serial
    integer(c_int) :: is_owned
    character(kind=c_char) :: name(256)
    integer(c_int) :: is_reserved
  end type IW_block_t

  ! How this machine lays out eight-byte numbers, found out while compiling.
  type, bind(C), private :: probe_t
    character(kind=c_char) :: before
    integer(c_int64_t) :: probed
  end type probe_t
  integer, parameter, private :: &
    alignment = size(transfer(probe_t(' ', 0_c_int64_t), (/ ' ' /))) - 8

  ! The integers of which a union's storage is made where it holds eight-byte numbers: as wide as
  ! these are aligned.
  integer, parameter :: IW_wide = merge(c_int64_t, c_int, alignment == 8)

  ! One of these is 1: 64-bit machines, 32-bit ones, and those with such numbers
  ! at multiples of four.
  integer(c_int64_t), parameter :: IW_on_64 = merge(1, 0, bit_size(0_c_intptr_t) == 64)
  integer(c_int64_t), parameter :: &
    IW_on_32 = merge(1, 0, bit_size(0_c_intptr_t) == 32 .and. alignment == 8)
  integer(c_int64_t), parameter :: &
    IW_on_i386 = merge(1, 0, bit_size(0_c_intptr_t) == 32 .and. alignment == 4)

  ! The descriptors of the primitive types: IW_malloc_array(h, IW_double, 1000).
  type(c_ptr), protected, bind(C, name="IW_char") :: IW_char
  type(c_ptr), protected, bind(C, name="IW_uchar") :: IW_uchar
  type(c_ptr), protected, bind(C, name="IW_short") :: IW_short
  type(c_ptr), protected, bind(C, name="IW_ushort") :: IW_ushort
  type(c_ptr), protected, bind(C, name="IW_int") :: IW_int
  type(c_ptr), protected, bind(C, name="IW_uint") :: IW_uint
  type(c_ptr), protected, bind(C, name="IW_hyper") :: IW_hyper
  type(c_ptr), protected, bind(C, name="IW_uhyper") :: IW_uhyper
  type(c_ptr), protected, bind(C, name="IW_float") :: IW_float
  type(c_ptr), protected, bind(C, name="IW_double") :: IW_double
  type(c_ptr), protected, bind(C, name="IW_bool") :: IW_bool
end module interweave_constants
