! The simulator's segment: a header and six arrays at ordinary addresses, found or made, and which
! errors may pass. Fortran 2003.
module flow_segment
  use, intrinsic :: iso_c_binding, only: c_associated, c_double, c_f_pointer, c_int64_t, c_ptr
  use astroflow
  use flow_solver, only: flow_gas
  use interweave
  implicit none
  private
  public :: segment_t, bind_blocks, copy_gas, is_foreign, keeps_lock, may_pass, note_version, &
    is_lost, release

  type :: segment_t
    type(IW_handle_t) :: handle
    character(len=400) :: url = ''
    type(flow_header), pointer :: header => null()
    type(flow_gas) :: gas
  end type segment_t

contains

  ! Finds the blocks, or makes them; under the writer lock.
  function bind_blocks(s) result(are_there)
    type(segment_t), intent(inout) :: s
    logical :: are_there, is_new

    are_there = associated(s%header)
    if (are_there) return
    is_new = .not. c_associated(IW_next_block(s%handle))
    call bind_field(s, 'density', is_new, s%gas%density)
    call bind_field(s, 'momentum_x', is_new, s%gas%momentum_x)
    call bind_field(s, 'momentum_y', is_new, s%gas%momentum_y)
    call bind_field(s, 'energy', is_new, s%gas%energy)
    call bind_field(s, 'pressure', is_new, s%gas%pressure)
    call bind_field(s, 'tracer', is_new, s%gas%tracer)
    call c_f_pointer(block(s, 'header', IW_flow_header, is_new), s%header)
    are_there = associated(s%header) .and. associated(s%gas%tracer)
    if (.not. are_there) nullify (s%header)
  end function bind_blocks

  subroutine bind_field(s, name, is_new, array)
    type(segment_t), intent(in) :: s
    character(len=*), intent(in) :: name
    logical, intent(in) :: is_new
    real(c_double), pointer, intent(out) :: array(:, :)

    call IW_array(block(s, name, IW_field, is_new), array, (/ FLOW_CELLS, FLOW_CELLS /))
  end subroutine bind_field

  function block(s, name, of_type, is_new) result(address)
    type(segment_t), intent(in) :: s
    character(len=*), intent(in) :: name
    type(c_ptr), intent(in) :: of_type
    logical, intent(in) :: is_new
    type(c_ptr) :: address

    if (is_new) then
      address = IW_malloc_named(s%handle, of_type, name)
    else
      address = IW_mip_to_ptr(trim(s%url) // '#' // name)
    end if
  end function block

  subroutine copy_gas(from, to)
    type(flow_gas), intent(in) :: from, to

    to%density = from%density
    to%momentum_x = from%momentum_x
    to%momentum_y = from%momentum_y
    to%energy = from%energy
    to%pressure = from%pressure
    to%tracer = from%tracer
  end subroutine copy_gas

  ! It holds blocks, but no header of ours. Needs a lock.
  function is_foreign(s) result(foreign)
    type(segment_t), intent(in) :: s
    logical :: foreign

    foreign = c_associated(IW_next_block(s%handle))
    if (foreign) foreign = .not. c_associated(IW_mip_to_ptr(trim(s%url) // '#header'))
  end function is_foreign

  ! Called when there is a newer version; asked for so that the event descriptor wakes the program.
  subroutine note_version(h, version, announced) bind(C)
    type(c_ptr), value :: h, announced
    integer(c_int64_t), value :: version
    integer(c_int64_t), pointer :: newest

    call c_f_pointer(announced, newest)
    if (c_associated(h)) newest = version
  end subroutine note_version

  ! After a failure: the server came back without the segment, which is to be opened again.
  function is_lost(s) result(lost)
    type(segment_t), intent(in) :: s
    logical :: lost

    lost = IW_errno() == IW_ESEGMENT_LOST .or. .not. IW_is_open(s%handle)
  end function is_lost

  ! Gives the writer lock back. If it fails, the changes are undone, and the lock is gone as well.
  function release(s) result(is_released)
    type(segment_t), intent(in) :: s
    logical :: is_released
    integer :: error

    is_released = IW_wl_release(s%handle) == IW_OK
    if (is_released) return
    if (.not. keeps_lock()) return
    ! An error of this one is the one that may_pass sees.
    error = IW_wl_abort(s%handle)
  end function release

  ! Whether the release that failed just now has left the lock with this program.
  function keeps_lock() result(keeps)
    logical :: keeps

    keeps = any(IW_errno() == (/ IW_ESTORE_FULL, IW_ESTORE_ALONE, IW_ESTORE_AWAY, IW_ETIMED_OUT /))
  end function keeps_lock

  ! Whether the thread's last failure is one that ends by itself.
  function may_pass() result(may)
    logical :: may

    may = any(IW_errno() == (/ IW_ETIMED_OUT, IW_EUNREACHABLE, IW_EFENCED, IW_EROLLED_BACK, &
      IW_ESTORE_FULL, IW_ESTORE_ALONE, IW_ESTORE_AWAY, IW_ESTALE, IW_ESTOPPING /))
  end function may_pass

end module flow_segment
