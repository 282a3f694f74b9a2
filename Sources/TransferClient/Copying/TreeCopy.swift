import TransferModel
import TransferProtocol
import TransferSystem

/// Copies files, and folders with all that the server keeps of what is in them: symbolic links as links, names of one file as such,
/// permissions, times, extended attributes, and owners where the server gives these. Nothing of it travels.
struct TreeCopy: Sendable {
    let client: TransferClient
    let isRecursive: Bool

    /// Whether a file or link that has the path of a copy gives way.
    let replaces: Bool

    let unlisted: @Sendable (UnlistedNames) -> Void

    /// Takes what came of each thing.
    let report: @Sendable (ChangeReport) -> Void

    /// All of it is known before anything is copied: a folder may be copied into itself.
    ///
    /// - Throws: when a folder cannot be listed: then nothing was copied; or when the connection is lost for good.
    func run(_ copies: [(path: String, target: String)]) async throws(TransferFailure) {
        let plan = try await look(copies)
        let features = isRecursive ? try await client.features(needs: [.files, .trees]) : []
        try await TreeCopyRun(self, keepsOwners: features.contains(.owners)).make(plan)
    }

    /// - Parameter answer: what the server has said of it.
    func tell(
        _ form: EntryForm?, _ path: String, _ result: ResultCode, _ message: String, _ answer: ChangeReport? = nil
    ) {
        report(
            ChangeReport(
                path: path, result: result, isDurable: answer?.isDurable ?? false, message: message, form: form,
                trash: answer?.trash))
    }
}

/// What is to be made, each with the path that it gets.
struct TreeCopyPlan: Sendable {
    struct File: Sendable {
        let source: String
        let entry: SyncEntry
    }

    /// Each behind the one that it is in, and of several with one path the first.
    private(set) var folders: [SyncEntry] = []
    private(set) var links: [SyncEntry] = []
    private(set) var files: [File] = []
    private var known: Set<RelativePath> = []

    mutating func add(_ source: String, _ entry: SyncEntry) {
        if entry.isLink {
            links.append(entry)
        } else if !entry.isFolder {
            files.append(File(source: source, entry: entry))
        } else if known.insert(entry.path).inserted {
            folders.append(entry)
        }
    }
}

// MARK: Looking

extension TreeCopy {
    private func look(_ copies: [(path: String, target: String)]) async throws(TransferFailure) -> TreeCopyPlan {
        var (plan, budget) = (TreeCopyPlan(), client.listBudget)
        var index = 0
        for try await answer in client.stat(copies.map(\.path), wantsAll: true) {
            guard copies.indices.contains(index) else { break }
            let target = copies[index].target
            index += 1
            guard let found = answer.entry else {
                tell(nil, answer.path, answer.result, answer.message)
                continue
            }
            guard isRecursive || !found.isDirectory else {
                tell(.folder, answer.path, .wrongForm, "It is a folder.")
                continue
            }
            guard !found.path.hasSameBytes(as: TransferClient.clean(target)) else {
                tell(nil, answer.path, .pathConflict, "It is there already: source and target are one.")
                continue
            }
            try add(found, at: target, &plan, &budget)
            guard found.isDirectory else { continue }
            for try await inner in client.list(
                found.path, isRecursive: true, wantsDetails: false, wantsAll: true, unlisted: unlisted)
            {
                // What is in it has its path in front, byte by byte.
                let below = String(decoding: inner.path.utf8.dropFirst(found.path.utf8.count), as: UTF8.self)
                try add(inner, at: "\(target)/\(below)", &plan, &budget)
            }
        }
        return plan
    }

    private func add(
        _ found: RemoteEntry, at place: String, _ plan: inout TreeCopyPlan, _ budget: inout ListBudget
    ) throws(TransferFailure) {
        let place = TransferClient.clean(place)
        do throws(RelativePath.Fault) {
            _ = try RelativePath(place)
        } catch {
            return tell(nil, place, .invalidPath, error.message)
        }
        guard let entry = SyncEntry(found.at(place)) else { return }
        try budget.hold(found)
        plan.add(found.path, entry)
    }
}

extension RemoteEntry {
    /// The same under another path.
    fileprivate func at(_ path: String) -> RemoteEntry {
        RemoteEntry(
            path: path, isDirectory: isDirectory, size: size, modified: modified, permissions: permissions, kind: kind,
            digest: digest, stored: stored, version: version, isLink: isLink, extras: extras)
    }
}
