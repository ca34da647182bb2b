! What a program asks of the system and Fortran has no words for: signals, waiting, an exit status.
! Fortran 2003; the functions are POSIX's.
module flow_process
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  private
  public :: end_on_signals, stop_requested, wait_readable, seconds_now, exit_with, complain

  logical, volatile, protected :: stop_requested = .false.

  integer(c_int), parameter :: HANGUP = 1, INTERRUPT = 2, TERMINATE = 15
  integer(c_short), parameter :: READABLE = 1

  type, bind(C) :: pollfd
    integer(c_int) :: fd
    integer(c_short) :: events, revents
  end type pollfd

  interface
    function c_signal(number, handler) bind(C, name="signal") result(before)
      import :: c_funptr, c_int
      integer(c_int), value :: number
      type(c_funptr), value :: handler
      type(c_funptr) :: before
    end function c_signal

    function c_poll(descriptors, count, timeout_ms) bind(C, name="poll") result(ready)
      import :: c_int, c_long, pollfd
      type(pollfd), intent(inout) :: descriptors(*)
      integer(c_long), value :: count
      integer(c_int), value :: timeout_ms
      integer(c_int) :: ready
    end function c_poll

    subroutine c_exit(status) bind(C, name="exit")
      import :: c_int
      integer(c_int), value :: status
    end subroutine c_exit
  end interface

contains

  subroutine on_signal(number) bind(C)
    integer(c_int), value :: number

    stop_requested = number > 0
  end subroutine on_signal

  subroutine end_on_signals()
    type(c_funptr) :: before

    before = c_signal(HANGUP, c_funloc(on_signal))
    before = c_signal(INTERRUPT, c_funloc(on_signal))
    before = c_signal(TERMINATE, c_funloc(on_signal))
    if (.not. c_associated(before)) before = c_null_funptr
  end subroutine end_on_signals

  ! Until the descriptor (if it is one) is readable, a signal comes, or the time is over.
  subroutine wait_readable(descriptor, timeout_ms)
    integer(c_int), intent(in) :: descriptor, timeout_ms
    type(pollfd) :: descriptors(1)
    integer(c_int) :: ready

    descriptors(1) = pollfd(descriptor, READABLE, 0_c_short)
    ready = c_poll(descriptors, 1_c_long, timeout_ms)
    if (ready > 1) descriptors(1)%revents = 0
  end subroutine wait_readable

  function seconds_now() result(seconds)
    real(c_double) :: seconds
    integer(c_int64_t) :: count, rate

    call system_clock(count, rate)
    seconds = real(count, c_double) / rate
  end function seconds_now

  subroutine exit_with(status)
    integer, intent(in) :: status

    call c_exit(int(status, c_int))
  end subroutine exit_with

  subroutine complain(text)
    character(len=*), intent(in) :: text

    write (error_unit, '(2a)') 'astroflow-simulator: ', text
  end subroutine complain

end module flow_process
