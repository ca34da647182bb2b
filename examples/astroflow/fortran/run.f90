! A problem that is run to its end time in frames, over and over, as ../simulator/simulation.h has
! it. Knows nothing of segments and files. Fortran 2003.
module flow_run
  use, intrinsic :: iso_c_binding, only: dp => c_double, c_int64_t
  use flow_problems
  use flow_solver
  implicit none
  private
  public :: run_t, new_run, start, advance_frame, total, checksum

  type :: run_t
    integer :: problem
    integer :: frames_in_run
    ! 0: the problem's own.
    integer :: frames_asked
    real(dp) :: cfl
    real(dp) :: time
    real(dp) :: last_step
    integer(c_int64_t) :: steps
    integer :: frame_of_run
    integer :: breakdowns
    type(flow_gas) :: gas
    type(solver_t) :: solver
  end type run_t

contains

  ! `gas` is where the gas is to be kept; `cfl` 0 is the problem's own.
  function new_run(problem, cfl, frames, gas) result(run)
    integer, intent(in) :: problem, frames
    real(dp), intent(in) :: cfl
    type(flow_gas), intent(in) :: gas
    type(run_t) :: run

    run%gas = gas
    run%frames_asked = frames
    run%breakdowns = 0
    run%cfl = merge(cfl, problems(problem)%cfl, cfl > 0)
    call start(run, problem)
  end function new_run

  ! Begins a problem at time 0.
  subroutine start(run, problem)
    type(run_t), intent(inout) :: run
    integer, intent(in) :: problem
    type(problem_t) :: p

    p = problems(problem)
    run%problem = problem
    run%frames_in_run = merge(run%frames_asked, p%frames, run%frames_asked > 0)
    run%time = 0
    run%last_step = 0
    run%steps = 0
    run%frame_of_run = 0
    run%solver = new_solver(size(run%gas%density, 1), size(run%gas%density, 2), GAMMA, p%wall_x, &
      p%wall_y)
    call set_initial_state(problem, run%gas)
  end subroutine start

  ! Computes until the next frame's time; after the run's last frame it begins the run anew. A gas
  ! that breaks down is started over at no more than the problem's own CFL number.
  subroutine advance_frame(run)
    type(run_t), intent(inout) :: run
    real(dp) :: left
    logical :: is_gas

    if (run%frame_of_run == run%frames_in_run) call start(run, run%problem)
    run%frame_of_run = run%frame_of_run + 1
    ! From the run's end backwards, so that the last frame is at the end time exactly.
    left = real(run%frames_in_run - run%frame_of_run, dp) / run%frames_in_run
    call advance_to(run, problems(run%problem)%end_time * (1 - left), is_gas)
    if (is_gas) return
    run%breakdowns = run%breakdowns + 1
    run%cfl = min(run%cfl, problems(run%problem)%cfl)
    call start(run, run%problem)
  end subroutine advance_frame

  subroutine advance_to(run, target_time, is_gas)
    type(run_t), intent(inout) :: run
    real(dp), intent(in) :: target_time
    logical, intent(out) :: is_gas
    real(dp) :: limit, dt

    is_gas = .true.
    do while (run%time < target_time)
      limit = target_time - run%time
      call time_step(run%solver, run%gas, run%cfl, limit, dt, is_gas)
      if (.not. is_gas) return
      run%last_step = dt
      run%time = merge(target_time, run%time + dt, dt >= limit)
      run%steps = run%steps + 1
    end do
  end subroutine advance_to

  ! Mass or energy in the whole box. Summed row by row, which keeps the rounding error small.
  pure function total(array) result(whole)
    real(dp), intent(in) :: array(:, :)
    real(dp) :: whole, row, h
    integer :: i, j

    whole = 0
    do j = 1, size(array, 2)
      row = 0
      do i = 1, size(array, 1)
        row = row + array(i, j)
      end do
      whole = whole + row
    end do
    h = 1.0_dp / size(array, 1)
    whole = whole * h * h
  end function total

  ! FNV-1a over the 64-bit patterns of the six arrays, as ../solver/checksum.cc has it.
  function checksum(gas) result(digits)
    type(flow_gas), intent(in) :: gas
    character(len=16) :: digits
    integer(c_int64_t) :: hash

    hash = -3750763034362895579_c_int64_t
    call add(gas%density)
    call add(gas%momentum_x)
    call add(gas%momentum_y)
    call add(gas%energy)
    call add(gas%pressure)
    call add(gas%tracer)
    write (digits, '(z16.16)') hash
    call to_lower_case(digits)

  contains

    ! Multiplied by 2**40 + 435, of which the overflow is dropped (this file is compiled to wrap).
    subroutine add(array)
      real(dp), intent(in) :: array(:, :)
      integer :: i, j

      do j = 1, size(array, 2)
        do i = 1, size(array, 1)
          hash = ieor(hash, transfer(array(i, j), hash))
          hash = ishft(hash, 40) + hash * 435
        end do
      end do
    end subroutine add

  end function checksum

  pure subroutine to_lower_case(digits)
    character(len=*), intent(inout) :: digits
    integer :: i

    do i = 1, len(digits)
      if (digits(i:i) >= 'A' .and. digits(i:i) <= 'F') digits(i:i) = achar(iachar(digits(i:i)) + 32)
    end do
  end subroutine to_lower_case

end module flow_run
