/** The port to the local disk: what transfers of files and directories need of it. */

/** A local file that is about to be sent. */
export interface LocalFile {
  readonly sizeBytes: number;
  /** Permission bits. */
  readonly mode: number;
  /** Reads the file from its start, anew at each call. */
  read(): AsyncIterable<Uint8Array>;
}

/** Which members of a directory a transfer takes. */
export interface MemberChoice {
  /**
   * Globs over paths relative to the directory, such as `src/*.ts`; only what matches is taken. Default: everything.
   *
   * `*` stays within one name: `*.log` is of the directory itself. Two stars and a slash before it make it of all
   * below too. Names that begin with a dot are no exception. What matches a folder holds for all that is in it.
   */
  readonly include?: readonly string[];
  /** Globs of what is left out, read alike; they win. */
  readonly exclude?: readonly string[];
}

/** Something that a transfer left out, and why. */
export interface SkippedMember {
  readonly path: string;
  readonly reason: 'special-file' | 'git' | 'not-chosen' | 'link';
}

/** What a transfer of a directory moved. */
export interface DirectoryReport {
  readonly files: number;
  readonly directories: number;
  readonly links: number;
  /** Bytes of file contents. */
  readonly bytes: number;
  /** Left out, but for what the choice did not name. */
  readonly skipped: readonly SkippedMember[];
}

/** A directory that was looked through and can be sent. */
export interface LocalDirectory extends DirectoryReport {
  /** An archive of it, or of some of its files and links, made while it is read, anew at each call. */
  pack(takes?: (path: string) => boolean): AsyncIterable<Uint8Array>;
  /** A digest of each file and link, by path: equal digests mean equal contents, modes and targets. */
  digests(signal?: AbortSignal): Promise<ReadonlyMap<string, string>>;
}

/** How a directory is packed. */
export interface PackOptions extends MemberChoice {
  /**
   * A link that leads out of the directory is nothing that a VM could hold: `refuse` ends the transfer before it
   * begins, `skip` leaves the link out. Default `refuse`.
   */
  readonly unsafeLinks?: 'refuse' | 'skip';
}

/** How an archive from a VM is unpacked. The VM is not trusted. */
export interface UnpackOptions extends MemberChoice {
  /** What becomes of symbolic links that stay inside the directory: kept, left out, or refused. Default `keep`. */
  readonly links?: 'keep' | 'skip' | 'refuse';
  /** `.git` is left out by default, since what is planted in it runs on this machine later (FC-103). */
  readonly git?: 'skip' | 'keep';
  /** Ends the transfer beyond this many bytes of contents. Default 8 GiB; `Infinity` for no cap. */
  readonly maxBytes?: number;
  /**
   * Ends the transfer beyond this many members, directories that are only implied by a name included. The length of
   * all names and the work on links are capped in proportion. Default 100,000; `Infinity` for no cap.
   */
  readonly maxMembers?: number;
}

/** The local disk. */
export interface LocalFiles {
  /** Opens a file for sending. @throws VmchartError `InvalidArg` when there is none. */
  openFile(path: string): Promise<LocalFile>;
  /**
   * Writes a file that appears under its name only when all of it has arrived. Returns its size in bytes.
   * A failure leaves what was there before.
   */
  saveFile(path: string, content: AsyncIterable<Uint8Array>): Promise<number>;
  /** Looks through a directory. @throws VmchartError `InvalidArg` for a link that leads out of it. */
  openDirectory(path: string, options: PackOptions): Promise<LocalDirectory>;
  /**
   * Unpacks an archive into a directory. Nothing is written outside of it whatever the archive says, and a failure
   * leaves the directory as it was.
   */
  unpack(path: string, archive: AsyncIterable<Uint8Array>, options: UnpackOptions): Promise<DirectoryReport>;
}
