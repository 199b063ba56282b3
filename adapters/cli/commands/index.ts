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
  {
    name: 'exec',
    summary: 'Run a command in a kept VM.',
    load: async () => (await import('./exec.ts')).execCommand,
  },
  {
    name: 'cp',
    summary: 'Copy a file or a folder to a kept VM, or back.',
    load: async () => (await import('./cp.ts')).cpCommand,
  },
  {
    name: 'forward',
    summary: 'Lead a local port into a kept VM until stopped.',
    load: async () => (await import('./forward.ts')).forwardCommand,
  },
  {
    name: 'procs',
    summary: 'List the commands of a kept VM and their processes.',
    load: async () => (await import('./procs.ts')).procsCommand,
  },
  {
    name: 'suspend',
    summary: 'Suspend a kept VM: its processes stop, its memory stays.',
    load: async () => (await import('./suspend.ts')).suspendCommand,
  },
  {
    name: 'resume',
    summary: 'Resume a suspended VM: what ran before goes on.',
    load: async () => (await import('./resume.ts')).resumeCommand,
  },
  {
    name: 'terminate',
    summary: 'End a kept VM and forget its name and token.',
    load: async () => (await import('./terminate.ts')).terminateCommand,
  },
  {
    name: 'ls',
    summary: 'List the kept VMs with their states.',
    load: async () => (await import('./ls.ts')).lsCommand,
  },
  {
    name: 'check',
    summary: 'Prove that the machines keep the spec, and that each guard carries its load.',
    load: async () => (await import('./check.ts')).checkCommand,
  },
  {
    name: 'trace',
    summary: 'List what carries each requirement: transitions, guards, properties, tests.',
    load: async () => (await import('./trace.ts')).traceCommand,
  },
  {
    name: 'graph',
    summary: 'Draw a statechart: the lifecycle, or any other machine.',
    load: async () => (await import('./graph.ts')).graphCommand,
  },
  {
    name: 'ui',
    summary: 'Watch lifecycles in a browser, live or replayed.',
    load: async () => (await import('./ui.ts')).uiCommand,
  },
];
