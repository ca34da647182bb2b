! What plain.f90 and shared.f90 are called with, and what they say at their end. Fortran 2003.
module flow_arguments
  use, intrinsic :: iso_c_binding, only: c_int64_t
  use flow_problems, only: problem_named
  implicit none
  private
  public :: read_arguments, begin_timing, report, problem, frames, place

  integer, protected :: problem = 0
  integer, protected :: frames = 0
  ! A directory or a URL.
  character(len=400), protected :: place = ''

  integer(c_int64_t) :: began

contains

  subroutine read_arguments()
    character(len=20) :: name, number
    integer :: status

    call get_command_argument(1, name)
    call get_command_argument(2, number)
    call get_command_argument(3, place)
    problem = problem_named(name)
    read (number, '(i9)', iostat=status) frames
    if (problem > 0 .and. status == 0 .and. frames > 0 .and. command_argument_count() == 3) return
    print '(a)', 'three arguments: sod, lax, lw3 or kh; a number of frames; where to put them'
    stop 2
  end subroutine read_arguments

  subroutine begin_timing()
    call system_clock(began)
  end subroutine begin_timing

  subroutine report(checksum)
    character(len=*), intent(in) :: checksum
    integer(c_int64_t) :: now, rate

    call system_clock(now, rate)
    print '(a, f0.4)', 'ms_per_frame ', (now - began) * 1d3 / rate / frames
    print '(2a)', 'checksum ', checksum
  end subroutine report

end module flow_arguments
