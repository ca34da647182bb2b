! What the library has called this program for, segment by segment: the commands `listen` and
! `told`. The callbacks run in IW_dispatch, as in a program with an event loop. Fortran 2003.
module agent_listening
  use, intrinsic :: iso_c_binding, only: c_associated, c_double, c_f_pointer, c_funloc, c_int, &
    c_int64_t, c_loc, c_ptr, c_short
  use interweave
  implicit none
  private
  public :: hearing_t, begin_listening, wait_for_version, wait_for_connection

  type, bind(C) :: hearing_t
    integer(c_int64_t) :: newest = 0
    integer(c_int) :: state = 0  ! IW_CONNECTED ...; 0: nothing was said of it
  end type hearing_t

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

  function begin_listening(handle, hearing) result(status)
    type(IW_handle_t), intent(in) :: handle
    type(hearing_t), target, intent(inout) :: hearing
    integer(c_int) :: status

    hearing = hearing_t()
    status = min(IW_event_fd(), 0)
    if (status == IW_OK) status = IW_on_change(handle, c_funloc(changed), c_loc(hearing))
    if (status == IW_OK) &
      status = IW_on_connection(handle, c_funloc(connection_changed), c_loc(hearing))
  end function begin_listening

  subroutine changed(h, version, arg) bind(C)
    type(c_ptr), value :: h, arg
    integer(c_int64_t), value :: version
    type(hearing_t), pointer :: hearing

    call c_f_pointer(arg, hearing)
    if (c_associated(h)) hearing%newest = version
  end subroutine changed

  subroutine connection_changed(h, state, arg) bind(C)
    type(c_ptr), value :: h, arg
    integer(c_int), value :: state
    type(hearing_t), pointer :: hearing

    call c_f_pointer(arg, hearing)
    if (c_associated(h)) hearing%state = state
  end subroutine connection_changed

  ! False after so many seconds, or when the segment is lost.
  function wait_for_version(hearing, wanted, seconds) result(is_told)
    type(hearing_t), target, intent(inout) :: hearing
    integer(c_int64_t), intent(in) :: wanted
    real(c_double), intent(in) :: seconds
    logical :: is_told
    integer(c_int64_t) :: ends

    ends = milliseconds() + int(1000 * seconds, c_int64_t)
    do while (hearing%newest < wanted .and. hearing%state /= IW_LOST)
      if (.not. has_dispatched(ends)) exit
    end do
    is_told = hearing%newest >= wanted .and. hearing%state /= IW_LOST
  end function wait_for_version

  function wait_for_connection(hearing, wanted, seconds) result(is_told)
    type(hearing_t), target, intent(inout) :: hearing
    integer(c_int), intent(in) :: wanted
    real(c_double), intent(in) :: seconds
    logical :: is_told
    integer(c_int64_t) :: ends

    ends = milliseconds() + int(1000 * seconds, c_int64_t)
    do while (hearing%state /= wanted .and. hearing%state /= IW_LOST)
      if (.not. has_dispatched(ends)) exit
    end do
    is_told = hearing%state == wanted
  end function wait_for_connection

  ! Runs what is due; false when nothing came before the end.
  function has_dispatched(ends) result(has)
    integer(c_int64_t), intent(in) :: ends
    logical :: has
    type(pollfd) :: descriptors(1)

    descriptors(1) = pollfd(IW_event_fd(), POLLIN, 0)
    has = poll(descriptors, 1_c_int64_t, int(max(0_c_int64_t, ends - milliseconds()), c_int)) == 1
    if (has) has = IW_dispatch() == IW_OK
  end function has_dispatched

  function milliseconds() result(now)
    integer(c_int64_t) :: now, rate

    call system_clock(now, rate)
    now = now * 1000 / rate
  end function milliseconds

end module agent_listening
