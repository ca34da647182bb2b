! Module `interweave`: the functions of interweave.h, with Fortran's strings and optional arguments.
!
! Names and meaning are interweave.h's, which says more about each. Functions that return an integer
! return IW_OK or one of IW_E...; those that return an address return null, and IW_open_segment a
! handle that is not IW_is_open. IW_strerror() then says what was asked, what was found and what to
! do. Addresses and types are type(c_ptr); c_f_pointer and IW_array make Fortran's pointers of them.
! These are good while the segment is open, and are read and written under its
! locks only. Fortran 2003.
module interweave
  use interweave_calls
  use interweave_constants
  use interweave_interface
  implicit none
  private :: IW_open_options, error_names
end module interweave
