// The TypeScript SDK for sessions (@modelcontextprotocol/sdk).
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { connect, work } from "./task.mjs";

const client = new Client({ name: "sdk", version: "1" });
const transport = connect(StdioClientTransport, StreamableHTTPClientTransport);
await client.connect(transport);
await work(client, transport.protocolVersion);
