import TransferModel
import TransferProtocol

/// What may be asked about by folder now.
struct FolderRoom: Equatable, Sendable {
    /// Questions.
    var questions = 0

    /// What they may cost together, as `Request.cost` counts it.
    var cost = 0

    /// Files that they may be about, of which the last question may name more.
    var files = 0

    /// Nothing.
    static let none = FolderRoom()

    /// Whether one more may be asked, whatever its path is.
    var isOpen: Bool { questions > 0 && cost >= Request.fixedCost + Limits.path && files > 0 }

    mutating func take(_ folder: AskedFolder) {
        questions -= 1
        cost -= folder.request.cost
        files -= folder.folder.files.count
    }
}

/// A folder that the server is asked about.
struct AskedFolder {
    let folder: SourceFolder
    let compare: CompareRequest

    var request: Request { .compare(compare) }
}

/// The folders that one lane has asked about and that have no answer. Belongs to the lane's session.
struct FolderQuestions {
    private var open: [UInt32: AskedFolder] = [:]
    private var cost = 0
    private var files = 0

    /// Files that are asked about at once: some 24 bytes each.
    private static let mostFiles = 32_768

    /// What may be asked beside these.
    ///
    /// - Parameter window: questions that may be open at all.
    func room(of window: Int) -> FolderRoom {
        FolderRoom(
            questions: min(window, Limits.requests) - open.count, cost: Limits.requestBytes - cost,
            files: Self.mostFiles - files)
    }

    mutating func add(_ folder: AskedFolder) {
        open[folder.compare.id] = folder
        cost += folder.request.cost
        files += folder.folder.files.count
    }

    /// - Returns: what was asked.
    mutating func remove(_ id: UInt32) -> SourceFolder? {
        guard let asked = open.removeValue(forKey: id) else { return nil }
        cost -= asked.request.cost
        files -= asked.folder.files.count
        return asked.folder
    }

    /// In the order in which they were asked.
    mutating func takeAll() -> [SourceFolder] {
        defer { self = FolderQuestions() }
        return open.values.sorted { $0.compare.id < $1.compare.id }.map(\.folder)
    }
}
