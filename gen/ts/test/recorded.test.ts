// What servers of the releases answered is read by today's messages as by the release's own, and a client that was generated from a
// release's schema talks to this build's server. released/ holds the generated messages of the releases, as they were.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { type DescMessage, type DescService, fromBinary, fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";

import * as v010cluster from "../released/v0.1.0/fletch/api/v1/cluster_pb.js";
import * as v010error from "../released/v0.1.0/fletch/api/v1/error_pb.js";
import * as v010query from "../released/v0.1.0/fletch/api/v1/query_pb.js";
import * as v010session from "../released/v0.1.0/fletch/api/v1/session_pb.js";
import * as v010version from "../released/v0.1.0/fletch/api/v1/version_pb.js";

const root = new URL("../../../../", import.meta.url);

// A schema is the services of the API by name, and the detail of errors.
interface Schema {
  services: Map<string, DescService>;
  error?: DescMessage;
}

// schemaIn loads the generated messages in a folder.
async function schemaIn(folder: URL): Promise<Schema> {
  const schema: Schema = { services: new Map() };
  for (const file of readdirSync(folder)) {
    if (!file.endsWith("_pb.js")) continue;
    const all = await import(new URL(file, folder).href) as Record<string, { kind?: string; name?: string }>;
    for (const it of Object.values(all)) {
      if (it.kind === "service") schema.services.set(it.name!, it as DescService);
      if (it.kind === "message" && it.name === "ErrorDetail") schema.error = it as DescMessage;
    }
  }
  return schema;
}

const today = await schemaIn(new URL("../src/fletch/api/v1/", import.meta.url));

// frames are the messages of a stream, without the last frame, which says how the call ended.
function frames(b: Uint8Array): Uint8Array[] {
  const out: Uint8Array[] = [];
  const view = new DataView(b.buffer, b.byteOffset, b.byteLength);
  for (let at = 0; at < b.length; ) {
    const end = at + 5 + view.getUint32(at + 1);
    if ((b[at]! & 2) === 0) out.push(b.subarray(at + 5, end));
    at = end;
  }
  return out;
}

// read gives a message as a schema sees it, in JSON.
function read(schema: DescMessage, bytes: Uint8Array, json: boolean): JsonValue {
  const message = json
    ? fromJson(schema, JSON.parse(new TextDecoder().decode(bytes)) as JsonValue, { ignoreUnknownFields: true })
    : fromBinary(schema, bytes);
  return toJson(schema, message, { alwaysEmitImplicit: true });
}

// known is what of a value a reader of another schema knows, too: objects lose the fields that the other has not.
function known(value: JsonValue, other: JsonValue): JsonValue {
  if (Array.isArray(value) && Array.isArray(other)) return value.map((v, i) => known(v, other[i] ?? null));
  if (value && other && typeof value === "object" && typeof other === "object" && !Array.isArray(value) && !Array.isArray(other)) {
    return Object.fromEntries(Object.entries(value).filter(([k]) => k in other).map(([k, v]) => [k, known(v, other[k] ?? null)]));
  }
  return value;
}

const recordings = new URL("services/internal/recorded/testdata/", root);

for (const release of readdirSync(recordings)) {
  test(`what ${release} answered`, async () => {
    const released = await schemaIn(new URL(`../released/${release}/fletch/api/v1/`, import.meta.url));
    let files = 0;
    for (const file of readdirSync(new URL(`${release}/`, recordings))) {
      const [service, method, , ...form] = file.split(".");
      if (!service || !method || form.length === 0) continue;
      files++;
      const bytes = new Uint8Array(readFileSync(new URL(`${release}/${file}`, recordings)));
      const json = form.at(-1) === "json";
      if (form[0] === "error") {
        for (const detail of (JSON.parse(new TextDecoder().decode(bytes)) as { details?: { value: string }[] }).details ?? []) {
          const value = new Uint8Array(Buffer.from(detail.value, "base64"));
          const old = read(released.error!, value, false);
          assert.deepEqual(known(read(today.error!, value, false), old), old, file);
        }
        continue;
      }
      const outputOf = (schema: Schema) => schema.services.get(service)?.methods.find((m) => m.name === method)?.output;
      const [was, is] = [outputOf(released), outputOf(today)];
      assert.ok(was && is, `${file}: the call is gone`);
      for (const message of form[0] === "stream" ? frames(bytes) : [bytes]) {
        const old = read(was, message, json);
        assert.deepEqual(known(read(is, message, json), old), old, file);
      }
    }
    assert.ok(files >= 20, `${files} files`);
  });
}

// The server is there only where its binary was built: a schema alone can be judged without.
const binary = process.env.FLETCH_BIN ?? "../../bin/fletch";
const tables = fileURLToPath(new URL("engine/testdata/tpch/sf0.01", root));
const children: ChildProcess[] = [];

function start(...args: string[]): Promise<string> {
  const child = spawn(binary, [...args, "--listen", "127.0.0.1:0"], { stdio: ["ignore", "ignore", "pipe"] });
  children.push(child);
  return new Promise((resolve, reject) => {
    let said = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      said += chunk;
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(said);
      if (url) resolve(url[0]);
    });
    child.on("error", reject);
    child.on("exit", (code) => reject(new Error(`fletch ${args[0]} ended with ${code}: ${said}`)));
  });
}

if (existsSync(binary)) {
  let base: string;

  before(async () => {
    const worker = await start("worker", "--version", "ts", "--read-root", tables);
    base = await start("serve", "--workers", worker, "--tables", tables);
    for (;;) {
      const ready = await fetch(`${base}/readyz`);
      await ready.arrayBuffer();
      if (ready.ok) return;
    }
  }, { timeout: 20_000 });

  after(() => {
    for (const child of children) child.kill();
  });

  for (const useBinaryFormat of [true, false]) {
    test(`a client of v0.1.0, ${useBinaryFormat ? "binary" : "JSON"}`, { timeout: 30_000 }, async () => {
      const transport = createConnectTransport({
        baseUrl: base,
        useBinaryFormat,
        interceptors: [(next) => (request) => {
          request.header.set("fletch-api-version", "1.0");
          return next(request);
        }],
      });
      const query = createClient(v010query.QueryService, transport);
      const page = await query.fetch({ statement: "SELECT r_regionkey, r_name FROM region ORDER BY 1", pageSize: 2 });
      assert.equal(page.rows.length, 2);
      assert.ok(page.nextPageToken);
      const rest = await query.fetch({ pageToken: page.nextPageToken });
      assert.equal(rest.end?.rows, 5n);
      assert.equal(rest.end?.cohort?.version, "ts");
      const events: (string | undefined)[] = [];
      for await (const { event } of query.execute({ statement: "SELECT count(*) FROM orders" })) events.push(event.case);
      assert.deepEqual([events[0], events.at(-1)], ["head", "end"]);
      await assert.rejects(query.fetch({ statement: "SELECT nope" }), (err) => {
        const [detail] = ConnectError.from(err).findDetails(v010error.ErrorDetailSchema);
        assert.equal(ConnectError.from(err).code, Code.InvalidArgument);
        assert.equal(detail?.code, "undefined_column");
        return true;
      });
      const { workers } = await createClient(v010cluster.ClusterService, transport).listWorkers({});
      assert.deepEqual(workers.map((w) => [w.version, w.state, w.used]), [["ts", v010cluster.WorkerState.READY, true]]);
      const { api, apiMinimum } = await createClient(v010version.VersionService, transport).getVersion({});
      assert.equal(api?.major, 1);
      assert.equal(apiMinimum?.minor, 0);
      const { sessionId } = await createClient(v010session.SessionService, transport).openSession({});
      assert.ok(sessionId);
    });
  }
}
