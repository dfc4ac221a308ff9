// Saves and loads what a reader entered in a page, as JSON files.
const files = {
  save(what, person, content) {
    const name = `${what}-${person.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "") || "reader"}.json`;
    const blob = new Blob([JSON.stringify({ ...content, created: new Date().toISOString() }, null, 1), "\n"], { type: "application/json" });
    const link = Object.assign(document.createElement("a"), { download: name, href: URL.createObjectURL(blob) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    return name;
  },
  // What "read" makes of the content of a file with the format and version of "data".
  async load(file, data, what, read) {
    try {
      if (file.size > 100e6) throw new Error("it is larger than 100 MB");
      const value = JSON.parse(await file.text());
      if (value === null || typeof value !== "object" || value.format !== data.format) throw new Error(`it contains no ${what}`);
      if (value.version !== data.version) throw new Error("another version of lmms-rpts wrote it");
      return read(value);
    } catch (error) {
      throw new Error(`${file.name} cannot be loaded: ${error instanceof SyntaxError ? "it is not valid JSON" : error.message}.`);
    }
  },
};
