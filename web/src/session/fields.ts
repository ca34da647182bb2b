/** Header fields: what messages carry besides their own members [FIELD-1..9]. */
import { decoding, malformed } from "../wire/error.js";
import {
  FieldKey,
  labelField,
  MAX_FIELD_TEXT,
  pidField,
  type HeaderField,
} from "../wire/protocol/field.js";
import { fromBytes, toBytes, type Codec } from "../wire/protocol/xdr.js";

/** Where this client runs, as far as the platform says. */
export interface Origin {
  readonly program?: string;
  readonly host?: string;
  readonly pid?: number;
}

/** As much of the text as a field takes. */
function fitting(text: string): string {
  const encoder = new TextEncoder();
  let fits = Array.from(text);
  while (encoder.encode(fits.join("")).length > MAX_FIELD_TEXT) fits = fits.slice(0, -1);
  return fits.join("");
}

/** What HELLO says of the client. */
export function originFields({ program, host, pid }: Origin): HeaderField[] {
  const fields: HeaderField[] = [];
  const label = (key: FieldKey, text: string | undefined) => {
    if (text === undefined || text === "") return;
    fields.push({ key, value: toBytes(labelField, { label: fitting(text) }) });
  };
  label(FieldKey.FIELD_PROGRAM, program);
  label(FieldKey.FIELD_HOST, host);
  if (pid !== undefined) {
    fields.push({ key: FieldKey.FIELD_PID, value: toBytes(pidField, { pid: BigInt(pid) }) });
  }
  return fields;
}

/** MALFORMED if a key stands in the list twice [FIELD-2]. */
export function checkFields(list: HeaderField[]): void {
  const keys = new Set<number>();
  for (const { key } of list) {
    if (keys.has(key)) throw malformed(`the header field ${key} is there twice`);
    keys.add(key);
  }
}

/** The value of the key, if there is one; MALFORMED if it cannot be read [FIELD-5]. */
export function findField<T>(list: HeaderField[], key: FieldKey, codec: Codec<T>): T | undefined {
  const field = list.find((one) => one.key === key);
  if (field === undefined) return undefined;
  return decoding(`the header field ${key}`, () => fromBytes(codec, field.value));
}

/** The text of a peer without its control characters [FIELD-8]. */
export function readable(text: string): string {
  return text.replace(/\p{Cc}/gu, "?");
}
