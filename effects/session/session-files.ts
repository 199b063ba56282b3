/** The files of a VM, as a session offers them. */
import type { HttpStream } from '../ports.ts';
import { downloadDir, downloadTo, requireLocalFiles, uploadDir, uploadFrom } from './directories.ts';
import type { DownloadDirOptions, UploadDirOptions } from './directories.ts';
import type { Command } from './exec-command.ts';
import { downloadFile, fileExists, openRemoteFile, openRemoteTar, uploadFile, uploadTar } from './files.ts';
import type {
  ArchiveOptions,
  DownloadOptions,
  LineRange,
  TransferOptions,
  UploadBody,
  UploadOptions,
} from './files.ts';
import type { DirectoryReport, LocalFiles } from './local-files.ts';
import type { RunResult } from './run-result.ts';
import type { RunOptions } from './run-to-completion.ts';
import type { SyncDirOptions, SyncReport } from './sync-dir.ts';
import type { Transport } from './transport.ts';
import type { UploadOwner } from './upload-owner.ts';

/** Files and directories, in and out. */
export abstract class SessionFiles {
  /** The transport, for whoever builds another noun on this session. */
  abstract readonly transport: Transport;
  readonly #localFiles: LocalFiles | undefined;

  protected constructor(localFiles: LocalFiles | undefined) {
    this.#localFiles = localFiles;
  }

  protected abstract readonly uploadOwner: UploadOwner;

  /** Runs a command to its end under its deadlines. */
  abstract run(command: Command, options?: RunOptions): Promise<RunResult>;

  /** Writes one file of the VM, its parents included. */
  async uploadFile(path: string, data: UploadBody, options: UploadOptions = {}): Promise<void> {
    await uploadFile(this.transport, path, data, options);
    await this.uploadOwner.handOver(path, 'file', options.signal);
  }

  /** Reads a file into memory: no more than 64 MiB unless `maxBytes` says otherwise. */
  async downloadFile(path: string, options: DownloadOptions = {}): Promise<Uint8Array> {
    return await downloadFile(this.transport, path, options);
  }

  /** Reads some lines of a file into memory: 1-based, inclusive. */
  async downloadFileLines(path: string, range: LineRange, options: DownloadOptions = {}): Promise<Uint8Array> {
    return await downloadFile(this.transport, path, { ...options, ...range });
  }

  /** Opens a file for reading as it comes. */
  async openFile(path: string, options: DownloadOptions & LineRange = {}): Promise<HttpStream> {
    return await openRemoteFile(this.transport, path, options);
  }

  /** Whether there is such a file. A directory is an error, not an answer. */
  async fileExists(path: string, signal?: AbortSignal): Promise<boolean> {
    return await fileExists(this.transport, path, signal);
  }

  /** Unpacks an uncompressed tar archive in the VM. */
  async uploadTar(remoteDir: string, archive: UploadBody, options: ArchiveOptions = {}): Promise<void> {
    await uploadTar(this.transport, remoteDir, archive, options);
    await this.uploadOwner.handOver(remoteDir, 'directory', options.signal);
  }

  /** Opens a tar archive of a directory of the VM for reading as it comes. */
  async downloadTar(remoteDir: string, options: TransferOptions = {}): Promise<HttpStream> {
    return await openRemoteTar(this.transport, remoteDir, options);
  }

  /** Sends a local file with its permission bits. */
  async uploadFrom(
    localPath: string,
    remotePath: string,
    options: Omit<UploadOptions, 'sizeBytes'> = {},
  ): Promise<void> {
    await uploadFrom(this.transport, this.#disk, localPath, remotePath, options);
    await this.uploadOwner.handOver(remotePath, 'file', options.signal);
  }

  /** Fetches a file to the local disk; it appears only when it is whole. Returns its size in bytes. */
  async downloadTo(remotePath: string, localPath: string, options: DownloadOptions = {}): Promise<number> {
    return await downloadTo(this.transport, this.#disk, remotePath, localPath, options);
  }

  /** Sends a local directory, links kept as links. */
  async uploadDir(localDir: string, remoteDir: string, options: UploadDirOptions = {}): Promise<DirectoryReport> {
    const report = await uploadDir(this.transport, this.#disk, localDir, remoteDir, options);
    await this.uploadOwner.handOver(remoteDir, 'directory', options.signal);
    return report;
  }

  /** Fetches a directory of the VM, which is not trusted: nothing is written outside of `localDir`. */
  async downloadDir(remoteDir: string, localDir: string, options: DownloadDirOptions = {}): Promise<DirectoryReport> {
    return await downloadDir(this.transport, this.#disk, remoteDir, localDir, options);
  }

  /** Makes a directory of the VM equal to a local one; only what differs is sent. */
  async syncDir(localDir: string, remoteDir: string, options: SyncDirOptions = {}): Promise<SyncReport> {
    const run = async (command: Command, more: RunOptions) => await this.run(command, more);
    const { syncDir } = await import('./sync-dir.ts');
    const report = await syncDir(this.transport, this.#disk, run, localDir, remoteDir, options);
    await this.uploadOwner.handOver(remoteDir, 'directory', options.signal);
    return report;
  }

  get #disk(): LocalFiles {
    return requireLocalFiles(this.#localFiles);
  }
}
