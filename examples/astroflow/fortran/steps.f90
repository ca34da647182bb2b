! Some time steps of a problem, for the test that compares them with those of the C++ solver.
! Fortran 2003.
module flow_steps
  use, intrinsic :: iso_c_binding, only: c_double, c_int
  use flow_problems, only: GAMMA, set_initial_state
  use flow_run, only: total
  use flow_solver
  implicit none
  private
  public :: fortran_steps

contains

  ! The arrays are C's [ny][nx]. Returns the time reached, below 0 where the gas broke; the mass at
  ! the end is told.
  function fortran_steps(problem, wall_x, wall_y, nx, ny, steps, density, momentum_x, &
    momentum_y, energy, pressure, tracer, mass) bind(C) result(time)
    integer(c_int), value :: problem, wall_x, wall_y, nx, ny, steps
    real(c_double), intent(inout), target :: density(nx, ny), momentum_x(nx, ny), momentum_y(nx, ny)
    real(c_double), intent(inout), target :: energy(nx, ny), pressure(nx, ny), tracer(nx, ny)
    real(c_double), intent(out) :: mass
    real(c_double) :: time, dt
    type(flow_gas) :: gas
    type(solver_t) :: solver
    logical :: is_gas
    integer :: step

    gas%density => density
    gas%momentum_x => momentum_x
    gas%momentum_y => momentum_y
    gas%energy => energy
    gas%pressure => pressure
    gas%tracer => tracer
    call set_initial_state(problem, gas)
    solver = new_solver(nx, ny, GAMMA, wall_x, wall_y)
    time = 0
    is_gas = .true.
    do step = 1, steps
      call time_step(solver, gas, 0.4_c_double, 1.0_c_double, dt, is_gas)
      if (.not. is_gas) exit
      time = time + dt
    end do
    mass = total(gas%density)
    if (.not. is_gas) time = -1
  end function fortran_steps

end module flow_steps
