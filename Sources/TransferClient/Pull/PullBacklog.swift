import TransferModel

/// What a pull has still to do: what was named, what of it was found, and in which order it comes.
struct PullBacklog {
    /// What the caller names. Called by one at a time.
    private nonisolated(unsafe) let downloads: () -> Download?
    /// The next of these.
    private var upcoming: Download?
    /// To be looked at again.
    private var operands: [PullOperand] = []
    private var folders: [PullFolder] = []
    private var files: [PullFile] = []
    private var firstFile = 0
    /// Parts of long files; those come first, so that few are under way.
    private(set) var parts: [(split: PullSplit, range: Range<UInt64>)] = []

    /// Named and folders of which nobody knows yet what is wanted of them.
    private var unlisted = 0
    /// What is wanted, as far as that is known.
    private(set) var count = (files: 0, bytes: UInt64(0))

    /// Nothing.
    init() {
        downloads = { nil }
    }

    init(_ downloads: some Sequence<Download>) {
        var iterator = downloads.makeIterator()
        self.downloads = { iterator.next() }
        upcoming = self.downloads()
    }

    var fileCount: Int { files.count - firstFile }

    /// What was found and is still to be done.
    var waiting: Int { fileCount + folders.count }

    /// Whether all is known that is wanted.
    var isListed: Bool { unlisted == 0 && upcoming == nil }

    var isEmpty: Bool { upcoming == nil && operands.isEmpty && folders.isEmpty && fileCount == 0 && parts.isEmpty }

    /// Bytes of the first files that wait.
    func bytes(of number: Int) -> UInt64 {
        files[firstFile...].prefix(number).reduce(0) { $0 + min($1.entry.size, 1 << 40) }
    }

    /// Adds what is known already.
    mutating func putBack(_ item: PullPlan.Item) {
        switch item {
        case .operand(let operand): operands.append(operand)
        case .folder(let folder): folders.append(folder)
        case .file(let file): files.append(file)
        case .part(let split, let range): parts.append((split, range))
        }
    }

    /// Adds what was not known before.
    mutating func add(_ item: PullPlan.Item) {
        switch item {
        case .operand, .part: break
        case .folder: unlisted += 1
        case .file(let file): count(1, file.entry.size)
        }
        putBack(item)
    }

    /// Counts files that need not be fetched, or cannot be.
    mutating func count(_ files: Int, _ bytes: UInt64) {
        count = (count.files + files, count.bytes.addingClamped(bytes))
    }

    /// It is known what is wanted of something that was named, or of a folder.
    mutating func listed() { unlisted -= 1 }

    /// - Parameter listsFirst: whether folders come before files, which otherwise come first, so that few wait.
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

    /// Takes out all that is left to do, each once.
    mutating func takeRemainders() -> [PullRemainder] {
        let files = parts.map(\.split.file) + self.files[firstFile...]
        var left = files.map(\.remainder) + operands.map(\.remainder) + folders.map(\.remainder)
        while let download = takeDownload() { left.append(download.remainder) }
        var seen: Set<PullRemainder> = []
        return left.filter { seen.insert($0).inserted }
    }
}
