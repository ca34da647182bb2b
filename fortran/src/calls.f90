! The functions of interweave.h, with Fortran's strings and optional arguments. Programs use module
! `interweave`. Fortran 2003.
module interweave_calls
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_double, c_funptr, c_int, &
    c_int64_t, c_loc, c_null_ptr, c_ptr, c_size_t
  use interweave_arrays
  use interweave_c
  use interweave_constants
  use interweave_interface
  use interweave_text
  implicit none
  private
  public :: IW_open_segment, IW_open_segment_with, IW_is_open, IW_close_segment, IW_version
  public :: IW_rl_acquire, IW_rl_acquire_for, IW_rl_release
  public :: IW_wl_acquire, IW_wl_acquire_for, IW_wl_release, IW_wl_abort
  public :: IW_set_coherence, IW_set_coherence_fn, IW_refresh, IW_staleness
  public :: IW_malloc, IW_malloc_named, IW_malloc_array, IW_free, IW_assign, IW_next_block
  public :: IW_find, IW_find_or_malloc, IW_find_or_malloc_array, IW_describe_block
  public :: IW_ptr_to_mip, IW_mip_to_ptr, IW_on_change, IW_on_connection
  public :: IW_event_fd, IW_dispatch
  public :: IW_stats, IW_set_log, IW_errno, IW_strerror
  public :: IW_array, IW_text, IW_set_text

  ! Counts are of kind c_int or, beyond 2**31, c_int64_t.
  interface IW_malloc_array
    module procedure malloc_array, malloc_long_array
  end interface IW_malloc_array

  interface IW_find_or_malloc_array
    module procedure find_or_malloc_array, find_or_malloc_long_array
  end interface IW_find_or_malloc_array

  ! IW_assign(h, field, text), IW_assign(h, field, source, count)
  interface IW_assign
    module procedure assign_text, assign_elements, assign_many_elements
  end interface IW_assign

contains

  function IW_open_segment(url) result(h)
    character(len=*), intent(in) :: url
    type(IW_handle_t) :: h

    h%address = c_open_segment(c_string(url))
  end function IW_open_segment

  ! Flags: IW_CREATE + IW_READ_ONLY, or one of them, or none. Without IW_CREATE a missing segment is
  ! IW_ENO_SEGMENT.
  function IW_open_segment_with(url, flags, durability, timeout, token, quota_bytes, ca, cert, &
    key) result(h)
    character(len=*), intent(in) :: url
    integer(c_int), intent(in), optional :: flags, durability
    real(c_double), intent(in), optional :: timeout
    character(len=*), intent(in), optional :: token, ca, cert, key
    integer(c_int64_t), intent(in), optional :: quota_bytes
    type(IW_handle_t) :: h
    type(IW_open_options), target :: options

    options = IW_open_options(0, 0, 0, 0.0_c_double, c_null_ptr, 0, c_null_ptr, c_null_ptr, &
      c_null_ptr)
    options%size_bytes = size(transfer(options, (/ ' ' /)), kind=c_size_t)
    if (present(flags)) options%flags = flags
    if (present(durability)) options%durability = durability
    if (present(timeout)) options%timeout = timeout
    if (present(quota_bytes)) options%quota = quota_bytes
    h%address = open_with_texts(url, options, c_string(or_empty(token)), c_string(or_empty(ca)), &
      c_string(or_empty(cert)), c_string(or_empty(key)), &
      (/ present(token), present(ca), present(cert), present(key) /))
  end function IW_open_segment_with

  ! Texts for C are made by c_string in an argument, never by `allocate`: gfortran would write the
  ! path of this file into the library.
  function open_with_texts(url, options, token, ca, cert, key, are_given) result(address)
    character(len=*), intent(in) :: url
    type(IW_open_options), intent(inout), target :: options
    character(kind=c_char), intent(in), target :: token(*), ca(*), cert(*), key(*)
    logical, intent(in) :: are_given(4)
    type(c_ptr) :: address

    if (are_given(1)) options%token = c_loc(token(1))
    if (are_given(2)) options%ca = c_loc(ca(1))
    if (are_given(3)) options%cert = c_loc(cert(1))
    if (are_given(4)) options%key = c_loc(key(1))
    address = c_open_segment_with(c_string(url), options)
  end function open_with_texts

  pure function or_empty(text) result(given)
    character(len=*), intent(in), optional :: text
    character(len=:), allocatable :: given

    given = ''
    if (present(text)) given = text
  end function or_empty

  function IW_is_open(h) result(is_open)
    type(IW_handle_t), intent(in) :: h
    logical :: is_open

    is_open = c_associated(h%address)
  end function IW_is_open

  function IW_close_segment(h) result(status)
    type(IW_handle_t), intent(inout) :: h
    integer(c_int) :: status

    status = c_close_segment(h%address)
    if (status == IW_OK) h%address = c_null_ptr
  end function IW_close_segment

  function IW_version(h) result(version)
    type(IW_handle_t), intent(in) :: h
    integer(c_int64_t) :: version

    version = c_version(h%address)
  end function IW_version

  function IW_rl_acquire(h) result(status)
    type(IW_handle_t), intent(in) :: h
    integer(c_int) :: status

    status = c_rl_acquire(h%address)
  end function IW_rl_acquire

  function IW_rl_release(h) result(status)
    type(IW_handle_t), intent(in) :: h
    integer(c_int) :: status

    status = c_rl_release(h%address)
  end function IW_rl_release

  function IW_wl_acquire(h) result(status)
    type(IW_handle_t), intent(in) :: h
    integer(c_int) :: status

    status = c_wl_acquire(h%address)
  end function IW_wl_acquire

  function IW_wl_release(h) result(status)
    type(IW_handle_t), intent(in) :: h
    integer(c_int) :: status

    status = c_wl_release(h%address)
  end function IW_wl_release

  function IW_wl_abort(h) result(status)
    type(IW_handle_t), intent(in) :: h
    integer(c_int) :: status

    status = c_wl_abort(h%address)
  end function IW_wl_abort

  function IW_refresh(h) result(status)
    type(IW_handle_t), intent(in) :: h
    integer(c_int) :: status

    status = c_refresh(h%address)
  end function IW_refresh

  function IW_rl_acquire_for(h, seconds, flags) result(status)
    type(IW_handle_t), intent(in) :: h
    real(c_double), intent(in) :: seconds
    integer(c_int), intent(in), optional :: flags
    integer(c_int) :: status

    if (present(flags)) then
      status = c_rl_acquire_for(h%address, seconds, flags)
    else
      status = c_rl_acquire_for(h%address, seconds, 0_c_int)
    end if
  end function IW_rl_acquire_for

  function IW_wl_acquire_for(h, seconds) result(status)
    type(IW_handle_t), intent(in) :: h
    real(c_double), intent(in) :: seconds
    integer(c_int) :: status

    status = c_wl_acquire_for(h%address, seconds)
  end function IW_wl_acquire_for

  function IW_set_coherence(h, model, x) result(status)
    type(IW_handle_t), intent(in) :: h
    integer(c_int), intent(in) :: model
    real(c_double), intent(in), optional :: x
    integer(c_int) :: status

    if (present(x)) then
      status = c_set_coherence(h%address, model, x)
    else
      status = c_set_coherence(h%address, model, 0.0_c_double)
    end if
  end function IW_set_coherence

  ! f: c_funloc of `function f(copy, arg) bind(C)`, which gets a type(IW_copy_state) and returns an
  ! integer that is not 0 if the copy is recent enough; c_null_funptr: back to IW_FULL.
  function IW_set_coherence_fn(h, f, arg) result(status)
    type(IW_handle_t), intent(in) :: h
    type(c_funptr), value :: f
    type(c_ptr), intent(in), optional :: arg
    integer(c_int) :: status

    status = c_set_coherence_fn(h%address, f, given(arg))
  end function IW_set_coherence_fn

  function IW_staleness(h, seconds) result(status)
    type(IW_handle_t), intent(in) :: h
    real(c_double), intent(out) :: seconds
    integer(c_int) :: status

    status = c_staleness(h%address, seconds)
  end function IW_staleness

  function IW_malloc(h, t) result(block)
    type(IW_handle_t), intent(in) :: h
    type(c_ptr), intent(in) :: t
    type(c_ptr) :: block

    block = c_malloc(h%address, t)
  end function IW_malloc

  function IW_malloc_named(h, t, name) result(block)
    type(IW_handle_t), intent(in) :: h
    type(c_ptr), intent(in) :: t
    character(len=*), intent(in) :: name
    type(c_ptr) :: block

    block = c_malloc_named(h%address, t, c_string(name))
  end function IW_malloc_named

  function IW_find(h, name) result(block)
    type(IW_handle_t), intent(in) :: h
    character(len=*), intent(in) :: name
    type(c_ptr) :: block

    block = c_find(h%address, c_string(name))
  end function IW_find

  function find_or_malloc_array(h, t, count, name) result(block)
    type(IW_handle_t), intent(in) :: h
    type(c_ptr), intent(in) :: t
    integer(c_int), intent(in) :: count
    character(len=*), intent(in) :: name
    type(c_ptr) :: block

    block = find_or_malloc_long_array(h, t, int(count, c_int64_t), name)
  end function find_or_malloc_array

  function find_or_malloc_long_array(h, t, count, name) result(block)
    type(IW_handle_t), intent(in) :: h
    type(c_ptr), intent(in) :: t
    integer(c_int64_t), intent(in) :: count
    character(len=*), intent(in) :: name
    type(c_ptr) :: block

    block = c_find_or_malloc_array(h%address, t, int(count, c_size_t), c_string(name))
  end function find_or_malloc_long_array

  function IW_find_or_malloc(h, t, name) result(block)
    type(IW_handle_t), intent(in) :: h
    type(c_ptr), intent(in) :: t
    character(len=*), intent(in) :: name
    type(c_ptr) :: block

    block = c_find_or_malloc_array(h%address, t, 1_c_size_t, c_string(name))
  end function IW_find_or_malloc

  function malloc_array(h, t, count, name) result(block)
    type(IW_handle_t), intent(in) :: h
    type(c_ptr), intent(in) :: t
    integer(c_int), intent(in) :: count
    character(len=*), intent(in), optional :: name
    type(c_ptr) :: block

    block = malloc_long_array(h, t, int(count, c_int64_t), name)
  end function malloc_array

  function malloc_long_array(h, t, count, name) result(block)
    type(IW_handle_t), intent(in) :: h
    type(c_ptr), intent(in) :: t
    integer(c_int64_t), intent(in) :: count
    character(len=*), intent(in), optional :: name
    type(c_ptr) :: block

    if (present(name)) then
      block = malloc_with_name(h, t, c_count(count), c_string(name))
    else
      block = c_malloc_array(h%address, t, c_count(count), c_null_ptr)
    end if
  end function malloc_long_array

  function malloc_with_name(h, t, count, name) result(block)
    type(IW_handle_t), intent(in) :: h
    type(c_ptr), intent(in) :: t
    integer(c_size_t), intent(in) :: count
    character(kind=c_char), intent(in), target :: name(*)
    type(c_ptr) :: block

    block = c_malloc_array(h%address, t, count, c_loc(name(1)))
  end function malloc_with_name

  ! A count that is negative, or that this machine's memory cannot hold, becomes C's largest number,
  ! which the library refuses.
  pure function c_count(count)
    integer(c_int64_t), intent(in) :: count
    integer(c_size_t) :: c_count

    c_count = -1
    if (count >= 0 .and. count <= huge(c_count)) c_count = int(count, c_size_t)
  end function c_count

  function IW_free(h, block) result(status)
    type(IW_handle_t), intent(in) :: h
    type(c_ptr), intent(in) :: block
    integer(c_int) :: status

    status = c_free(h%address, block)
  end function IW_free

  ! Replaces a `string s<>`; `field` is c_loc of it. Blanks at the end of the text count.
  function assign_text(h, field, text) result(status)
    type(IW_handle_t), intent(in) :: h
    type(c_ptr), intent(in) :: field
    character(len=*), intent(in) :: text
    integer(c_int) :: status
    character(kind=c_char), target :: characters(len(text) + 1)

    characters = transfer(text // ' ', characters)
    status = c_assign(h%address, field, c_loc(characters), len(text, kind=c_size_t))
  end function assign_text

  ! Replaces a `T x<>` by `count` elements from `source`.
  function assign_elements(h, field, source, count) result(status)
    type(IW_handle_t), intent(in) :: h
    type(c_ptr), intent(in) :: field, source
    integer(c_int), intent(in) :: count
    integer(c_int) :: status

    status = assign_many_elements(h, field, source, int(count, c_int64_t))
  end function assign_elements

  function assign_many_elements(h, field, source, count) result(status)
    type(IW_handle_t), intent(in) :: h
    type(c_ptr), intent(in) :: field, source
    integer(c_int64_t), intent(in) :: count
    integer(c_int) :: status

    status = c_assign(h%address, field, source, c_count(count))
  end function assign_many_elements

  ! Without `after`: the first block.
  function IW_next_block(h, after) result(block)
    type(IW_handle_t), intent(in) :: h
    type(c_ptr), intent(in), optional :: after
    type(c_ptr) :: block

    block = c_next_block(h%address, given(after))
  end function IW_next_block

  ! The block that `p` leads into.
  function IW_describe_block(h, p, block) result(status)
    type(IW_handle_t), intent(in) :: h
    type(c_ptr), intent(in) :: p
    type(IW_block_t), intent(inout) :: block
    integer(c_int) :: status

    block%size_bytes = size(transfer(block, (/ ' ' /)), kind=c_size_t)
    status = c_describe_block(h%address, p, block)
  end function IW_describe_block

  ! Of length 0 if `p` leads into no open segment.
  function IW_ptr_to_mip(p) result(mip)
    type(c_ptr), intent(in) :: p
    character(len=:), allocatable :: mip
    type(c_ptr) :: text

    text = c_ptr_to_mip(p)
    mip = IW_text(text)
    call c_mip_free(text)
  end function IW_ptr_to_mip

  function IW_mip_to_ptr(mip) result(p)
    character(len=*), intent(in) :: mip
    type(c_ptr) :: p

    p = c_mip_to_ptr(c_string(mip))
  end function IW_mip_to_ptr

  ! f: c_funloc of `subroutine f(h, version, arg) bind(C)` with a type(c_ptr), an integer(c_int64_t)
  ! and a type(c_ptr), all by value; c_null_funptr ends it.
  function IW_on_change(h, f, arg) result(status)
    type(IW_handle_t), intent(in) :: h
    type(c_funptr), value :: f
    type(c_ptr), intent(in), optional :: arg
    integer(c_int) :: status

    status = c_on_change(h%address, f, given(arg))
  end function IW_on_change

  ! f: c_funloc of `subroutine f(h, state, arg) bind(C)` with a type(c_ptr), an integer(c_int)
  ! (IW_CONNECTED, IW_DISCONNECTED or IW_LOST) and a type(c_ptr), all by value; c_null_funptr ends
  ! it.
  function IW_on_connection(h, f, arg) result(status)
    type(IW_handle_t), intent(in) :: h
    type(c_funptr), value :: f
    type(c_ptr), intent(in), optional :: arg
    integer(c_int) :: status

    status = c_on_connection(h%address, f, given(arg))
  end function IW_on_connection

  function IW_event_fd() result(descriptor)
    integer(c_int) :: descriptor

    descriptor = c_event_fd()
  end function IW_event_fd

  function IW_dispatch() result(status)
    integer(c_int) :: status

    status = c_dispatch()
  end function IW_dispatch

  function IW_stats(h, stats) result(status)
    type(IW_handle_t), intent(in) :: h
    type(IW_stats_t), intent(inout) :: stats
    integer(c_int) :: status

    stats%size_bytes = size(transfer(stats, (/ ' ' /)), kind=c_size_t)
    status = c_stats(h%address, stats)
  end function IW_stats

  ! f: c_funloc of `subroutine f(code, text, arg) bind(C)`; c_null_funptr: the library's own way.
  subroutine IW_set_log(f, arg)
    type(c_funptr), value :: f
    type(c_ptr), intent(in), optional :: arg

    call c_set_log(f, given(arg))
  end subroutine IW_set_log

  function IW_errno() result(code)
    integer(c_int) :: code

    code = c_errno()
  end function IW_errno

  function IW_strerror() result(text)
    character(len=:), allocatable :: text

    text = IW_text(c_strerror())
  end function IW_strerror

  function given(address) result(answer)
    type(c_ptr), intent(in), optional :: address
    type(c_ptr) :: answer

    answer = c_null_ptr
    if (present(address)) answer = address
  end function given

end module interweave_calls
