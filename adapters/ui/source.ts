/** Where a page has its fleet from. */
import type { Tell } from '../trace/entry.ts';
import type { CommandReply, PageCommand } from './wire.ts';

/** Something that tells of lives, and may take commands for them. */
export interface FleetSource {
  /** Tells from now on, beginning with what is there. */
  start(tell: Tell): Promise<void>;
  /** Whether this life is one of its own. */
  has(life: string): boolean;
  /** Sends a command; the reply is the machine's immediate answer. */
  send?(life: string, command: PageCommand): Promise<CommandReply>;
  /** Launches a VM and returns the name of its life at once. */
  launch?(): Promise<string>;
  /** Runs a shell line in a VM; its output comes as entries. */
  run?(life: string, line: string): Promise<void>;
  close(): Promise<void>;
}
