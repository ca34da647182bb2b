/** What a client says of itself, and what it makes of fields and of errors of other versions. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Connection, expect } from "../src/session/connection.js";
import { findField, originFields, readable } from "../src/session/fields.js";
import { InterweaveError } from "../src/wire/error.js";
import { message, type Message } from "../src/wire/frames.js";
import * as protocol from "../src/wire/protocol/index.js";
import { toBytes, type Codec } from "../src/wire/protocol/xdr.js";

const { ErrorCode, FieldKey, MessageType } = protocol;
const unknown = { key: 4711, value: new Uint8Array([1, 2, 3]) };

/** The error that the call throws. */
function thrown(call: () => unknown): InterweaveError {
  try {
    call();
  } catch (error) {
    assert.ok(error instanceof InterweaveError, String(error));
    return error;
  }
  assert.fail("nothing was thrown");
}

function welcomed<T>(type: protocol.MessageType, codec: Codec<T>, body: T): () => unknown {
  const answer: Message = message(type, 1, codec, body);
  const connection = new Connection(0, () => {});
  return () => connection.welcomed({ message: answer, sentAt: 0 });
}

function welcomeWith(fields: protocol.HeaderField[]): () => unknown {
  return welcomed(MessageType.WELCOME, protocol.welcome, {
    version: protocol.PROTOCOL_VERSION_MAX,
    session: new Uint8Array(16),
    resumed: false,
    heartbeat_ms: 1000,
    session_lease_ms: 9000,
    max_diff_bytes: 1n,
    server: "",
    fields,
  });
}

test("a client says where it runs as far as it knows [FIELD-4]", () => {
  const all = originFields({ program: "é".repeat(200), host: "a.example", pid: 7 });
  assert.equal(all.length, 3);
  const { label } = findField(all, FieldKey.FIELD_PROGRAM, protocol.labelField)!;
  assert.equal(new TextEncoder().encode(label).length, 254);
  assert.equal(findField(all, FieldKey.FIELD_PID, protocol.pidField)!.pid, 7n);
  assert.deepEqual(originFields({}), []);
});

test("unknown fields are ignored, and a key twice is refused [FIELD-1] [FIELD-2]", () => {
  assert.doesNotThrow(welcomeWith([unknown, { key: 4_000_000_000, value: new Uint8Array(0) }]));
  assert.equal(thrown(welcomeWith([unknown, unknown])).code, ErrorCode.MALFORMED);
});

test("an error says where to ask instead [FIELD-8] [FIELD-9]", () => {
  const to = { address: "b.example:7747\u001b[2J", tls_name: "", relay: false };
  const fields = [
    { key: FieldKey.FIELD_REDIRECT, value: toBytes(protocol.redirectField, to) },
    unknown,
  ];
  const body = { code: ErrorCode.REDIRECTED, text: "/a is not here", fields };
  const answer = message(MessageType.ERROR, 1, protocol.errorReply, body);
  const error = thrown(() => expect(answer, MessageType.SEGMENT_OPENED, protocol.segmentOpened));
  assert.equal(error.code, ErrorCode.REDIRECTED);
  assert.equal(error.message, "/a is not here; ask the server at b.example:7747?[2J");
  assert.equal(readable("a\n\u009b"), "a??");
});

test("an error is shown without its control characters [FIELD-8]", () => {
  const body = { code: ErrorCode.NO_SEGMENT, text: "none\u001b]0;title\u0007", fields: [] };
  const answer = message(MessageType.ERROR, 1, protocol.errorReply, body);
  const error = thrown(() => expect(answer, MessageType.SEGMENT_OPENED, protocol.segmentOpened));
  assert.equal(error.message, "none?]0;title?");
});

test("refusals of servers of other versions are read [SES-5]", () => {
  const refused = (code: protocol.ErrorCode, text: string) =>
    thrown(welcomed(MessageType.ERROR, protocol.plainError, { code, text }));
  const newer = refused(ErrorCode.VERSION_MISMATCH, "this server speaks 3 to 3");
  assert.deepEqual(
    [newer.code, newer.message],
    [ErrorCode.VERSION_MISMATCH, "this server speaks 3 to 3"],
  );
  const older = refused(ErrorCode.NOT_OPEN, "the first message must be HELLO");
  assert.equal(older.code, ErrorCode.VERSION_MISMATCH);
  assert.match(older.message, /versions 2 to 3;.* version 1 /);
  assert.equal(refused(ErrorCode.STOPPING, "soon").code, ErrorCode.STOPPING);
});
