/** The output of a command as one JSON object a line (`exec --stream --json`). */
import { StringDecoder } from 'node:string_decoder';
import type { GapEvent, OutputEvent, RunResult } from '../../../effects/index.ts';
import type { Terminal } from '../output/terminal.ts';

/** Prints events as they come; `base64` has the exact bytes, `text` the same decoded across events. */
export function eventLines(terminal: Terminal) {
  const decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') };
  const print = async (event: Readonly<Record<string, unknown>>) => {
    await terminal.out(`${JSON.stringify(event)}\n`);
  };
  return {
    onOutput: async ({ stream, offset, data }: OutputEvent) => {
      const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
      const text = decoders[stream].write(bytes);
      await print({ type: 'output', stream, offset, text, base64: bytes.toString('base64') });
    },
    onGap: async ({ from, to }: GapEvent) => await print({ type: 'gap', from, to }),
    exit: async ({ exitCode, signal, timedOut, posixExitCode }: RunResult) =>
      await print({ type: 'exit', exitCode, signal, timedOut, posixExitCode }),
  };
}
