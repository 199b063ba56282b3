/** The list of commands. Help reads this alone; a command's file is loaded when it is called for. */
import type { CommandEntry } from '../command.ts';

/** In the order in which help shows them. */
export const commands: readonly CommandEntry[] = [
  {
    name: 'demo',
    summary: 'Watch a whole life on the embedded platform: launch, command, suspend, resume, end.',
    load: async () => (await import('./demo.ts')).demoCommand,
  },
  {
    name: 'run',
    summary: 'Launch a MicroVM, run a command in it, and end it.',
    load: async () => (await import('./run.ts')).runCommand,
  },
  {
    name: 'emulator',
    summary: 'Serve the emulated service on this machine until stopped.',
    load: async () => (await import('./emulator.ts')).emulatorCommand,
  },
];
