import TransferModel

/// The remaining work of a pull: operands, the items that were found for them, and the order in which these are done.
struct PullBacklog {
    /// Takes the next operand of the caller. One thread calls it at a time.
    private nonisolated(unsafe) let downloads: () -> Download?
    /// The next operand, taken in advance.
    private var upcoming: Download?
    /// Operands that must be asked about again.
    private var operands: [PullOperand] = []
    private var folders: [PullFolder] = []
    private var files: [PullFile] = []
    private var firstFile = 0
    /// The parts of long files, which come first, so that few files are under way.
    private(set) var parts: [(split: PullSplit, range: Range<UInt64>)] = []

    /// The number of operands and folders whose wanted entries are not known yet.
    private var unlisted = 0
    /// The wanted files and bytes, as far as known.
    private(set) var count = (files: 0, bytes: UInt64(0))

    init() {
        downloads = { nil }
    }

    init(_ downloads: some Sequence<Download>) {
        var iterator = downloads.makeIterator()
        self.downloads = { iterator.next() }
        upcoming = self.downloads()
    }

    var fileCount: Int { files.count - firstFile }

    /// The number of found items that remain to be done.
    var waiting: Int { fileCount + folders.count }

    /// Whether all wanted entries are known.
    var isListed: Bool { unlisted == 0 && upcoming == nil }

    var isEmpty: Bool { upcoming == nil && operands.isEmpty && folders.isEmpty && fileCount == 0 && parts.isEmpty }

    /// The bytes of the first waiting files.
    func bytes(of number: Int) -> UInt64 {
        files[firstFile...].prefix(number).reduce(0) { $0 + min($1.entry.size, 1 << 40) }
    }

    /// Adds an item that was counted before.
    mutating func putBack(_ item: PullPlan.Item) {
        switch item {
        case .operand(let operand): operands.append(operand)
        case .folder(let folder): folders.append(folder)
        case .file(let file): files.append(file)
        case .part(let split, let range): parts.append((split, range))
        }
    }

    /// Adds and counts a new item.
    mutating func add(_ item: PullPlan.Item) {
        switch item {
        case .operand, .part: break
        case .folder: unlisted += 1
        case .file(let file): count(1, file.entry.size)
        }
        putBack(item)
    }

    /// Counts files that need not, or cannot, be fetched.
    mutating func count(_ files: Int, _ bytes: UInt64) {
        count = (count.files + files, count.bytes.addingClamped(bytes))
    }

    /// Notes that the wanted entries of an operand or folder are known.
    mutating func listed() { unlisted -= 1 }

    /// - Parameter listsFirst: whether folders come before files. Otherwise files come first, so that few of them wait.
    mutating func take(_ plan: PullPlan, listsFirst: Bool) -> PullPlan.Item? {
        if let (split, range) = parts.popLast() { return .part(split, range) }
        if !listsFirst, let file = takeFile() { return .file(file) }
        if let folder = folders.popLast() { return .folder(folder) }
        if let operand = operands.popLast() { return .operand(operand) }
        guard let download = takeDownload() else { return takeFile().map { .file($0) } }
        unlisted += 1
        return .operand(PullOperand(download, plan))
    }

    private mutating func takeDownload() -> Download? {
        guard let download = upcoming else { return nil }
        upcoming = downloads()
        return download
    }

    private mutating func takeFile() -> PullFile? {
        guard firstFile < files.count else { return nil }
        firstFile += 1
        let file = files[firstFile - 1]
        if firstFile >= 1024 || firstFile == files.count {
            files.removeFirst(firstFile)
            firstFile = 0
        }
        return file
    }

    /// Takes all remaining work, each item once.
    mutating func takeRemainders() -> [PullRemainder] {
        let files = parts.map(\.split.file) + self.files[firstFile...]
        var left = files.map(\.remainder) + operands.map(\.remainder) + folders.map(\.remainder)
        while let download = takeDownload() { left.append(download.remainder) }
        var seen: Set<PullRemainder> = []
        return left.filter { seen.insert($0).inserted }
    }
}
