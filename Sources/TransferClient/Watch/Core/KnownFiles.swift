import TransferModel

/// What was acknowledged, by size and time of modification: what also tells a server's upload from another. Inodes
/// don't count; those of a card are others whenever it is put in.
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

    /// All of them, in no order.
    var all: some Sequence<(path: PathKey, file: File)> { entries.lazy.map { ($0.key, $0.value.file) } }

    mutating func keep(_ path: PathKey, _ file: File) {
        entries[path] = Entry(file: file, scan: scan)
    }

    /// A scan begins.
    mutating func beginScan() {
        scan &+= 1
    }

    /// The scan has found the file.
    ///
    /// - Returns: whether it was acknowledged as it is.
    mutating func finds(_ path: PathKey, _ file: File) -> Bool {
        guard let entry = entries[path], entry.file == file else { return false }
        entries[path]?.scan = scan
        return true
    }

    /// Forgets what the last scan has not found. Only of use when that went through the whole directory.
    mutating func forgetUnseen() {
        entries = entries.filter { $0.value.scan == scan }
    }
}

extension SourceFile.Identity {
    var known: KnownFiles.File { KnownFiles.File(size: size, modified: modified) }
}
