import TransferModel
import TransferProtocol

/// The limits of questions about folders that may be sent now.
struct FolderRoom: Equatable, Sendable {
    /// The number of questions that may be sent.
    var questions = 0

    /// The most that these questions may cost together, by `Request.cost`.
    var cost = 0

    /// The number of files that these questions may cover; the last question may exceed it.
    var files = 0

    /// No question may be sent.
    static let none = FolderRoom()

    /// Whether one more question may be sent, whatever its path is.
    var isOpen: Bool { questions > 0 && cost >= Request.fixedCost + Limits.path && files > 0 }

    mutating func take(_ folder: AskedFolder) {
        questions -= 1
        cost -= folder.request.cost
        files -= folder.folder.files.count
    }
}

/// A folder with the question about it.
struct AskedFolder {
    let folder: SourceFolder
    let compare: CompareRequest

    var request: Request { .compare(compare) }
}

/// The unanswered questions about folders of one lane. It belongs to the lane's session.
struct FolderQuestions {
    private var open: [UInt32: AskedFolder] = [:]
    private var cost = 0
    private var files = 0

    /// The most files in unanswered questions; each takes some 24 bytes.
    private static let mostFiles = 32_768

    /// The limits for further questions.
    ///
    /// - Parameter window: the most unanswered questions.
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

    /// - Returns: the folder of the question.
    mutating func remove(_ id: UInt32) -> SourceFolder? {
        guard let asked = open.removeValue(forKey: id) else { return nil }
        cost -= asked.request.cost
        files -= asked.folder.files.count
        return asked.folder
    }

    /// Takes all folders, in the order of their questions.
    mutating func takeAll() -> [SourceFolder] {
        defer { self = FolderQuestions() }
        return open.values.sorted { $0.compare.id < $1.compare.id }.map(\.folder)
    }
}
