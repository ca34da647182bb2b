/** A program with generated types of every kind: makes them and reads them back. */
import { connect } from "interweave";
import { everything, ON, type state } from "./all_types.js";
import * as x from "./ledger.js";
import { node_t } from "./list.js";

const client = await connect(process.argv[2] as string);
const segment = await client.open("/typed");
await segment.write(() => {
  const head = segment.allocate(node_t, { name: "head" }).value;
  head.key = 7;
  head.next = segment.allocate(node_t).value;
  head.next.next = head;
  const account = segment.allocate(x.ledger_AccountEntry, { name: "account" }).value;
  account.accountID = { type: x.ledger_KEY_HASH, hash: new Uint8Array(32).fill(5) };
  account.balance = 1n << 40n;
  account.homeDomain = "example.org";
  account.thresholds = [1, 2, 3, 4];
  account.ext = { v: 1, v1: { liabilities: { n: 1, d: 2 }, ext: { v: 0 } } };
  const key: x.ledger_PublicKey = { type: x.ledger_KEY_ED25519, ed25519: new Uint8Array(32) };
  account.signers = [{ key, weight: 3 }];
  const all = segment.allocate(everything, { name: "all" }).value;
  [all.s, all.b, all.any_text, all.array] = [ON, true, "any", new Int32Array(16).fill(9)];
});
const seen = await segment.read(() => {
  const { accountID, signers, ext } = segment.get("account", x.ledger_AccountEntry);
  // Each arm where its case is asked for.
  const hash = accountID.type === x.ledger_KEY_HASH ? accountID.hash[31] : accountID.ed25519[0];
  const shares = ext.v === 1 ? ext.v1.liabilities.d : null;
  const { s, array }: { s: state; array: Int32Array } = segment.get("all", everything);
  const key = segment.get("head", node_t).next?.next?.key;
  return { key, hash, shares, weight: signers[0]?.weight, s, sum: array.reduce((a, b) => a + b) };
});
await client.close();
console.log(JSON.stringify(seen));
