/** What the emulated platform needs from the inside of a VM, and what stands there can be chosen. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** The six lifecycle hooks of the platform. */
export type HookName = 'ready' | 'validate' | 'run' | 'suspend' | 'resume' | 'terminate';

/** Failures of a VM's daemon on request. Both members may be changed at any time. */
export interface GuestFaults {
  /** Each output stream that is opened takes the first entry and is cut after so many bytes of its body. */
  readonly streamCuts: number[];
  /** How long every request waits before the daemon looks at it, in milliseconds. */
  delayMs: number;
}

/** The inside of one VM: its daemon and its processes. */
export interface Guest {
  /** The port on which the daemon answers; every other port is whatever the VM's own programs bind. */
  readonly daemonPort: number;
  /** Failures on request, where this kind of guest has them. */
  readonly faults?: GuestFaults;
  /** The platform calls a hook; the answer's status decides what happens to the VM. */
  hook(
    name: HookName,
    body: { readonly microvmId: string; readonly runHookPayload?: string | null | undefined } | null,
  ): Promise<{ status: number }>;
  /** Serves a request that the endpoint proxy let through to the daemon's port. */
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Serves an upgrade that the endpoint proxy let through to the daemon's port. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Stops every process of the VM; memory and files stay. */
  freeze(): Promise<void>;
  /** Lets every process of the VM go on. */
  thaw(): Promise<void>;
  /** Ends every process of the VM and removes its files. Safe to call more than once. */
  destroy(): Promise<void>;
  /** Called once when the VM's main process ended by itself, with its exit code. */
  onExit(listener: (exitCode: number) => void): void;
}

/** Makes the inside of VMs. */
export interface GuestFactory {
  /** One line that says how isolated a VM is on this machine. */
  readonly notice: string;
  create(options: {
    readonly microvmId: string;
    readonly environment: Readonly<Record<string, string>>;
  }): Promise<Guest>;
  /** Ends everything that is left. */
  close(): Promise<void>;
}
