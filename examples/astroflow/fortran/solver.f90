! The time step of the compressible-gas solver, as ../solver has it in C++ and with its results to
! the last bit: finite volumes, MUSCL reconstruction of the primitive variables, HLLC fluxes along
! both axes at once and the two-stage strong-stability-preserving Runge-Kutta method. Nothing here
! knows where the gas lies: in allocated memory, or in the blocks of a shared segment. Fortran 2003.
!
! One sweep handles the box row by row, so that a row's faces, fluxes and update stay in the cache.
module flow_solver
  use, intrinsic :: iso_c_binding, only: dp => c_double
  use flow_kernels
  implicit none
  private
  public :: flow_gas, solver_t, new_solver, time_step, PERIODIC, REFLECTING, OUTFLOW

  ! What lies beyond a wall: the other side, a mirror, the last cell for ever.
  integer, parameter :: PERIODIC = 1, REFLECTING = 2, OUTFLOW = 3

  ! The six arrays, nx by ny cells of size 1/nx; density to energy and tracer are the state.
  type :: flow_gas
    real(dp), pointer :: density(:, :) => null()
    real(dp), pointer :: momentum_x(:, :) => null()
    real(dp), pointer :: momentum_y(:, :) => null()
    real(dp), pointer :: energy(:, :) => null()
    real(dp), pointer :: pressure(:, :) => null()
    real(dp), pointer :: tracer(:, :) => null()
  end type flow_gas

  ! Scratch space only. Rows hold density, x velocity, y velocity, pressure, tracer fraction.
  type :: solver_t
    private
    integer :: nx, ny
    real(dp) :: gamma
    integer :: wall_x, wall_y
    ! With two cells more on every side: (column, variable, row).
    real(dp), allocatable :: cells(:, :, :)
    real(dp), allocatable :: fastest(:), lowest_pressure(:)
    ! After the first stage, (column, variable, row): density, momentum, energy, tracer.
    real(dp), allocatable :: predicted(:, :, :)
    real(dp), allocatable :: row_low(:, :), row_high(:, :), row_flux(:, :)
    ! Fluxes and upper sides of two rows each: of the one before, and the newer one.
    real(dp), allocatable :: column_low(:, :), column_high(:, :, :), column_flux(:, :, :)
  end type solver_t

contains

  function new_solver(nx, ny, gamma, wall_x, wall_y) result(s)
    integer, intent(in) :: nx, ny, wall_x, wall_y
    real(dp), intent(in) :: gamma
    type(solver_t) :: s

    s%nx = nx
    s%ny = ny
    s%gamma = gamma
    s%wall_x = wall_x
    s%wall_y = wall_y
    allocate (s%cells(-1:nx + 2, 5, -1:ny + 2), s%fastest(nx), s%lowest_pressure(nx))
    allocate (s%predicted(nx, 5, ny))
    allocate (s%row_low(0:nx + 1, 5), s%row_high(0:nx + 1, 5), s%row_flux(0:nx, 5))
    allocate (s%column_low(nx, 5), s%column_high(nx, 5, 2), s%column_flux(nx, 5, 2))
  end function new_solver

  ! Advances the gas as long as `cfl` allows, but not longer than `dt_limit`. Where `is_gas` comes
  ! back false, density or pressure fell to zero, and the arrays are of no use any more.
  subroutine time_step(s, u, cfl, dt_limit, dt, is_gas)
    type(solver_t), intent(inout) :: s
    type(flow_gas), intent(in) :: u
    real(dp), intent(in) :: cfl, dt_limit
    real(dp), intent(out) :: dt
    logical, intent(out) :: is_gas

    dt = 0
    call fill_from_gas(s, u)
    is_gas = minval(s%lowest_pressure) > 0 .and. maxval(s%fastest) <= huge(dt)
    if (.not. is_gas) return
    dt = min(cfl * (1.0_dp / s%nx) / maxval(s%fastest), dt_limit)
    call sweep(s, u, dt, .true.)
    call fill_from_predicted(s)
    is_gas = minval(s%lowest_pressure) > 0
    if (.not. is_gas) return
    call sweep(s, u, dt, .false.)
    call derive_pressure(size(u%pressure), s%gamma, u%density, u%momentum_x, u%momentum_y, &
      u%energy, u%pressure)
  end subroutine time_step

  subroutine fill_from_gas(s, u)
    type(solver_t), intent(inout) :: s
    type(flow_gas), intent(in) :: u
    integer :: j

    call begin_fill(s)
    do j = 1, s%ny
      call primitives_of_row(s%nx, s%gamma, u%density(:, j), u%momentum_x(:, j), &
        u%momentum_y(:, j), u%energy(:, j), u%tracer(:, j), &
        s%cells(1:s%nx, 1, j), s%cells(1:s%nx, 2, j), &
        s%cells(1:s%nx, 3, j), s%cells(1:s%nx, 4, j), s%cells(1:s%nx, 5, j), s%fastest, &
        s%lowest_pressure)
    end do
    call fill_ghosts(s)
  end subroutine fill_from_gas

  subroutine fill_from_predicted(s)
    type(solver_t), intent(inout) :: s
    integer :: j

    call begin_fill(s)
    do j = 1, s%ny
      call primitives_of_row(s%nx, s%gamma, s%predicted(:, 1, j), s%predicted(:, 2, j), &
        s%predicted(:, 3, j), s%predicted(:, 4, j), s%predicted(:, 5, j), s%cells(1:s%nx, 1, j), &
        s%cells(1:s%nx, 2, j), s%cells(1:s%nx, 3, j), s%cells(1:s%nx, 4, j), &
        s%cells(1:s%nx, 5, j), s%fastest, s%lowest_pressure)
    end do
    call fill_ghosts(s)
  end subroutine fill_from_predicted

  subroutine begin_fill(s)
    type(solver_t), intent(inout) :: s

    s%fastest = 0
    s%lowest_pressure = huge(s%lowest_pressure)
  end subroutine begin_fill

  subroutine fill_ghosts(s)
    type(solver_t), intent(inout) :: s
    integer :: depth, j, k
    real(dp) :: sign_x, sign_y

    do k = 1, 5
      sign_x = merge(-1.0_dp, 1.0_dp, s%wall_x == REFLECTING .and. k == 2)
      sign_y = merge(-1.0_dp, 1.0_dp, s%wall_y == REFLECTING .and. k == 3)
      do depth = 1, 2
        do j = 1, s%ny
          s%cells(1 - depth, k, j) = sign_x * s%cells(source(s%wall_x, s%nx, depth, .true.), k, j)
          s%cells(s%nx + depth, k, j) = sign_x * s%cells(source(s%wall_x, s%nx, depth, .false.), &
            k, j)
        end do
        s%cells(1:s%nx, k, 1 - depth) = &
          sign_y * s%cells(1:s%nx, k, source(s%wall_y, s%ny, depth, .true.))
        s%cells(1:s%nx, k, s%ny + depth) = &
          sign_y * s%cells(1:s%nx, k, source(s%wall_y, s%ny, depth, .false.))
      end do
    end do
  end subroutine fill_ghosts

  ! The cell whose value a ghost `depth` cells outside the low or the high wall takes.
  pure function source(wall, n, depth, low) result(index)
    integer, intent(in) :: wall, n, depth
    logical, intent(in) :: low
    integer :: index

    select case (wall)
    case (PERIODIC)
      index = merge(n + 1 - depth, depth, low)
    case (REFLECTING)
      index = merge(depth, n + 1 - depth, low)
    case default
      index = merge(1, n, low)
    end select
  end function source

  ! One Runge-Kutta stage: fluxes along a row, and through the side it shares with the row above it.
  subroutine sweep(s, u, dt, is_first)
    type(solver_t), intent(inout) :: s
    type(flow_gas), intent(in) :: u
    real(dp), intent(in) :: dt
    logical, intent(in) :: is_first
    integer :: j, lower, upper
    real(dp) :: dt_over_h

    dt_over_h = dt / (1.0_dp / s%nx)
    lower = 1
    upper = 2
    call reconstruct_for_columns(s, 0, upper)
    do j = 1, s%ny + 1
      lower = upper
      upper = 3 - lower
      call reconstruct_for_columns(s, j, upper)
      call hllc_row(s%nx, s%gamma, Y_VELOCITY, s%column_high(1, 1, lower), s%nx, s%column_low, &
        s%nx, s%column_flux(1, 1, upper))
      if (j == 1) cycle
      call fluxes_along_row(s, j - 1)
      if (is_first) then
        call predict_row(s, u, j - 1, dt_over_h, lower, upper)
      else
        call correct_row(s, u, j - 1, dt_over_h, lower, upper)
      end if
    end do
  end subroutine sweep

  subroutine reconstruct_for_columns(s, j, newer)
    type(solver_t), intent(inout) :: s
    integer, intent(in) :: j, newer
    integer :: k

    do k = 1, 5
      call reconstruct_row(s%nx, s%cells(1:s%nx, k, j - 1), s%cells(1:s%nx, k, j), &
        s%cells(1:s%nx, k, j + 1), s%column_low(:, k), s%column_high(:, k, newer))
    end do
  end subroutine reconstruct_for_columns

  subroutine fluxes_along_row(s, j)
    type(solver_t), intent(inout) :: s
    integer, intent(in) :: j
    integer :: k

    ! One cell more on either side, for the outermost faces.
    do k = 1, 5
      call reconstruct_row(s%nx + 2, s%cells(-1:s%nx, k, j), s%cells(0:s%nx + 1, k, j), &
        s%cells(1:s%nx + 2, k, j), s%row_low(:, k), s%row_high(:, k))
    end do
    call hllc_row(s%nx + 1, s%gamma, X_VELOCITY, s%row_high(0, 1), s%nx + 2, s%row_low(1, 1), &
      s%nx + 2, s%row_flux)
  end subroutine fluxes_along_row

  subroutine predict_row(s, u, j, dt_over_h, lower, upper)
    type(solver_t), intent(inout) :: s
    type(flow_gas), intent(in) :: u
    integer, intent(in) :: j, lower, upper
    real(dp), intent(in) :: dt_over_h

    call predict(1, u%density(:, j))
    call predict(2, u%momentum_x(:, j))
    call predict(3, u%momentum_y(:, j))
    call predict(4, u%energy(:, j))
    call predict(5, u%tracer(:, j))

  contains

    subroutine predict(k, state)
      integer, intent(in) :: k
      real(dp), intent(in) :: state(s%nx)

      call euler_row(s%nx, state, s%row_flux(:, k), s%column_flux(:, k, lower), &
        s%column_flux(:, k, upper), dt_over_h, s%predicted(:, k, j))
    end subroutine predict

  end subroutine predict_row

  subroutine correct_row(s, u, j, dt_over_h, lower, upper)
    type(solver_t), intent(in) :: s
    type(flow_gas), intent(in) :: u
    integer, intent(in) :: j, lower, upper
    real(dp), intent(in) :: dt_over_h

    call correct(1, u%density(:, j))
    call correct(2, u%momentum_x(:, j))
    call correct(3, u%momentum_y(:, j))
    call correct(4, u%energy(:, j))
    call correct(5, u%tracer(:, j))

  contains

    subroutine correct(k, state)
      integer, intent(in) :: k
      real(dp), intent(inout) :: state(s%nx)

      call average_row(s%nx, state, s%predicted(:, k, j), s%row_flux(:, k), &
        s%column_flux(:, k, lower), s%column_flux(:, k, upper), dt_over_h)
    end subroutine correct

  end subroutine correct_row

end module flow_solver
