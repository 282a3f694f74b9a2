import TransferModel

/// Acknowledged files, by size and modification time, which are part of upload IDs, too. Inodes don't count: those of a
/// card change whenever it is inserted.
struct KnownFiles: Sendable {
    struct File: Equatable, Sendable {
        let size: UInt64
        let modified: Timestamp
    }

    private struct Entry {
        let file: File
        var scan: UInt64
    }

    private var entries: [PathKey: Entry] = [:]
    private var scan: UInt64 = 0

    init() {}

    var count: Int { entries.count }

    subscript(path: PathKey) -> File? { entries[path]?.file }

    /// All files, in no particular order.
    var all: some Sequence<(path: PathKey, file: File)> { entries.lazy.map { ($0.key, $0.value.file) } }

    mutating func keep(_ path: PathKey, _ file: File) {
        entries[path] = Entry(file: file, scan: scan)
    }

    /// Marks the beginning of a scan.
    mutating func beginScan() {
        scan &+= 1
    }

    /// Notes that the scan has found a file.
    ///
    /// - Returns: whether this version was acknowledged.
    mutating func finds(_ path: PathKey, _ file: File) -> Bool {
        guard let entry = entries[path], entry.file == file else { return false }
        entries[path]?.scan = scan
        return true
    }

    /// Forgets files that the last scan has not found. Only valid if it went through the whole directory.
    mutating func forgetUnseen() {
        entries = entries.filter { $0.value.scan == scan }
    }
}

extension SourceFile.Identity {
    var known: KnownFiles.File { KnownFiles.File(size: size, modified: modified) }
}
