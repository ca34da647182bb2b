/**
 * The viewer takes the numbers that `interweave set` takes, as the same values,
 * and refuses the others.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { connect, InterweaveError, t } from "../src/node.js";
import { numberTyped, typedValue } from "../viewer/typed.js";
import { program, Server } from "./processes.js";

const run = promisify(execFile);

const whole = ["0", "7", "-7", " 12\n", "", " ", "+7", "07", "4.5", "7.0", "1e3", "-0", "seven"];
const wide = ["0x10", "9223372036854775807", "9223372036854775808", "18446744073709551616", "5n"];
const real = [
  "0.25",
  "-1e-7",
  "1E+3",
  "-0",
  ".5",
  "5.",
  "1e999",
  "-1e999",
  "abc",
  "",
  "1,5",
  "0x10",
];
const named = ["NaN", "inf", "-inf", "nan", "Infinity", "-Infinity", "+inf"];

const texts = {
  char: [...whole, "127", "128", "-128", "-129"],
  uint: ["4294967295", "4294967296", "-1", ""],
  hyper: [...whole, ...wide, "-9223372036854775808", "-9223372036854775809"],
  uhyper: [...wide, "18446744073709551615", "-1"],
  float: ["0.1", ...named],
  double: [...whole, ...real, ...named],
  bool: ["true", "false", "1", "True", ""],
};

test("the viewer takes the texts that `interweave set` takes, as the same values", async () => {
  const server = await Server.start();
  const client = await connect(server.url);
  try {
    const segment = await client.open("/typed");
    await segment.write(() => {
      for (const name of Object.keys(texts) as (keyof typeof texts)[])
        segment.allocate(t[name], { name });
    });
    for (const [name, all] of Object.entries(texts)) {
      for (const text of all) {
        const what = `${name} ${JSON.stringify(text)}`;
        const set = [`set`, `${server.address}/typed#${name}`, text];
        const isTaken = await run(program, set).then(
          () => true,
          () => false,
        );
        const type = await segment.read(() => segment.block(name).type);
        if (!isTaken) {
          assert.throws(() => typedValue(type, text), InterweaveError, what);
          continue;
        }
        const typed = typedValue(type, text);
        const stored = await segment.read(() => segment.get(name));
        const wanted = name === "float" ? Math.fround(typed as number) : typed;
        assert.ok(Object.is(stored, wanted), `${what}: ${String(stored)}, ${String(typed)}`);
        // An edited value is read back unchanged.
        if (name === "bool") continue;
        assert.ok(Object.is(typedValue(type, numberTyped(stored as number)), stored), what);
      }
    }
  } finally {
    await client.close();
    await server.stop();
  }
});
