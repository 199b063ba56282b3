/**
 * Lets Node 20 run the TypeScript sources as they are: `node --import ./test/helpers/typescript-loader.mjs FILE.ts`.
 * Types are stripped by the compiler that the tests use anyway. With `VMCHART_LOADED=FILE` the address of every
 * module that was loaded is appended to the file.
 */
import { register } from 'node:module';

register('./typescript-hooks.mjs', import.meta.url);
