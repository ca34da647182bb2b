! Module `interweave_types`: type descriptors as tables (interweave/type_table.h), for programs that
! look into segments whose types they do not know, or declare types while they run. Programs with
! generated modules do not need it, so module `interweave` does not contain it.
!
! A descriptor is the address of an IW_type_def: IW_block_t has one, IW_type_table makes a pointer
! of it. Members that a kind does not use are zero. A table that a program makes leaves sizes and
! offsets 0, is never changed after IW_register_types and never freed; IW_laid_out gives its twin
! with sizes and offsets. Fortran 2003.
module interweave_types
  use, intrinsic :: iso_c_binding, only: c_associated, c_f_pointer, c_int, c_int32_t, c_int64_t, &
    c_null_ptr, c_ptr, c_size_t
  implicit none
  private
  public :: IW_type_table, IW_fields, IW_enum_members, IW_arms, IW_default_arm, IW_arm_values
  public :: IW_register_types, IW_laid_out

  ! IW_type_def%kind
  integer(c_int32_t), parameter, public :: IW_KIND_PRIMITIVE = 1
  integer(c_int32_t), parameter, public :: IW_KIND_ENUM = 2
  integer(c_int32_t), parameter, public :: IW_KIND_STRING = 3
  integer(c_int32_t), parameter, public :: IW_KIND_ARRAY = 4
  integer(c_int32_t), parameter, public :: IW_KIND_RECORD = 5
  integer(c_int32_t), parameter, public :: IW_KIND_UNION = 6
  integer(c_int32_t), parameter, public :: IW_KIND_POINTER = 7
  integer(c_int32_t), parameter, public :: IW_KIND_SEQUENCE = 8
  integer(c_int32_t), parameter, public :: IW_KIND_TEXT = 9

  ! IW_type_def%primitive
  integer(c_int32_t), parameter, public :: IW_PRIMITIVE_CHAR = 1
  integer(c_int32_t), parameter, public :: IW_PRIMITIVE_UCHAR = 2
  integer(c_int32_t), parameter, public :: IW_PRIMITIVE_SHORT = 3
  integer(c_int32_t), parameter, public :: IW_PRIMITIVE_USHORT = 4
  integer(c_int32_t), parameter, public :: IW_PRIMITIVE_INT = 5
  integer(c_int32_t), parameter, public :: IW_PRIMITIVE_UINT = 6
  integer(c_int32_t), parameter, public :: IW_PRIMITIVE_HYPER = 7
  integer(c_int32_t), parameter, public :: IW_PRIMITIVE_UHYPER = 8
  integer(c_int32_t), parameter, public :: IW_PRIMITIVE_FLOAT = 9
  integer(c_int32_t), parameter, public :: IW_PRIMITIVE_DOUBLE = 10
  integer(c_int32_t), parameter, public :: IW_PRIMITIVE_BOOL = 11

  type, bind(C), public :: IW_enum_member
    type(c_ptr) :: name = c_null_ptr
    integer(c_int32_t) :: value = 0
  end type IW_enum_member

  type, bind(C), public :: IW_field_def
    type(c_ptr) :: name = c_null_ptr
    type(c_ptr) :: type = c_null_ptr
    integer(c_size_t) :: offset = 0
  end type IW_field_def

  ! A void arm has no type, and the empty name. The default arm has no values.
  type, bind(C), public :: IW_arm_def
    type(c_ptr) :: name = c_null_ptr
    type(c_ptr) :: type = c_null_ptr
    integer(c_size_t) :: offset = 0
    type(c_ptr) :: values = c_null_ptr
    integer(c_size_t) :: value_count = 0
  end type IW_arm_def

  ! The name is "" for a type that has none. `element` is that of arrays and sequences, and a
  ! pointer's target; `count` an array's, or the bound of a string, a sequence or a text; a union
  ! has one field, its discriminant.
  type, bind(C), public :: IW_type_def
    type(c_ptr) :: name = c_null_ptr
    integer(c_int32_t) :: kind = 0
    integer(c_int32_t) :: primitive = 0
    integer(c_size_t) :: size_bytes = 0
    integer(c_size_t) :: align_bytes = 0
    integer(c_int64_t) :: predecessor = 0
    type(c_ptr) :: element = c_null_ptr
    integer(c_size_t) :: count = 0
    type(c_ptr) :: fields = c_null_ptr
    integer(c_size_t) :: field_count = 0
    type(c_ptr) :: members = c_null_ptr
    integer(c_size_t) :: member_count = 0
    type(c_ptr) :: arms = c_null_ptr
    integer(c_size_t) :: arm_count = 0
    type(c_ptr) :: otherwise = c_null_ptr
  end type IW_type_def

  interface
    function c_register_types(types, count) bind(C, name="IW_register_types") result(answer)
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), intent(in) :: types(*)
      integer(c_size_t), value :: count
      integer(c_int) :: answer
    end function c_register_types

    function c_laid_out(t) bind(C, name="IW_laid_out") result(answer)
      import :: c_ptr
      type(c_ptr), value :: t
      type(c_ptr) :: answer
    end function c_laid_out
  end interface

contains

  function IW_type_table(t) result(table)
    type(c_ptr), intent(in) :: t
    type(IW_type_def), pointer :: table

    nullify (table)
    if (c_associated(t)) call c_f_pointer(t, table)
  end function IW_type_table

  function IW_fields(table) result(fields)
    type(IW_type_def), intent(in) :: table
    type(IW_field_def), pointer :: fields(:)

    call c_f_pointer(table%fields, fields, (/ table%field_count /))
  end function IW_fields

  function IW_enum_members(table) result(members)
    type(IW_type_def), intent(in) :: table
    type(IW_enum_member), pointer :: members(:)

    call c_f_pointer(table%members, members, (/ table%member_count /))
  end function IW_enum_members

  function IW_arms(table) result(arms)
    type(IW_type_def), intent(in) :: table
    type(IW_arm_def), pointer :: arms(:)

    call c_f_pointer(table%arms, arms, (/ table%arm_count /))
  end function IW_arms

  ! Null if the union has none.
  function IW_default_arm(table) result(arm)
    type(IW_type_def), intent(in) :: table
    type(IW_arm_def), pointer :: arm

    nullify (arm)
    if (c_associated(table%otherwise)) call c_f_pointer(table%otherwise, arm)
  end function IW_default_arm

  function IW_arm_values(arm) result(values)
    type(IW_arm_def), intent(in) :: arm
    integer(c_int32_t), pointer :: values(:)

    call c_f_pointer(arm%values, values, (/ arm%value_count /))
  end function IW_arm_values

  function IW_register_types(types) result(status)
    type(c_ptr), intent(in) :: types(:)
    integer(c_int) :: status

    status = c_register_types(types, size(types, kind=c_size_t))
  end function IW_register_types

  function IW_laid_out(t) result(table)
    type(c_ptr), intent(in) :: t
    type(c_ptr) :: table

    table = c_laid_out(t)
  end function IW_laid_out

end module interweave_types
