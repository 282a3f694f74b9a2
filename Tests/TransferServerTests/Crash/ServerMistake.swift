import TransferPorts
import TransferModel
import TransferStoreTestSupport

@testable import TransferStore

/// A broken promise, built into the recording of a correct server.
enum ServerMistake: CaseIterable {
    /// The catalog records an upload before its name is durable.
    case catalogBeforeDirectory
    /// An upload is acknowledged before the catalog records it.
    case acknowledgedBeforeCatalog
    /// A part whose sync has failed keeps its name, and the upload is resumed.
    case failedPartKept
    /// A removal is acknowledged before it is durable.
    case removalForgotten

    /// Conversation in which the mistake shows.
    var conversation: CrashConversation {
        switch self {
        case .catalogBeforeDirectory, .acknowledgedBeforeCatalog: .oneByOne
        case .failedPartKept: .parts
        case .removalForgotten: .removal
        }
    }

    /// - Returns: the run with the mistake, and the number of effects after which it shows.
    func make(in run: CrashRun) -> (run: CrashRun, end: Int) {
        var mistaken = run
        var end = run.disk.effects.count
        switch self {
        case .catalogBeforeDirectory: end = mistaken.moveCommit()
        case .acknowledgedBeforeCatalog: end = mistaken.moveAcknowledgement()
        case .failedPartKept:
            mistaken.disk.effects.removeAll { effect in
                switch effect {
                case .name(_, let entry): StagedFile.upload(ofWithdrawn: entry.name) != nil
                case .remove(let entry): entry.name.hasSuffix(StagedFile.partSuffix)
                default: false
                }
            }
            end = mistaken.disk.effects.count
        case .removalForgotten:
            let last = run.disk.effects.lastIndex(of: .sync(run.disk.root))
            if let last { mistaken.disk.effects.remove(at: last) }
            end = mistaken.disk.effects.count
        }
        return (mistaken, end)
    }
}

extension CrashRun {
    private func isNote(_ effect: DiskRecording.Effect, _ isIt: (ServerRecording.Note) -> Bool) -> Bool {
        if case .note(let number) = effect { isIt(notes[number]) } else { false }
    }

    /// Moves the first transaction directly behind the name of the file that it records.
    ///
    /// - Returns: the number of effects up to the end of the transaction.
    fileprivate mutating func moveCommit() -> Int {
        let start = disk.effects.firstIndex { isNote($0) { if case .committing = $0 { true } else { false } } } ?? 0
        let name = disk.effects[..<start].lastIndex { effect in
            if case .name(_, let entry) = effect { entry.name == "f" } else { false }
        }
        let commit = Array(disk.effects[start...start + 1])
        disk.effects.removeSubrange(start...start + 1)
        disk.effects.insert(contentsOf: commit, at: (name ?? 0) + 1)
        return (name ?? 0) + 3
    }

    /// Moves the first acknowledgement before its transaction.
    ///
    /// - Returns: the number of effects up to the end of the acknowledgement.
    fileprivate mutating func moveAcknowledgement() -> Int {
        let start = disk.effects.firstIndex { isNote($0) { if case .committing = $0 { true } else { false } } } ?? 0
        let told = disk.effects.firstIndex { if case .acknowledge = $0 { true } else { false } } ?? 0
        let acknowledgement = Array(disk.effects[told...told + 1])
        disk.effects.removeSubrange(told...told + 1)
        disk.effects.insert(contentsOf: acknowledgement, at: start)
        return start + 2
    }
}
