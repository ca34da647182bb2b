! The standard problems: what the gas is at time 0, how long to run, and its walls. Numbers and
! names are those of ../solver/problems.cc; the kinds are flow_problem's
! of astroflow.x. Fortran 2003.
module flow_problems
  use, intrinsic :: iso_c_binding, only: dp => c_double
  use flow_solver, only: flow_gas, OUTFLOW, PERIODIC
  implicit none
  private
  public :: problem_t, problems, problem_named, set_initial_state, GAMMA, CELLS

  integer, parameter :: CELLS = 256
  real(dp), parameter :: GAMMA = 1.4_dp
  real(dp), parameter :: PI = 3.141592653589793238_dp

  type :: problem_t
    character(len=4) :: name
    real(dp) :: cfl, end_time
    integer :: wall_x, wall_y
    ! That a run to end_time is cut into unless told otherwise.
    integer :: frames
  end type problem_t

  type(problem_t), parameter :: problems(4) = (/ &
    problem_t('sod ', 0.4_dp, 0.2_dp, OUTFLOW, PERIODIC, 150), &
    problem_t('lax ', 0.4_dp, 0.13_dp, OUTFLOW, PERIODIC, 150), &
    problem_t('lw3 ', 0.4_dp, 0.3_dp, OUTFLOW, OUTFLOW, 300), &
    problem_t('kh  ', 0.4_dp, 2.0_dp, PERIODIC, PERIODIC, 800) /)

contains

  ! 0 if no problem has the name.
  pure function problem_named(name) result(kind_number)
    character(len=*), intent(in) :: name
    integer :: kind_number

    do kind_number = size(problems), 1, -1
      if (problems(kind_number)%name == name) exit
    end do
  end function problem_named

  subroutine set_initial_state(kind_number, u)
    integer, intent(in) :: kind_number
    type(flow_gas), intent(in) :: u
    real(dp) :: rho, vx, vy, p, fraction, h
    integer :: i, j

    h = 1.0_dp / size(u%density, 1)
    do j = 1, size(u%density, 2)
      do i = 1, size(u%density, 1)
        call initial(kind_number, (i - 0.5_dp) * h, (j - 0.5_dp) * h, rho, vx, vy, p, fraction)
        u%density(i, j) = rho
        u%momentum_x(i, j) = rho * vx
        u%momentum_y(i, j) = rho * vy
        u%energy(i, j) = p / (GAMMA - 1) + 0.5_dp * (rho * (vx * vx + vy * vy))
        u%pressure(i, j) = p
        u%tracer(i, j) = rho * fraction
      end do
    end do
  end subroutine set_initial_state

  pure subroutine initial(kind_number, x, y, rho, vx, vy, p, fraction)
    integer, intent(in) :: kind_number
    real(dp), intent(in) :: x, y
    real(dp), intent(out) :: rho, vx, vy, p, fraction
    real(dp) :: state(5)

    select case (kind_number)
    case (1)
      state = merge((/ 1.0_dp, 0.0_dp, 0.0_dp, 1.0_dp, 1.0_dp /), &
        (/ 0.125_dp, 0.0_dp, 0.0_dp, 0.1_dp, 0.0_dp /), x < 0.5_dp)
    case (2)
      state = merge((/ 0.445_dp, 0.698_dp, 0.0_dp, 3.528_dp, 1.0_dp /), &
        (/ 0.5_dp, 0.0_dp, 0.0_dp, 0.571_dp, 0.0_dp /), x < 0.5_dp)
    case (3)
      state = four_states(x >= 0.5_dp, y >= 0.5_dp)
    case default
      state = sliding_band(x, y)
    end select
    rho = state(1)
    vx = state(2)
    vy = state(3)
    p = state(4)
    fraction = state(5)
  end subroutine initial

  ! Liska and Wendroff's configuration 3: mirror images of each other about
  ! the diagonal; four shocks.
  pure function four_states(right, upper) result(state)
    logical, intent(in) :: right, upper
    real(dp) :: state(5)

    if (right .and. upper) then
      state = (/ 1.5_dp, 0.0_dp, 0.0_dp, 1.5_dp, 0.0_dp /)
    else if (right) then
      state = (/ 0.5323_dp, 0.0_dp, 1.206_dp, 0.3_dp, 0.0_dp /)
    else if (upper) then
      state = (/ 0.5323_dp, 1.206_dp, 0.0_dp, 0.3_dp, 0.0_dp /)
    else
      state = (/ 0.138_dp, 1.206_dp, 1.206_dp, 0.029_dp, 1.0_dp /)
    end if
  end function four_states

  ! A heavy band that slides through a light gas, its edges smooth and nudged sideways,
  ! twice in the box.
  pure function sliding_band(x, y) result(state)
    real(dp), intent(in) :: x, y
    real(dp) :: state(5), band, push
    real(dp), parameter :: EDGE = 0.01_dp, NUDGE = 0.05_dp

    band = 0.5_dp * (tanh((y - 0.25_dp) / EDGE) - tanh((y - 0.75_dp) / EDGE))
    push = NUDGE * sin(4 * PI * x)
    state = (/ 1 + band, band - 0.5_dp, push * (bump(y - 0.25_dp) + bump(y - 0.75_dp)), 2.5_dp, &
      band /)
  end function sliding_band

  pure function bump(d) result(height)
    real(dp), intent(in) :: d
    real(dp) :: height
    real(dp), parameter :: REACH = 0.05_dp

    height = exp(-(d * d) / (2 * REACH * REACH))
  end function bump

end module flow_problems
