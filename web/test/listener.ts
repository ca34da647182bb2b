/** `listener.js URL PATH` listens to a segment and calls nothing else; see `Listener`. */
import { connect, InterweaveError } from "../src/node.js";

const [url = "", path = ""] = process.argv.slice(2);
const client = await connect(url);
client.onConnection((isConnected) => console.log(isConnected ? "connected" : "connection lost"));
const segment = await client.open(path, { readOnly: true });
try {
  for await (const version of segment) console.log(`version ${version}`);
} catch (error) {
  if (!(error instanceof InterweaveError)) throw error;
  console.log(`${error.codeName} ${error.message}`);
}
await client.close();
