// Runs a caller's script and returns its result as JSON, or the length of one that is too long.
(async () => {
  const value = await SCRIPT;
  if (value === undefined) return {};
  // Without the page's JSON where that is not needed: some pages break it.
  if (value === null || value === true || value === false) return { value };
  if (typeof value === 'string') return value.length > LIMIT ? { length: value.length } : { value };
  const json = JSON.stringify(value);
  if (typeof json !== 'string') return {};
  return json.length > LIMIT ? { length: json.length } : { json };
})()
