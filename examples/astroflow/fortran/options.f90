! The command line of the Fortran simulator: that of ../simulator/options.cc. Fortran 2003.
module flow_options
  use, intrinsic :: iso_c_binding, only: dp => c_double
  use flow_problems, only: problem_named
  use flow_process, only: complain, exit_with
  implicit none
  private
  public :: options_t, read_options

  type :: options_t
    character(len=400) :: url = '127.0.0.1:7747/astroflow'
    integer :: problem = 3
    ! 0: the problem's own.
    real(dp) :: cfl = 0
    ! 0: without end, and as fast as it can.
    integer :: frames = 0
    real(dp) :: frames_per_second = 0
    logical :: quiet = .false.
    character(len=400) :: summary = ''
  end type options_t

contains

  function read_options() result(options)
    type(options_t) :: options
    character(len=400) :: name, value
    integer :: at, equals

    at = 1
    do while (at <= command_argument_count())
      call get_command_argument(at, name)
      at = at + 1
      equals = index(name, '=')
      if (name == '--help') call show_help()
      if (name == '--quiet') then
        options%quiet = .true.
        cycle
      end if
      if (equals > 0) then
        value = name(equals + 1:)
        name = name(:equals - 1)
      else if (at <= command_argument_count()) then
        call get_command_argument(at, value)
        at = at + 1
      else
        call refuse(name, '', 'complete')
      end if
      call take(options, name, value)
    end do
  end function read_options

  subroutine take(options, name, value)
    type(options_t), intent(inout) :: options
    character(len=*), intent(in) :: name, value
    integer :: status

    status = 0
    select case (name)
    case ('--url')
      options%url = value
    case ('--summary')
      options%summary = value
    case ('--problem')
      options%problem = problem_named(value)
      if (options%problem == 0) call refuse(name, value, 'one of sod, lax, lw3, kh')
    case ('--cfl')
      read (value, *, iostat=status) options%cfl
      if (status /= 0 .or. .not. (options%cfl >= 0.05_dp .and. options%cfl <= 0.8_dp)) &
        call refuse(name, value, 'a number from 0.05 to 0.8')
    case ('--frames')
      if (verify(trim(value), '0123456789') == 0) &
        read (value, '(i10)', iostat=status) options%frames
      if (status /= 0 .or. options%frames < 1) &
        call refuse(name, value, 'a whole number from 1 to 1000000000')
    case ('--max-fps')
      read (value, *, iostat=status) options%frames_per_second
      if (status /= 0 .or. .not. options%frames_per_second > 0) &
        call refuse(name, value, 'a number above 0')
    case default
      call refuse(name, value, 'an option')
    end select
  end subroutine take

  subroutine refuse(name, value, expected)
    character(len=*), intent(in) :: name, value, expected

    call complain(trim(name) // ': ''' // trim(value) // ''' is not ' // expected // '; try --help')
    call exit_with(2)
  end subroutine refuse

  subroutine show_help()
    print '(a)', &
      'Usage: astroflow-simulator-fortran [OPTION]...', &
      'Simulates a gas in two dimensions and writes every frame into a shared segment.', &
      '', &
      '  --url URL          the segment (127.0.0.1:7747/astroflow)', &
      '  --problem NAME     sod, lax, lw3 (Liska-Wendroff 3) or kh (Kelvin-Helmholtz); lw3', &
      '  --cfl X            time step as a share of the stable one, 0.05 to 0.8 (0.4)', &
      '  --frames N         cut the run to the problem''s end time into N frames and leave ' // &
      'after the', &
      '                     last; without it the problem is run again and again', &
      '  --max-fps X        no more than X frames a second', &
      '  --quiet            print nothing but errors', &
      '  --summary FILE     write a summary as JSON at the end ("-": to standard output)', &
      '  --help             this text'
    call exit_with(0)
  end subroutine show_help

end module flow_options
