/** Transfers between the local disk and the VM: files and whole directories, as streams. */
import { VmchartError } from '../errors.ts';
import { checkCap } from './caps.ts';
import type { ArchiveOptions, DownloadOptions, TransferOptions, UploadOptions } from './files.ts';
import { openRemoteFile, openRemoteTar, uploadFile, uploadTar } from './files.ts';
import type { DirectoryReport, LocalFiles, PackOptions, UnpackOptions } from './local-files.ts';
import type { Transport } from './transport.ts';

/** How a directory is uploaded. */
export interface UploadDirOptions extends ArchiveOptions, PackOptions {}

/** How a directory is downloaded. */
export interface DownloadDirOptions extends TransferOptions, UnpackOptions {}

/** A session's way to the local disk. @throws VmchartError `Precondition` when it was made without one. */
export function requireLocalFiles(localFiles: LocalFiles | undefined): LocalFiles {
  if (localFiles !== undefined) return localFiles;
  throw new VmchartError('Precondition', 'This session was made without access to the local disk.', {
    reason: 'no-local-files',
    suggestions: ['Pass localFiles() from vmchart/adapters as the option localFiles.'],
  });
}

/** Sends a local file with its permission bits. */
export async function uploadFrom(
  transport: Transport,
  disk: LocalFiles,
  localPath: string,
  remotePath: string,
  options: Omit<UploadOptions, 'sizeBytes'> = {},
): Promise<void> {
  const file = await disk.openFile(localPath);
  const mode = options.mode ?? file.mode;
  await uploadFile(transport, remotePath, () => file.read(), { ...options, mode, sizeBytes: file.sizeBytes });
}

/** Fetches a file of the VM. It appears under its local name only when all of it has arrived. Returns its size. */
export async function downloadTo(
  transport: Transport,
  disk: LocalFiles,
  remotePath: string,
  localPath: string,
  options: DownloadOptions = {},
): Promise<number> {
  const stream = await openRemoteFile(transport, remotePath, options);
  try {
    return await disk.saveFile(localPath, stream.body);
  } finally {
    stream.close();
  }
}

/** Sends a local directory: it is looked through first, and packed while it is sent. */
export async function uploadDir(
  transport: Transport,
  disk: LocalFiles,
  localDir: string,
  remoteDir: string,
  options: UploadDirOptions = {},
): Promise<DirectoryReport> {
  const directory = await disk.openDirectory(localDir, options);
  await uploadTar(transport, remoteDir, () => directory.pack(), options);
  const { files, directories, links, bytes, skipped } = directory;
  return { files, directories, links, bytes, skipped };
}

/** Fetches a directory of the VM, which is not trusted. A failure leaves the local directory as it was. */
export async function downloadDir(
  transport: Transport,
  disk: LocalFiles,
  remoteDir: string,
  localDir: string,
  options: DownloadDirOptions = {},
): Promise<DirectoryReport> {
  checkCap('maxBytes', options.maxBytes);
  checkCap('maxMembers', options.maxMembers);
  const stream = await openRemoteTar(transport, remoteDir, options);
  try {
    return await disk.unpack(localDir, stream.body, options);
  } finally {
    stream.close();
  }
}
