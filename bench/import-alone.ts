/** Tells how long the import of the module in its first argument takes, in milliseconds. */
const [, , specifier = ''] = process.argv;
const startedAt = performance.now();
await import(specifier);
console.log(performance.now() - startedAt);
process.exit();
