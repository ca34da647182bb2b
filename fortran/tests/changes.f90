! Callbacks of IW_on_change, on the library's thread and in an event loop.
! `fortran_changes tell ADDRESS` makes a version. `fortran_changes hear ADDRESS` says what it hears
! of, and waits for a line before it listens by IW_dispatch.
module hearing
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_int, c_int64_t, c_ptr, c_short
  use, intrinsic :: iso_fortran_env, only: output_unit
  implicit none

  type, bind(C) :: pollfd
    integer(c_int) :: descriptor
    integer(c_short) :: events, revents
  end type pollfd
  integer(c_short), parameter :: POLLIN = 1

  interface
    function poll(descriptors, count, timeout_ms) bind(C, name="poll") result(ready)
      import :: c_int, c_int64_t, pollfd
      type(pollfd), intent(inout) :: descriptors(*)
      integer(c_int64_t), value :: count
      integer(c_int), value :: timeout_ms
      integer(c_int) :: ready
    end function poll
  end interface

contains

  ! Notes the segment's address and the version, and says so.
  subroutine heard(h, version, arg) bind(C)
    type(c_ptr), value :: h
    integer(c_int64_t), value :: version
    type(c_ptr), value :: arg
    integer(c_int64_t), pointer :: noted(:)

    call c_f_pointer(arg, noted, (/ 2 /))
    noted = (/ transfer(h, 0_c_int64_t), version /)
    call say('heard of', version)
  end subroutine heard

  subroutine say(what, version)
    character(len=*), intent(in) :: what
    integer(c_int64_t), intent(in) :: version

    write (output_unit, '(a, 1x, i0)') what, version
    flush (output_unit)
  end subroutine say

end module hearing

program changes
  use, intrinsic :: iso_c_binding
  use checks, only: argument, check
  use hearing
  use interweave
  implicit none
  type(IW_handle_t) :: segment
  integer(c_int64_t), target :: noted(2)

  segment = IW_open_segment(trim(argument(2)) // '/changes')
  call check(IW_is_open(segment), 'open')
  if (argument(1) == 'tell') then
    call make_a_version()
  else
    noted = 0
    call take_the_newest()
    call check(IW_on_change(segment, c_funloc(heard), c_loc(noted)) == IW_OK, 'on_change')
    call hear_on_a_thread()
    call hear_in_a_loop()
    call check(IW_on_change(segment, c_null_funptr) == IW_OK, 'no more')
  end if
  call check(IW_close_segment(segment) == IW_OK, 'close')

contains

  subroutine make_a_version()
    call check(IW_wl_acquire(segment) == IW_OK, 'writer lock')
    call check(c_associated(IW_malloc(segment, IW_int)), 'a block')
    call check(IW_wl_release(segment) == IW_OK, 'release')
  end subroutine make_a_version

  subroutine take_the_newest()
    call check(IW_rl_acquire_for(segment, 20d0, flags=IW_FRESH) == IW_OK, 'reader lock')
    call check(IW_rl_release(segment) == IW_OK, 'release')
  end subroutine take_the_newest

  ! The callback has spoken before the line comes that is read here.
  subroutine hear_on_a_thread()
    call say('hearing from', IW_version(segment))
    read *
    call check(noted(1) == transfer(segment%address, 0_c_int64_t), 'the segment')
    call take_the_newest()
    call check(noted(2) == IW_version(segment), 'the version')
  end subroutine hear_on_a_thread

  subroutine hear_in_a_loop()
    type(pollfd) :: descriptors(1)
    integer(c_int64_t) :: before

    before = noted(2)
    descriptors(1) = pollfd(IW_event_fd(), POLLIN, 0)
    call check(descriptors(1)%descriptor >= 0, 'a descriptor')
    call say('hearing from', before)
    do while (noted(2) == before)
      call check(poll(descriptors, 1_c_int64_t, 60000_c_int) == 1, 'there is something to do')
      call check(IW_dispatch() == IW_OK, 'dispatch')
    end do
    call take_the_newest()
    call check(noted(2) == IW_version(segment), 'the next version')
  end subroutine hear_in_a_loop

end program changes
