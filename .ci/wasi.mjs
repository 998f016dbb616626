// Runs a wasip1 program under Node: node wasi.mjs PROGRAM ARGUMENTS. The program sees the environment, the current folder and all files.
import { readFile } from "node:fs/promises";
import { WASI } from "node:wasi";

const args = process.argv.slice(2);
const env = { ...process.env, PWD: process.cwd() };
const wasi = new WASI({ version: "preview1", args, env, preopens: { "/": "/" }, returnOnExit: true });
const { instance } = await WebAssembly.instantiate(await readFile(args[0]), wasi.getImportObject());
process.exit(wasi.start(instance));
