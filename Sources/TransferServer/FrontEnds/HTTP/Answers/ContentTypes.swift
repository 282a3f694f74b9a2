/// What files are, by their names: for browsers, which are told not to guess.
enum ContentTypes {
    /// Text is taken to be UTF-8. What a browser could run is text for it: nothing that others have stored here becomes a page.
    private static let types: KeyValuePairs = [
        "aac": "audio/aac", "avif": "image/avif", "bmp": "image/bmp", "css": text, "csv": "text/csv; charset=utf-8",
        "flac": "audio/flac", "gif": "image/gif", "gz": "application/gzip", "heic": "image/heic", "heif": "image/heif",
        "htm": text, "html": text, "ico": "image/x-icon", "jpeg": "image/jpeg", "jpg": "image/jpeg", "js": text,
        "json": "application/json", "log": text, "m4a": "audio/mp4", "md": "text/markdown; charset=utf-8",
        "mkv": "video/x-matroska", "mov": "video/quicktime", "mp3": "audio/mpeg", "mp4": "video/mp4",
        "oga": "audio/ogg", "ogg": "audio/ogg", "ogv": "video/ogg", "opus": "audio/ogg", "pdf": "application/pdf",
        "png": "image/png", "tar": "application/x-tar", "tif": "image/tiff", "tiff": "image/tiff", "txt": text,
        "wav": "audio/wav", "webm": "video/webm", "webp": "image/webp", "xml": text, "yaml": text, "yml": text,
        "zip": "application/zip", "zst": "application/zstd",
    ]

    private static let text = "text/plain; charset=utf-8"

    static func type(of path: String) -> String {
        let name = path.utf8.split(separator: UInt8(ascii: "/")).last ?? Substring(path).utf8
        guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else { return unknown }
        let ending = name[name.index(after: dot)...].prefix(8).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        return types.first { $0.key.utf8.elementsEqual(ending) }?.value ?? unknown
    }

    private static let unknown = "application/octet-stream"
}
