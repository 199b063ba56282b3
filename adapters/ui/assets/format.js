/** Moments and spans of time for people. */

const clock = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false });

/** A moment of today, to the millisecond. */
export function moment(at) {
  return `${clock.format(at)}.${String(Math.floor(at % 1000)).padStart(3, '0')}`;
}

/** A span in its two largest units: `3 h 05 m`, `12 s`, `–` for none. */
export function span(ms) {
  if (ms === null || !Number.isFinite(ms)) return '–';
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} m ${pad(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${pad(minutes % 60)} m`;
  return `${Math.floor(hours / 24)} d ${pad(hours % 24)} h`;
}

/** A short span, to the millisecond. */
export function brief(ms) {
  if (ms === null) return '';
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** A size in bytes. */
export function size(bytes) {
  return bytes < 1024 ? `${bytes} bytes` : `${(bytes / 1024).toFixed(1)} KiB`;
}

function pad(number) {
  return String(number).padStart(2, '0');
}
