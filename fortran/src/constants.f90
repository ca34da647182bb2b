! The numbers and plain types of interweave.h: error codes, options, coherence models, statistics, and
! what generated modules need to lay out unions. Fortran 2003.
module interweave_constants
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_int, c_int64_t, c_intptr_t, c_null_ptr, &
    c_ptr, c_size_t
  implicit none
  private :: c_char, c_double, c_int, c_int64_t, c_intptr_t, c_null_ptr, c_ptr, c_size_t

  ! What functions return that are integers: 0, or one of these.
  integer(c_int), parameter :: IW_OK = 0
  integer(c_int), parameter :: IW_EUNIMPLEMENTED = -1
  integer(c_int), parameter :: IW_EMALFORMED = -2
  integer(c_int), parameter :: IW_EVERSION_MISMATCH = -3
  integer(c_int), parameter :: IW_ENOT_OPEN = -4
  integer(c_int), parameter :: IW_EDENIED = -5
  integer(c_int), parameter :: IW_EBAD_URL = -6
  integer(c_int), parameter :: IW_ENO_SEGMENT = -7
  integer(c_int), parameter :: IW_ENO_BLOCK = -8
  integer(c_int), parameter :: IW_EUNKNOWN_TYPE = -9
  integer(c_int), parameter :: IW_ETYPE_CONFLICT = -10
  integer(c_int), parameter :: IW_EBAD_NAME = -11
  integer(c_int), parameter :: IW_ENO_LOCK = -12
  integer(c_int), parameter :: IW_EWOULD_DEADLOCK = -13
  integer(c_int), parameter :: IW_ETIMED_OUT = -14
  integer(c_int), parameter :: IW_EUNREACHABLE = -15
  integer(c_int), parameter :: IW_EFENCED = -16
  integer(c_int), parameter :: IW_EROLLED_BACK = -17
  integer(c_int), parameter :: IW_ESTORE_FULL = -18
  integer(c_int), parameter :: IW_EQUOTA = -19
  integer(c_int), parameter :: IW_ETOO_LARGE = -20
  integer(c_int), parameter :: IW_ENO_MEMORY = -21
  integer(c_int), parameter :: IW_EBAD_POINTER = -22
  integer(c_int), parameter :: IW_EBAD_VALUE = -23
  integer(c_int), parameter :: IW_EBAD_ARGUMENT = -24
  integer(c_int), parameter :: IW_EFORKED = -25
  integer(c_int), parameter :: IW_ESTRAY_WRITE = -26
  integer(c_int), parameter :: IW_EREAD_ONLY = -27
  integer(c_int), parameter :: IW_ESTALE = -28
  integer(c_int), parameter :: IW_ESTOPPING = -29
  integer(c_int), parameter :: IW_EREMOVED = -30
  integer(c_int), parameter :: IW_EDAMAGED = -31
  integer(c_int), parameter :: IW_ECANCELLED = -32
  integer(c_int), parameter :: IW_EINTERNAL = -33
  integer(c_int), parameter :: IW_ESEGMENT_LOST = -34

  ! Flags of IW_open_segment_with, to be added up.
  integer(c_int), parameter :: IW_CREATE = 1
  integer(c_int), parameter :: IW_READ_ONLY = 2

  ! Durability.
  integer(c_int), parameter :: IW_MEMORY = 1
  integer(c_int), parameter :: IW_WRITTEN = 2
  integer(c_int), parameter :: IW_SYNCED = 3

  ! Flag of IW_rl_acquire_for.
  integer(c_int), parameter :: IW_FRESH = 1

  ! Coherence models.
  integer(c_int), parameter :: IW_FULL = 1
  integer(c_int), parameter :: IW_STRICT = 2
  integer(c_int), parameter :: IW_NULL = 3
  integer(c_int), parameter :: IW_DELTA = 4
  integer(c_int), parameter :: IW_TEMPORAL = 5
  integer(c_int), parameter :: IW_DIFF = 6

  ! What IW_on_connection tells.
  integer(c_int), parameter :: IW_CONNECTED = 1
  integer(c_int), parameter :: IW_DISCONNECTED = 2
  integer(c_int), parameter :: IW_LOST = 3

  ! An open segment; closed, or never opened, while `address` is null.
  type :: IW_handle_t
    type(c_ptr) :: address = c_null_ptr
  end type IW_handle_t

  ! `T x<>` in memory: `len` elements in a block that the field owns. See IW_assign.
  type, bind(C) :: IW_sequence_t
    integer(c_int) :: len
    type(c_ptr) :: val
  end type IW_sequence_t

  ! As interweave.h has it; `size_bytes` is set by IW_stats.
  type, bind(C) :: IW_stats_t
    integer(c_size_t) :: size_bytes
    integer(c_int64_t) :: bytes_sent, bytes_received
    integer(c_int64_t) :: messages_sent, messages_received
    integer(c_int64_t) :: notifications
    integer(c_int64_t) :: diffs_sent, diffs_received
    integer(c_int64_t) :: diff_bytes_sent, diff_bytes_received
    integer(c_int64_t) :: full_copies
    integer(c_int64_t) :: faults
    integer(c_int64_t) :: stray_writes
    integer(c_int64_t) :: reader_locks
    integer(c_int64_t) :: local_reader_locks
    integer(c_int64_t) :: writer_locks
    integer(c_int64_t) :: aborts
    integer(c_int64_t) :: blocks
    integer(c_int64_t) :: native_bytes
    integer(c_int64_t) :: version
    integer(c_int64_t) :: newest_known
    integer(c_int64_t) :: compared_bytes, whole_bytes
    integer(c_int64_t) :: searched_blocks
  end type IW_stats_t

  ! What a segment says of one of its blocks; `size_bytes` is set by IW_describe_block. IW_text(b%name).
  type, bind(C) :: IW_block_t
    integer(c_size_t) :: size_bytes
    type(c_ptr) :: address
    type(c_ptr) :: type
    integer(c_size_t) :: count
    integer(c_int64_t) :: serial
    integer(c_int) :: is_owned
    character(kind=c_char) :: name(256)
    integer(c_int) :: is_reserved
  end type IW_block_t

  ! What a function given to IW_set_coherence_fn gets a pointer to.
  type, bind(C) :: IW_copy_state
    integer(c_size_t) :: size_bytes
    integer(c_int64_t) :: version
    integer(c_int64_t) :: newest_known
    real(c_double) :: seconds_confirmed
    integer(c_int) :: subscribed
  end type IW_copy_state

  ! How this machine lays out eight-byte numbers, found out while compiling.
  type, bind(C), private :: probe_t
    character(kind=c_char) :: before
    integer(c_int64_t) :: probed
  end type probe_t
  integer, parameter, private :: alignment = size(transfer(probe_t(' ', 0_c_int64_t), (/ ' ' /))) - 8

  ! The integers of which a union's storage is made where it holds eight-byte numbers: as wide as
  ! these are aligned.
  integer, parameter :: IW_wide = merge(c_int64_t, c_int, alignment == 8)

  ! One of these is 1: 64-bit machines, 32-bit ones, and those with such numbers at multiples of four.
  integer(c_int64_t), parameter :: IW_on_64 = merge(1, 0, bit_size(0_c_intptr_t) == 64)
  integer(c_int64_t), parameter :: IW_on_32 = merge(1, 0, bit_size(0_c_intptr_t) == 32 .and. alignment == 8)
  integer(c_int64_t), parameter :: IW_on_i386 = merge(1, 0, bit_size(0_c_intptr_t) == 32 .and. alignment == 4)

  ! The descriptors of the primitive types: IW_malloc_array(h, IW_double, 1000).
  type(c_ptr), protected, bind(C, name="IW_char") :: IW_char
  type(c_ptr), protected, bind(C, name="IW_uchar") :: IW_uchar
  type(c_ptr), protected, bind(C, name="IW_short") :: IW_short
  type(c_ptr), protected, bind(C, name="IW_ushort") :: IW_ushort
  type(c_ptr), protected, bind(C, name="IW_int") :: IW_int
  type(c_ptr), protected, bind(C, name="IW_uint") :: IW_uint
  type(c_ptr), protected, bind(C, name="IW_hyper") :: IW_hyper
  type(c_ptr), protected, bind(C, name="IW_uhyper") :: IW_uhyper
  type(c_ptr), protected, bind(C, name="IW_float") :: IW_float
  type(c_ptr), protected, bind(C, name="IW_double") :: IW_double
  type(c_ptr), protected, bind(C, name="IW_bool") :: IW_bool
end module interweave_constants
