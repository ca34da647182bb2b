! The functions of interweave.h as Fortran sees C. Programs use module `interweave`, which is over
! this one. Fortran 2003.
module interweave_c
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_funptr, c_int, c_int64_t, c_ptr, &
    c_size_t
  use interweave_constants, only: IW_block_t
  use interweave_interface, only: IW_open_options, IW_stats_t
  implicit none
  private :: c_char, c_double, c_funptr, c_int, c_int64_t, c_ptr, c_size_t, IW_block_t, &
    IW_open_options, IW_stats_t

  ! What several functions take and return.
  abstract interface
    function status_of_segment(h) bind(C) result(answer)
      import :: c_int, c_ptr
      type(c_ptr), value :: h
      integer(c_int) :: answer
    end function status_of_segment

    function status_of_listener(h, f, arg) bind(C) result(answer)
      import :: c_funptr, c_int, c_ptr
      type(c_ptr), value :: h
      type(c_funptr), value :: f
      type(c_ptr), value :: arg
      integer(c_int) :: answer
    end function status_of_listener

    function number() bind(C) result(answer)
      import :: c_int
      integer(c_int) :: answer
    end function number

    function pointer_of_text(text) bind(C) result(answer)
      import :: c_char, c_ptr
      character(kind=c_char), intent(in) :: text(*)
      type(c_ptr) :: answer
    end function pointer_of_text

    function pointer_of_two(h, other) bind(C) result(answer)
      import :: c_ptr
      type(c_ptr), value :: h
      type(c_ptr), value :: other
      type(c_ptr) :: answer
    end function pointer_of_two
  end interface
  private :: status_of_segment, status_of_listener, number, pointer_of_text, pointer_of_two

  procedure(status_of_segment), bind(C, name="IW_close_segment") :: c_close_segment
  procedure(status_of_segment), bind(C, name="IW_rl_acquire") :: c_rl_acquire
  procedure(status_of_segment), bind(C, name="IW_rl_release") :: c_rl_release
  procedure(status_of_segment), bind(C, name="IW_wl_acquire") :: c_wl_acquire
  procedure(status_of_segment), bind(C, name="IW_wl_release") :: c_wl_release
  procedure(status_of_segment), bind(C, name="IW_wl_abort") :: c_wl_abort
  procedure(status_of_segment), bind(C, name="IW_refresh") :: c_refresh
  procedure(status_of_listener), bind(C, name="IW_set_coherence_fn") :: c_set_coherence_fn
  procedure(status_of_listener), bind(C, name="IW_on_change") :: c_on_change
  procedure(status_of_listener), bind(C, name="IW_on_connection") :: c_on_connection
  procedure(number), bind(C, name="IW_event_fd") :: c_event_fd
  procedure(number), bind(C, name="IW_dispatch") :: c_dispatch
  procedure(number), bind(C, name="IW_errno") :: c_errno
  procedure(pointer_of_text), bind(C, name="IW_open_segment") :: c_open_segment
  procedure(pointer_of_text), bind(C, name="IW_mip_to_ptr") :: c_mip_to_ptr
  procedure(pointer_of_two), bind(C, name="IW_malloc") :: c_malloc
  procedure(pointer_of_two), bind(C, name="IW_next_block") :: c_next_block

  interface
    function c_open_segment_with(url, options) bind(C, name="IW_open_segment_with") result(answer)
      import :: c_char, IW_open_options, c_ptr
      character(kind=c_char), intent(in) :: url(*)
      type(IW_open_options), intent(in) :: options
      type(c_ptr) :: answer
    end function c_open_segment_with

    function c_version(h) bind(C, name="IW_version") result(answer)
      import :: c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int64_t) :: answer
    end function c_version

    function c_rl_acquire_for(h, seconds, flags) bind(C, name="IW_rl_acquire_for") result(answer)
      import :: c_double, c_int, c_ptr
      type(c_ptr), value :: h
      real(c_double), value :: seconds
      integer(c_int), value :: flags
      integer(c_int) :: answer
    end function c_rl_acquire_for

    function c_wl_acquire_for(h, seconds) bind(C, name="IW_wl_acquire_for") result(answer)
      import :: c_double, c_int, c_ptr
      type(c_ptr), value :: h
      real(c_double), value :: seconds
      integer(c_int) :: answer
    end function c_wl_acquire_for

    function c_set_coherence(h, model, x) bind(C, name="IW_set_coherence") result(answer)
      import :: c_double, c_int, c_ptr
      type(c_ptr), value :: h
      integer(c_int), value :: model
      real(c_double), value :: x
      integer(c_int) :: answer
    end function c_set_coherence

    function c_staleness(h, seconds) bind(C, name="IW_staleness") result(answer)
      import :: c_double, c_int, c_ptr
      type(c_ptr), value :: h
      real(c_double), intent(out) :: seconds
      integer(c_int) :: answer
    end function c_staleness

    function c_malloc_named(h, t, name) bind(C, name="IW_malloc_named") result(answer)
      import :: c_char, c_ptr
      type(c_ptr), value :: h
      type(c_ptr), value :: t
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr) :: answer
    end function c_malloc_named

    function c_find(h, name) bind(C, name="IW_find") result(answer)
      import :: c_char, c_ptr
      type(c_ptr), value :: h
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr) :: answer
    end function c_find

    function c_find_or_malloc_array(h, t, count, name) bind(C, name="IW_find_or_malloc_array") &
        result(answer)
      import :: c_char, c_ptr, c_size_t
      type(c_ptr), value :: h
      type(c_ptr), value :: t
      integer(c_size_t), value :: count
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr) :: answer
    end function c_find_or_malloc_array

    function c_malloc_array(h, t, count, name) bind(C, name="IW_malloc_array") result(answer)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: h
      type(c_ptr), value :: t
      integer(c_size_t), value :: count
      type(c_ptr), value :: name
      type(c_ptr) :: answer
    end function c_malloc_array

    function c_free(h, block) bind(C, name="IW_free") result(answer)
      import :: c_int, c_ptr
      type(c_ptr), value :: h
      type(c_ptr), value :: block
      integer(c_int) :: answer
    end function c_free

    function c_assign(h, field, src, count) bind(C, name="IW_assign") result(answer)
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), value :: h
      type(c_ptr), value :: field
      type(c_ptr), value :: src
      integer(c_size_t), value :: count
      integer(c_int) :: answer
    end function c_assign

    function c_describe_block(h, p, out) bind(C, name="IW_describe_block") result(answer)
      import :: IW_block_t, c_int, c_ptr
      type(c_ptr), value :: h
      type(c_ptr), value :: p
      type(IW_block_t), intent(inout) :: out
      integer(c_int) :: answer
    end function c_describe_block

    function c_ptr_to_mip(p) bind(C, name="IW_ptr_to_mip") result(answer)
      import :: c_ptr
      type(c_ptr), value :: p
      type(c_ptr) :: answer
    end function c_ptr_to_mip

    subroutine c_mip_free(mip) bind(C, name="IW_mip_free")
      import :: c_ptr
      type(c_ptr), value :: mip
    end subroutine c_mip_free

    function c_stats(h, out) bind(C, name="IW_stats") result(answer)
      import :: IW_stats_t, c_int, c_ptr
      type(c_ptr), value :: h
      type(IW_stats_t), intent(inout) :: out
      integer(c_int) :: answer
    end function c_stats

    subroutine c_set_log(f, arg) bind(C, name="IW_set_log")
      import :: c_funptr, c_ptr
      type(c_funptr), value :: f
      type(c_ptr), value :: arg
    end subroutine c_set_log

    function c_strerror() bind(C, name="IW_strerror") result(answer)
      import :: c_ptr
      type(c_ptr) :: answer
    end function c_strerror
  end interface
end module interweave_c
