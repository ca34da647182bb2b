/**
 * A program with generated types: reads a running simulation and steers it. Its
 * server is the argument.
 */
import { connect, InterweaveError } from "interweave";
import { field, flow_header, FLOW_CELLS, FLOW_RUNNING, FLOW_SOD } from "./astroflow.js";

const client = await connect(process.argv[2] as string);
const segment = await client.open("/astroflow");
const header = (): flow_header => segment.get("header", flow_header);

for await (const _ of segment) if (await segment.read(() => segment.has("density"))) break;
const request = await segment.write(() => {
  const wants = header();
  wants.want_cfl = 0.25;
  wants.want_problem = FLOW_SOD;
  wants.request += 1n;
  return wants.request;
});
for await (const _ of segment) if ((await segment.read(() => header().obeyed)) === request) break;
const seen = await segment.read(() => {
  const { problem, cfl, status, nx, time } = header();
  const density: field = segment.get("density", field);
  const row: Float64Array = density[FLOW_CELLS - 1] as Float64Array;
  return { problem, cfl, isRunning: status === FLOW_RUNNING, nx, time: time >= 0, last: row[0] };
});
// What the types refuse.
await segment
  .write(() => {
    // @ts-expect-error a number
    header().want_cfl = "0.5";
  })
  .catch((error: InterweaveError) => Object.assign(seen, { refused: error.codeName }));
// @ts-expect-error no field
await segment.read(() => header().want_gfl);
// Another type than the block's.
await segment
  .read(() => segment.get("header", field))
  .catch((error: InterweaveError) => Object.assign(seen, { conflict: error.codeName }));
await client.close();
console.log(JSON.stringify(seen));
