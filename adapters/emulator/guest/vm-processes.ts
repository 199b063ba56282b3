/** What the daemon needs from the processes of a VM, however isolated they are. */
import type { ChildExit } from '../../../machines/index.ts';
import type { PipeReader } from './pipe-reader.ts';
import type { PipeWriter } from './pipes.ts';

/** A program to start inside the VM. */
export interface LaunchRequest {
  /** Program and arguments. A bare program name is looked up on the `PATH` of `env`. */
  readonly argv: readonly string[];
  /** The whole environment: nothing is added to it. */
  readonly env: Readonly<Record<string, string>>;
  /** Absolute path in the VM. */
  readonly cwd: string;
  /** `null`: the daemon's own user. */
  readonly uid: number | null;
  /** `null`: the daemon's own group. */
  readonly gid: number | null;
  /** Whether standard input is a pipe; otherwise it is `/dev/null`. */
  readonly stdin: boolean;
}

/** A started program: the leader of a process group of its own. */
export interface VmProcess {
  /** Its process id, and its group's, as the VM sees them. */
  readonly pid: number;
  readonly stdin: PipeWriter | null;
  readonly stdout: PipeReader;
  readonly stderr: PipeReader;
  /** Settles when the program ended; its pipes may be open longer. Never rejects. */
  readonly exit: Promise<ChildExit>;
  /** Signals the whole group, also after its leader ended. `false`: there is no such group. */
  signalGroup(signal: 'SIGTERM' | 'SIGKILL'): boolean;
  /** The living members of the group, zombies left out, ascending, as the VM sees them. */
  groupMembers(): number[];
}

/** The system refused to start a program: no such program, no such directory, no such user. */
export class LaunchFailure extends Error {
  override readonly name = 'LaunchFailure';
}

/** The processes of one VM. */
export interface VmProcesses {
  /** Whether they have a root, a process table and a host name of their own. */
  readonly isolated: boolean;
  /** The root of the VM as the host's kernel names it; `null` while it has no namespaces of its own. */
  liveRoot(): string | null;
  /** Called when every process of the VM ended without being asked to. */
  onLost(listener: () => void): void;
  /** Starts a program. Waits while the VM is frozen. Throws {@link LaunchFailure}. */
  launch(request: LaunchRequest): Promise<VmProcess>;
  /** Stops every process at once; their memory stays. */
  freeze(): Promise<void>;
  /** Lets every process go on. */
  thaw(): Promise<void>;
  /** Ends every process. Safe to call more than once; nothing can be launched afterwards. */
  destroy(): Promise<void>;
}
