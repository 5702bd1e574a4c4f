// A client as a web page has it: generated messages, connect-web's transport, apache-arrow. It runs the binary that
// FLETCH_BIN names, a coordinator with one worker, and talks to it over a socket.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { getOption } from "@bufbuild/protobuf";
import { type Client, Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import { RecordBatchReader, Table } from "apache-arrow";

import { ErrorDetailSchema } from "../src/fletch/api/v1/error_pb.js";
import { QueryService, type QueryEnd } from "../src/fletch/api/v1/query_pb.js";
import { file_fletch_api_v1_version, VersionService } from "../src/fletch/api/v1/version_pb.js";
import { api_minor } from "../src/fletch/options/v1/options_pb.js";

const binary = process.env.FLETCH_BIN ?? "../../bin/fletch";
const ours = `1.${getOption(file_fletch_api_v1_version, api_minor)}`;
const tables = fileURLToPath(new URL("../../../../engine/testdata/tpch/sf0.01", import.meta.url));
const children: ChildProcess[] = [];

// start runs the binary and gives the URL that it says it listens on.
function start(...args: string[]): Promise<string> {
  const child = spawn(binary, [...args, "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  return new Promise((resolve, reject) => {
    let said = "";
    const read = (chunk: Buffer) => {
      said += chunk;
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(said);
      if (url) resolve(url[0]);
    };
    child.stdout?.on("data", read);
    child.stderr?.on("data", read);
    child.on("error", reject);
    child.on("exit", (code) => reject(new Error(`fletch ${args[0]} ended with ${code}: ${said}`)));
  });
}

const version: Interceptor = (next) => (request) => {
  request.header.set("fletch-api-version", ours);
  return next(request);
};

let base: string;

before(async () => {
  const worker = await start("worker", "--version", "ts", "--read-root", tables);
  base = await start("serve", "--workers", worker, "--tables", tables);
  // The coordinator polls its workers: it is ready once it knows one.
  for (;;) {
    const ready = await fetch(`${base}/readyz`);
    await ready.arrayBuffer();
    if (ready.ok) return;
  }
}, { timeout: 20_000 });

after(() => {
  for (const child of children) child.kill();
});

// run gives a statement's rows and its end.
async function run(client: Client<typeof QueryService>, statement: string): Promise<[Table, QueryEnd]> {
  const chunks: Uint8Array[] = [];
  let end: QueryEnd | undefined;
  for await (const { event } of client.execute({ statement })) {
    if (event.case === "arrow") chunks.push(event.value);
    if (event.case === "end") end = event.value;
  }
  assert.ok(end, "a result without its end is none");
  return [new Table([...RecordBatchReader.from(chunks)]), end];
}

for (const [name, create] of [["Connect", createConnectTransport], ["gRPC-Web", createGrpcWebTransport]] as const) {
  test(name, { timeout: 30_000 }, async (t) => {
    const transport = create({ baseUrl: base, useBinaryFormat: true, interceptors: [version] });
    const client = createClient(QueryService, transport);

    await t.test("a query gives Arrow, and says who ran it", async () => {
      const [rows, end] = await run(client, "SELECT r_name, r_regionkey FROM region WHERE r_regionkey > 2 ORDER BY r_name");
      assert.deepEqual(rows.toArray().map((row) => [row.r_name, row.r_regionkey]), [["EUROPE", 3], ["MIDDLE EAST", 4]]);
      assert.equal(end.rows, 2n);
      assert.equal(end.cohort?.version, "ts");
    });

    await t.test("an error has its code and its place", async () => {
      await assert.rejects(run(client, "SELECT nope FROM (VALUES (1)) AS v(n)"), (err) => {
        const failure = ConnectError.from(err);
        const [detail] = failure.findDetails(ErrorDetailSchema);
        assert.equal(failure.code, Code.InvalidArgument);
        assert.equal(detail?.code, "undefined_column");
        assert.deepEqual([detail?.position?.start, detail?.position?.end], [7, 11]);
        return true;
      });
    });

    await t.test("the server says which API it has", async () => {
      const { api } = await createClient(VersionService, transport).getVersion({});
      assert.equal(`${api?.major}.${api?.minor}`, ours);
    });
  });
}
