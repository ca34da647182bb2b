! The loops of the solver, each over a row of cells or faces, without branches, so that the compiler
! makes vector code of them. Operations and their order are those of ../solver, which is what makes
! the results equal to the last bit. Fortran 2003.
module flow_kernels
  use, intrinsic :: iso_c_binding, only: dp => c_double
  implicit none
  private
  public :: primitives_of_row, derive_pressure, reconstruct_row, hllc_row, euler_row, average_row
  public :: X_VELOCITY, Y_VELOCITY

  ! Which variable of a row is the velocity along the axis.
  integer, parameter :: X_VELOCITY = 2, Y_VELOCITY = 3

contains

  ! `fastest` and `lowest` go over all rows: the largest (|u| + c) + (|v| + c) of a column, and the
  ! lowest pressure, for which zero stands where a cell is not a gas.
  pure subroutine primitives_of_row(n, gamma, density, mx, my, energy, tracer, rho, vx, vy, p, &
    fraction, fastest, lowest)
    integer, intent(in) :: n
    real(dp), intent(in) :: gamma
    real(dp), intent(in) :: density(n), mx(n), my(n), energy(n), tracer(n)
    real(dp), intent(out) :: rho(n), vx(n), vy(n), p(n), fraction(n)
    real(dp), intent(inout) :: fastest(n), lowest(n)
    real(dp) :: inverse, c, speed, counted
    integer :: i

    do i = 1, n
      inverse = 1 / density(i)
      rho(i) = density(i)
      vx(i) = mx(i) * inverse
      vy(i) = my(i) * inverse
      p(i) = (gamma - 1) * (energy(i) - 0.5_dp * (density(i) * (vx(i) * vx(i) + vy(i) * vy(i))))
      fraction(i) = tracer(i) * inverse
      c = sqrt(gamma * p(i) * inverse)
      speed = (abs(vx(i)) + c) + (abs(vy(i)) + c)
      fastest(i) = merge(speed, fastest(i), speed > fastest(i))
      ! Every comparison with a NaN is false.
      counted = merge(p(i), 0.0_dp, density(i) > 0 .and. p(i) > 0)
      lowest(i) = merge(counted, lowest(i), counted < lowest(i))
    end do
  end subroutine primitives_of_row

  pure subroutine derive_pressure(n, gamma, density, mx, my, energy, pressure)
    integer, intent(in) :: n
    real(dp), intent(in) :: gamma
    real(dp), intent(in) :: density(n), mx(n), my(n), energy(n)
    real(dp), intent(out) :: pressure(n)
    integer :: i

    do i = 1, n
      pressure(i) = (gamma - 1) &
        * (energy(i) - 0.5_dp * (mx(i) * mx(i) + my(i) * my(i)) / density(i))
    end do
  end subroutine derive_pressure

  ! The values at the two faces of each cell, with a slope that creates no new extrema (monotonised
  ! central limiter).
  pure subroutine reconstruct_row(n, before, cell, after, low_face, high_face)
    integer, intent(in) :: n
    real(dp), intent(in) :: before(n), cell(n), after(n)
    real(dp), intent(out) :: low_face(n), high_face(n)
    real(dp) :: a, b, limit, central, half_slope
    integer :: i

    do i = 1, n
      a = cell(i) - before(i)
      b = after(i) - cell(i)
      central = 0.5_dp * abs(a + b)
      limit = min(min(2 * abs(a), 2 * abs(b)), central)
      half_slope = merge(sign(0.5_dp * limit, a), 0.0_dp, a * b > 0)
      low_face(i) = cell(i) - half_slope
      high_face(i) = cell(i) + half_slope
    end do
  end subroutine reconstruct_row

  ! The HLLC flux with Einfeldt's wave speeds through n faces, whose states are the first n of rows
  ! that are `left_length` and `right_length` long; flux(:, normal) is that of the
  ! momentum along the axis.
  pure subroutine hllc_row(n, gamma, normal, left, left_length, right, right_length, flux)
    integer, intent(in) :: n, normal, left_length, right_length
    real(dp), intent(in) :: gamma
    real(dp), intent(in) :: left(left_length, *), right(right_length, *)
    real(dp), intent(out) :: flux(n, 5)
    integer :: across

    across = X_VELOCITY + Y_VELOCITY - normal
    call hllc(n, gamma, left(1, 1), left(1, normal), left(1, across), left(1, 4), left(1, 5), &
      right(1, 1), right(1, normal), right(1, across), right(1, 4), right(1, 5), &
      flux(1, 1), flux(1, normal), flux(1, across), flux(1, 4), flux(1, 5))
  end subroutine hllc_row

  pure subroutine hllc(n, gamma, rl, ul, tl, pl, cl, rr, ur, tr, pr, cr, mass, along, across, &
    energy, tracer)
    integer, intent(in) :: n
    real(dp), intent(in) :: gamma
    real(dp), intent(in) :: rl(n), ul(n), tl(n), pl(n), cl(n), rr(n), ur(n), tr(n), pr(n), cr(n)
    real(dp), intent(out) :: mass(n), along(n), across(n), energy(n), tracer(n)
    real(dp) :: slowest, fastest, m_l, m_r, contact, rho, u, t, p, c, m, speed, e, inverse, &
      p_star, e_star
    real(dp) :: rho_face, u_face, p_face, e_face, inverse_gamma_1
    logical :: from_left, inside
    integer :: i

    inverse_gamma_1 = 1 / (gamma - 1)
    do i = 1, n
      call einfeldt_speeds(gamma, rl(i), ul(i), pl(i), rr(i), ur(i), pr(i), slowest, fastest)
      m_l = rl(i) * (slowest - ul(i))
      m_r = rr(i) * (fastest - ur(i))
      contact = ((pr(i) - pl(i)) + (m_l * ul(i) - m_r * ur(i))) / (m_l - m_r)

      ! The side of the contact on which the face stands.
      from_left = contact >= 0
      rho = merge(rl(i), rr(i), from_left)
      u = merge(ul(i), ur(i), from_left)
      t = merge(tl(i), tr(i), from_left)
      p = merge(pl(i), pr(i), from_left)
      c = merge(cl(i), cr(i), from_left)
      m = merge(m_l, m_r, from_left)
      speed = merge(slowest, fastest, from_left)
      e = p * inverse_gamma_1 + 0.5_dp * rho * (u * u + t * t)

      ! Inside the fan the face sees the star state, outside it the undisturbed one.
      inside = slowest < 0 .and. fastest > 0
      inverse = 1 / (speed - contact)
      p_star = p + m * (contact - u)
      e_star = ((speed - u) * e - p * u + p_star * contact) * inverse
      rho_face = merge(m * inverse, rho, inside)
      u_face = merge(contact, u, inside)
      p_face = merge(p_star, p, inside)
      e_face = merge(e_star, e, inside)

      mass(i) = rho_face * u_face
      along(i) = rho_face * u_face * u_face + p_face
      across(i) = rho_face * u_face * t
      energy(i) = u_face * (e_face + p_face)
      tracer(i) = rho_face * u_face * c
    end do
  end subroutine hllc

  pure subroutine einfeldt_speeds(gamma, rho_l, u_l, p_l, rho_r, u_r, p_r, left, right)
    real(dp), intent(in) :: gamma, rho_l, u_l, p_l, rho_r, u_r, p_r
    real(dp), intent(out) :: left, right
    real(dp) :: c2_l, c2_r, weight_l, weight_r, inverse, u_roe, du, c_roe

    c2_l = gamma * p_l / rho_l
    c2_r = gamma * p_r / rho_r
    weight_l = sqrt(rho_l)
    weight_r = sqrt(rho_r)
    inverse = 1 / (weight_l + weight_r)
    u_roe = (weight_l * u_l + weight_r * u_r) * inverse
    du = u_r - u_l
    c_roe = sqrt((weight_l * c2_l + weight_r * c2_r) * inverse + &
      0.5_dp * weight_l * weight_r * (inverse * inverse) * (du * du))
    left = min(u_l - sqrt(c2_l), u_roe - c_roe)
    right = max(u_r + sqrt(c2_r), u_roe + c_roe)
  end subroutine einfeldt_speeds

  ! The first stage: an Euler step.
  pure subroutine euler_row(n, u, west, south, north, dt_over_h, after)
    integer, intent(in) :: n
    real(dp), intent(in) :: u(n), west(n + 1), south(n), north(n), dt_over_h
    real(dp), intent(out) :: after(n)
    integer :: i

    do i = 1, n
      after(i) = u(i) + dt_over_h * ((west(i) - west(i + 1)) + (south(i) - north(i)))
    end do
  end subroutine euler_row

  ! The second stage: `u` becomes the average of itself and the second Euler step.
  pure subroutine average_row(n, u, predicted, west, south, north, dt_over_h)
    integer, intent(in) :: n
    real(dp), intent(inout) :: u(n)
    real(dp), intent(in) :: predicted(n), west(n + 1), south(n), north(n), dt_over_h
    integer :: i

    do i = 1, n
      u(i) = 0.5_dp * u(i) + &
        0.5_dp * (predicted(i) + dt_over_h * ((west(i) - west(i + 1)) + (south(i) - north(i))))
    end do
  end subroutine average_row

end module flow_kernels
