/** What the package offers on every platform, but for `connect`. */
export { Client, Coherence, type ConnectOptions } from "./client/client.js";
export {
  Segment,
  type LockOptions,
  type OpenOptions,
  type SegmentStats,
} from "./client/segment.js";
export type { ConnectionState } from "./client/connection_news.js";
export { ReadLock, WriteLock } from "./client/locks.js";
export { Block } from "./client/block.js";
export { ArrayView, plain, type NumericArray, type RecordView } from "./client/values.js";
export { mipOf } from "./client/mips.js";
export { t, type Declared, type DeclaredArm, type DeclaredAs } from "./types/declare.js";
export type { Type, Member, UnionMembers } from "./types/type.js";
export { InterweaveError } from "./wire/error.js";
export { ErrorCode } from "./wire/protocol/error.js";
export { Durability, NOT_KNOWN, type SegmentInfo } from "./wire/protocol/segment.js";
export { CoherenceModel } from "./wire/protocol/lock.js";
export { Primitive, TypeKind } from "./wire/protocol/descriptor.js";
