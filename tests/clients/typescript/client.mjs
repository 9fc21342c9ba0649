// The TypeScript SDK for both eras (@modelcontextprotocol/client), in the one that it is told.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { connect, work } from "./task.mjs";

const options = { versionNegotiation: { mode: process.argv[3] } };
const client = new Client({ name: "client", version: "1" }, options);
await client.connect(connect(StdioClientTransport, StreamableHTTPClientTransport));
await work(client, client.getNegotiatedProtocolVersion());
