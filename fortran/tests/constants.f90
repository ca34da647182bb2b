! The modules' numbers that are written by hand are those of the header, and all
! types have their sizes.
module header
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none

  integer(c_int), bind(C) :: header_constant_count
  integer(c_int), bind(C) :: header_constants(20)
  integer(c_int), bind(C) :: header_sizes(9)
end module header

program constants
  use, intrinsic :: iso_c_binding, only: c_int
  use checks, only: check
  use header
  use interweave
  use interweave_interface, only: IW_open_options
  use interweave_types
  implicit none
  integer(c_int), parameter :: own(20) = (/ &
    IW_KIND_PRIMITIVE, IW_KIND_ENUM, IW_KIND_STRING, IW_KIND_ARRAY, &
    IW_KIND_RECORD, IW_KIND_UNION, IW_KIND_POINTER, IW_KIND_SEQUENCE, IW_KIND_TEXT, &
    IW_PRIMITIVE_CHAR, IW_PRIMITIVE_UCHAR, IW_PRIMITIVE_SHORT, IW_PRIMITIVE_USHORT, &
    IW_PRIMITIVE_INT, IW_PRIMITIVE_UINT, IW_PRIMITIVE_HYPER, IW_PRIMITIVE_UHYPER, &
    IW_PRIMITIVE_FLOAT, IW_PRIMITIVE_DOUBLE, IW_PRIMITIVE_BOOL /)
  type(IW_stats_t) :: stats
  type(IW_copy_state) :: copy
  type(IW_open_options) :: options
  type(IW_sequence_t) :: sequence
  type(IW_block_t) :: block
  type(IW_type_def) :: table
  type(IW_enum_member) :: member
  type(IW_field_def) :: field
  type(IW_arm_def) :: arm
  character(len=1) :: bytes(1)

  call check(header_constant_count == size(own), 'all are compared')
  call check(all(header_constants == own), 'the numbers')
  call check(size(transfer(stats, bytes)) == header_sizes(1), 'IW_stats_t')
  call check(size(transfer(copy, bytes)) == header_sizes(2), 'IW_copy_state')
  call check(size(transfer(options, bytes)) == header_sizes(3), 'IW_open_options')
  call check(size(transfer(sequence, bytes)) == header_sizes(4), 'IW_sequence_t')
  call check(size(transfer(block, bytes)) == header_sizes(5), 'IW_block_t')
  call check(size(transfer(table, bytes)) == header_sizes(6), 'IW_type_def')
  call check(size(transfer(member, bytes)) == header_sizes(7), 'IW_enum_member')
  call check(size(transfer(field, bytes)) == header_sizes(8), 'IW_field_def')
  call check(size(transfer(arm, bytes)) == header_sizes(9), 'IW_arm_def')
end program constants
