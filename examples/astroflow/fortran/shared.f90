! astroflow-shared: plain.f90 with its frames in a shared segment instead of files:
!   astroflow-shared PROBLEM FRAMES URL
! The gas is computed where it is shared, under the writer lock, which is given up and taken again after
! each frame. astroflow-viewer shows it. Fortran 2003.
program shared
  use astroflow
  use flow_arguments
  use flow_problems
  use flow_run
  use flow_solver, only: flow_gas
  use interweave
  use, intrinsic :: iso_c_binding, only: c_f_pointer
  implicit none
  type(flow_gas) :: gas
  type(run_t) :: run
  integer :: frame
  type(IW_handle_t) :: segment
  type(flow_header), pointer :: header

  call read_arguments()
  call place_arrays()
  run = new_run(problem, 0d0, frames, gas)
  call begin_timing()
  do frame = 1, frames
    call advance_frame(run)
    call publish()
  end do
  call report(checksum(gas))
  call finish()

contains

  subroutine place_arrays()
    segment = IW_open_segment(place)
    call check(IW_is_open(segment))
    call check(IW_wl_acquire(segment) == IW_OK)
    call c_f_pointer(IW_malloc_named(segment, IW_flow_header, 'header'), header)
    call check(associated(header))
    call place_field('density', gas%density)
    call place_field('momentum_x', gas%momentum_x)
    call place_field('momentum_y', gas%momentum_y)
    call place_field('energy', gas%energy)
    call place_field('pressure', gas%pressure)
    call place_field('tracer', gas%tracer)
  end subroutine place_arrays

  subroutine place_field(name, array)
    character(len=*), intent(in) :: name
    double precision, pointer, intent(out) :: array(:, :)

    call IW_array(IW_malloc_named(segment, IW_field, name), array, (/ FLOW_CELLS, FLOW_CELLS /))
    call check(associated(array))
  end subroutine place_field

  subroutine publish()
    header%nx = FLOW_CELLS
    header%ny = FLOW_CELLS
    header%problem = problem
    header%want_problem = problem
    header%status = merge(FLOW_RUNNING, FLOW_FINISHED, frame < frames)
    header%frame = frame
    header%time = run%time
    call check(IW_wl_release(segment) == IW_OK)
    call check(IW_wl_acquire(segment) == IW_OK)
  end subroutine publish

  subroutine finish()
    call check(IW_wl_release(segment) == IW_OK)
    call check(IW_close_segment(segment) == IW_OK)
  end subroutine finish

  subroutine check(holds)
    logical, intent(in) :: holds

    if (holds) return
    print '(2a)', 'astroflow-shared: ', IW_strerror()
    stop 1
  end subroutine check

end program shared
