/** How far a transfer is, in words and as a bar. */

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** A number of bytes as people read it: `512 B`, `1.5 MiB`. */
export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${units[unit] ?? ''}`;
}

const barWidth = 24;

/** `[████████░░░░]  42 %  12 MiB of 29 MiB  8.1 MiB/s`; without a total no bar. */
export function transferText(bytes: number, totalBytes: number | null, elapsedMs: number): string {
  const rate = elapsedMs > 0 ? `${bytesText((bytes / elapsedMs) * 1_000)}/s` : '';
  if (totalBytes === null || totalBytes === 0) return `${bytesText(bytes)}  ${rate}`;
  const share = Math.min(1, bytes / totalBytes);
  const full = Math.round(share * barWidth);
  const bar = '█'.repeat(full) + '░'.repeat(barWidth - full);
  const percent = `${Math.floor(share * 100)} %`.padStart(5);
  return `[${bar}] ${percent}  ${bytesText(bytes)} of ${bytesText(totalBytes)}  ${rate}`;
}
