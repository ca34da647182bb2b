! astroflow-plain: a solver as one is written without InterWeave. Every frame goes into a file:
!   astroflow-plain PROBLEM FRAMES DIRECTORY
! Prints the mean time of a frame and the checksum of the last one. docs/fortran.md shows what
! changes in it (shared.f90) so that others can look on. Fortran 2003.
program plain
  use flow_arguments
  use flow_problems
  use flow_run
  use flow_solver, only: flow_gas
  implicit none
  type(flow_gas) :: gas
  type(run_t) :: run
  integer :: frame

  call read_arguments()
  call place_arrays()
  run = new_run(problem, 0d0, frames, gas)
  call begin_timing()
  do frame = 1, frames
    call advance_frame(run)
    call publish()
  end do
  call report(checksum(gas))

contains

  subroutine place_arrays()
    allocate (gas%density(CELLS, CELLS), gas%momentum_x(CELLS, CELLS), gas%momentum_y(CELLS, CELLS))
    allocate (gas%energy(CELLS, CELLS), gas%pressure(CELLS, CELLS), gas%tracer(CELLS, CELLS))
  end subroutine place_arrays

  subroutine publish()
    character(len=20) :: name

    write (name, '("frame-", i6.6)') frame
    open (unit=10, file=trim(place) // '/' // name, form='unformatted', access='stream', &
      status='replace')
    write (10) frame, run%time
    write (10) gas%density, gas%momentum_x, gas%momentum_y, gas%energy, gas%pressure, gas%tracer
    close (10)
  end subroutine publish

end program plain
